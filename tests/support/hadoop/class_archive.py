"""Makes the archive from which Java maps Hadoop's classes: once, in some twenty seconds.

A cluster of Hadoop's servers is started, each of which lists the classes that it loads; Java
writes what is in any of the lists to the archive. It is for `hadoop_java`, which goes without
where there is none.
"""

from __future__ import annotations

import fcntl
import subprocess
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.support.hadoop.java import QUICK_START, archive_path, java
from tests.support.hadoop.mixed import MixedCluster

_SERVERS: Final = ("namenode0", "journalnode0", "zkfc0", "datanode0")
_DUMP_TIMEOUT_S: Final = 200


def make_class_archive(jars: str) -> None:
    """Make the archive for a class path of `jars.py`, where it isn't there yet."""
    archive = archive_path(jars)
    if archive is None:
        return
    with archive.with_suffix(".lock").open("w") as lock:
        # Processes that test beside each other make one.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            with tempfile.TemporaryDirectory(prefix="howdah-classes-") as scratch:
                lists = _lists_of_servers(jars, Path(scratch))
                merged = Path(scratch) / "merged"
                merged.write_text(merge(path.read_text() for path in lists))
                _dump(jars, merged, archive)


def merge(lists: Iterable[str]) -> str:
    """One list of classes from several. A last line without an end is dropped: the server was
    killed when it wrote it."""
    lines = (line for text in lists for line in text[: text.rfind("\n") + 1].splitlines(True))
    return "".join(dict.fromkeys(lines))


def _lists_of_servers(jars: str, scratch: Path) -> list[Path]:
    def listing(name: str) -> list[str]:
        return [f"-XX:DumpLoadedClassList={scratch / name}"]

    with MixedCluster(jars, _SERVERS, java_options=listing) as cluster:
        with cluster.connect() as fs, fs.create("/file") as out:
            out.write(b"content")
        cluster.hadoops_haadmin("-getAllServiceState")
    return sorted(scratch.iterdir())


def _dump(jars: str, classes: Path, archive: Path) -> None:
    partial = archive.with_suffix(".partial")
    options = ["-Xshare:dump", f"-XX:SharedClassListFile={classes}"]
    done = subprocess.run(
        [java(), *QUICK_START, *options, f"-XX:SharedArchiveFile={partial}", "-cp", jars],
        capture_output=True,
        text=True,
        timeout=_DUMP_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        # Not every Java can, and none has to.
        warnings.warn(f"no archive of Hadoop's classes: {done.stdout[-1000:]}", stacklevel=1)
        return
    partial.rename(archive)
