"""Viewers of images: `howdah oiv` beside Hadoop's, on the same image and the same XML.

The image is that of `scale`, a million files of one block in ten thousand directories. A
figure is the processor time of a whole process, user and system, as both viewers wait for
nothing else; the memory is the most that was resident. ReverseXML is given what the
processor XML made of the image, with the two sections that Hadoop's asks for and this image
doesn't have.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import apache
from apache import NoPeer
from harness import CACHE, Options, Results, Skipped, figure, main, progress, scratch
from scale import image_of

from howdah.java import find_java_home
from howdah.storage.image_files import image_name
from tests.support.hadoop.jars import hadoop_class_path

OURS = "howdah"
HADOOP = "Hadoop's viewer"
PROCESSORS = ("XML", "Delimited", "FileDistribution", "ReverseXML")
_VIEWER = "org.apache.hadoop.hdfs.tools.offlineImageViewer.OfflineImageViewerPB"
_LACKING = (
    (b"</NameSection>\n", b"</NameSection>\n<ErasureCodingSection></ErasureCodingSection>\n"),
    (
        b"</FileUnderConstructionSection>\n",
        b"</FileUnderConstructionSection>\n<SnapshotDiffSection></SnapshotDiffSection>\n",
    ),
)
_BUFFER_BYTES = 1 << 20


def took(command: list[str]) -> tuple[float, int]:
    """Seconds of processor time that a process used, and its memory in KiB."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None, "it is a pipe"
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[-6:]} failed: {said.decode(errors='replace')[-2000:]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss


def viewers() -> Iterator[tuple[str, list[str]]]:
    yield OURS, [sys.executable, "-m", "howdah", "oiv"]
    try:
        apache.require()
    except NoPeer as error:
        progress(f"{HADOOP}: {error}")
        return
    java = str(find_java_home() / "bin" / "java")
    yield HADOOP, [java, "-Xmx1g", "-cp", hadoop_class_path(CACHE), _VIEWER]


def complete(shown: Path, target: Path) -> None:
    """The XML with the sections that Hadoop's ReverseXML wants."""
    with shown.open("rb") as source, target.open("wb") as out:
        for line in source:
            for text, instead in _LACKING:
                line = line.replace(text, instead)
            out.write(line)


def measure(options: Options) -> Results:
    files = 50_000 if options.quick else 1_000_000
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "images"))
        progress(f"images: a tree of {files:,} files")
        # In a process of its own: what a process begins with counts as memory of its children.
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            image = pool.apply(image_of, (base / "tree", files)) / "current" / image_name(0)
        found = dict(viewers())
        shown = base / "shown.xml"
        took([*found[OURS], "-p", "XML", "-i", str(image), "-o", str(base / "first.xml")])
        complete(base / "first.xml", shown)
        (base / "first.xml").unlink()
        for processor in PROCESSORS:
            source = shown if processor == "ReverseXML" else image
            seconds: dict[str, list[float]] = {name: [] for name in found}
            memory: dict[str, list[float]] = {name: [] for name in found}
            for _ in range(options.repeats(3, 2)):
                for name, command in found.items():
                    target = base / "out"
                    arguments = ["-p", processor, "-i", str(source), "-o", str(target)]
                    cpu_s, resident = took([*command, *arguments])
                    progress(f"    {name}, {processor}: {cpu_s:.2f} s")
                    seconds[name].append(cpu_s)
                    memory[name].append(resident / 1024)
            for what, unit, values in (("CPU", "s", seconds), ("memory", "MiB", memory)):
                yield figure(
                    f"oiv -p {processor}, {files:,} files: {what}",
                    unit,
                    values[OURS],
                    {HADOOP: values.get(HADOOP, [])},
                    target="≤ 1 ×" if what == "CPU" else "",
                )
        if HADOOP not in found:
            yield Skipped(HADOOP, "it is not here")


if __name__ == "__main__":
    main(measure)
