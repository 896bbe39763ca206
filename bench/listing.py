"""A namespace as a DataFrame: how fast 200,000 files are listed, and what the driver holds.

The tree is one of `scale.py`: files of one block, a hundred in each directory, from an image
on a namenode of ours, without datanodes. All listings are of the same namenode, in turn:

- `howdah.spark.namespace`, all of its columns made and kept by the executors;
- the listing of our distcp, which is the same walk beside a target;
- Hadoop's DistCp's listing, one thread, as it is by default, with its list on local disk;
- Hadoop's client, `listFiles(…, recursive)`, which asks for block locations as well.

What the driver holds is measured in a standalone Spark cluster, where the executor is
another process: resident bytes of the driver's Python and live heap of its Java, with 50,000,
100,000 and 200,000 files listed and still held. The slope is what a further file takes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from harness import (
    CACHE,
    ROOT,
    Figure,
    Options,
    Results,
    Skipped,
    figure,
    in_turn,
    main,
    progress,
    scratch,
)
from scale import Asking, Howdah, image_of

from howdah.config import Configuration
from howdah.copy.common.filesystems import Place
from howdah.copy.listing.entries import Entry, Kind
from howdah.copy.listing.walking import Walk
from howdah.fs.registry import connect
from howdah.java import NoJava, find_java_home
from howdah.spark import namespace
from howdah.spark.listing.row_stores import RowsInMemory
from howdah.spark.listing.spark_rounds import make_listing
from howdah.testing.spark_cluster import SparkCluster
from tests.support.hadoop.distcp import HadoopDistCp
from tests.support.hadoop.jars import NoHadoop

TREE = "/tree"
OURS = "howdah namespace"
TASKS = 4
SIZES = (50_000, 100_000, 200_000)
PAPER = (1_000_000, 100_000_000)


def measure(options: Options) -> Results:
    try:
        os.environ["JAVA_HOME"] = str(find_java_home())
    except NoJava as error:
        yield Skipped("listing", str(error))
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    sizes = [size // 10 if options.quick else size for size in SIZES]
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "listing"))
        images = {}
        for size in sizes:
            progress(f"an image of {size:,} files")
            images[size] = image_of(base / f"image{size}", size)
        namenode = Howdah(base / "howdah")
        stack.callback(namenode.stop)
        files = sizes[-1]
        start(namenode, images[files])
        rates = yield from _rates(options, base, namenode, files)
        yield from _memory(base, namenode, images)
        for many in PAPER:
            what = f"on paper, from that rate: {many / 1e6:,.0f} M files"
            yield figure(what, "s", [many / statistics.median(rates)])


def start(namenode: Howdah, image: Path) -> None:
    """(Re)start it on this image, and wait until it answers."""
    namenode.stop()
    namenode.start(image)
    asking = Asking(namenode.address)
    asking.first_answer()
    asking.close()


def uri_of(namenode: Howdah) -> str:
    return "hdfs://{}:{}".format(*namenode.address)


# -- files a second ----------------------------------------------------------------------


def _rates(
    options: Options, base: Path, namenode: Howdah, files: int
) -> Generator[Figure | Skipped, None, list[float]]:
    from howdah.spark.sessions import session

    uri = uri_of(namenode)
    with ExitStack() as stack:
        spark = stack.enter_context(session("local[2]"))
        runs: dict[str, Callable[[], float]] = {
            OURS: lambda: _ours(spark, uri, files),
            "howdah distcp's listing": lambda: _distcps(spark, uri, files),
        }
        try:
            java = stack.enter_context(_java(base, uri))
        except NoHadoop as error:
            progress(f"without Hadoop's: {error.message}")
        else:
            number = iter(range(1000))

            def hadoops() -> float:
                target = (base / f"list{next(number)}").as_uri()
                return _checked(java.run(["distcp", uri + TREE, target]), files)

            runs["Hadoop's DistCp's listing"] = hadoops
            runs["Hadoop's client, listFiles"] = lambda: _checked(
                java.run(["recursive", uri + TREE]), files
            )
        found = in_turn(runs, options.repeats(3, 1))
    rates = {name: [files / seconds for seconds in values] for name, values in found.items()}
    peers = {name: values for name, values in rates.items() if name != OURS}
    yield figure(f"list {files:,} files as a DataFrame", "files/s", rates[OURS], peers)
    return rates[OURS]


def _ours(spark: Any, uri: str, files: int) -> float:
    began_s = time.monotonic()
    rows = namespace(spark, uri + TREE, most_tasks=TASKS, conf=Configuration({}))
    seconds = time.monotonic() - began_s
    assert rows.where("type = 'file'").count() == files
    rows.unpersist()
    progress(f"{OURS}: {seconds:.1f} s")
    return seconds


def _distcps(spark: Any, uri: str, files: int) -> float:
    conf = Configuration({})
    place = Place.of(uri, conf, None)
    status = connect(uri, conf=conf).get_file_status(TREE)
    walk = Walk(sources=(place,), target=place, target_path="/target", wants_missing=False)
    began_s = time.monotonic()
    root = Entry.of(Kind.PENDING, 0, status, b"", None)
    listing = make_listing(spark, [root], walk, TASKS, RowsInMemory())
    seconds = time.monotonic() - began_s
    assert listing.totals.files == files
    listing.forget()
    return seconds


@contextmanager
def _java(base: Path, uri: str) -> Iterator[HadoopDistCp]:
    made = base / "java"
    made.mkdir()
    settings = {"fs.defaultFS": uri}
    program = ROOT / "bench" / "ListTree.java"
    with HadoopDistCp(program, made, CACHE, made, settings, memory="1g") as process:
        yield process


def _checked(found: Any, files: int) -> float:
    assert found.files_copied >= files, found
    return float(found.seconds)


# -- what the driver holds -----------------------------------------------------------------


def _memory(base: Path, namenode: Howdah, images: dict[int, Path]) -> Results:
    settings = {"spark.executor.memory": "2g"}
    with SparkCluster(["127.0.0.1"], settings=settings, dir=base / "spark") as cluster:
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "bench")])
        with subprocess.Popen(
            [sys.executable, str(ROOT / "bench" / "listing_driver.py"), cluster.master],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**cluster.environment, "PYTHONPATH": paths},
        ) as driver:
            assert driver.stdin is not None, "it is a pipe"
            assert driver.stdout is not None, "it is a pipe"
            held: dict[int, dict[str, int | None]] = {}
            # The first is there to load what has to be loaded.
            for size in (min(images), *images):
                start(namenode, images[size])
                print(uri_of(namenode) + TREE, file=driver.stdin, flush=True)
                held[size] = json.loads(driver.stdout.readline())
                progress(f"{size:,} files: {held[size]}")
            driver.stdin.close()
    first, last = min(images), max(images)
    for name, what in (("python", "driver, resident in Python"), ("heap", "driver, live heap")):
        low, high = held[first][name], held[last][name]
        if low is None or high is None:
            yield Skipped(what, "there is no jcmd")
            continue
        yield figure(f"{what}, {last:,} files", "MB", [high / 1e6])
        yield figure(f"{what}: slope", "bytes a file", [(high - low) / (last - first)])


if __name__ == "__main__":
    main(measure)
