"""How a Java runs Hadoop's classes here: small, and started quickly.

Half of what a server of Hadoop's does at its start is to find and verify classes. So Java
maps them from an archive, where `class_archive` has made one for the jars.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from howdah.java import find_java_home

QUICK_START: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_ALL_JARS = "/*"


def hadoop_java(
    jars: str, *directories: Path, memory: str = "256m", options: Sequence[str] = ()
) -> list[str]:
    """The command up to the main class. `jars` is a class path of `jars.py`; `directories`,
    with configuration, come after it: before an archive's jars may be none."""
    archive = archive_path(jars)
    shared = [f"-XX:SharedArchiveFile={archive}"] if archive and archive.exists() else []
    classes = os.pathsep.join([jars, *map(str, directories)])
    return [java(), *QUICK_START, f"-Xmx{memory}", *shared, *options, "-cp", classes]


def java() -> str:
    """The program."""
    return str(find_java_home() / "bin" / "java")


def archive_path(jars: str) -> Path | None:
    """Where the archive of the classes in a directory of jars is, beside it; None of jars that
    are elsewhere. It is good for one Java, and for these files."""
    if not jars.endswith(_ALL_JARS):
        return None
    directory = Path(jars.removesuffix(_ALL_JARS))
    home = find_java_home()
    release = home / "release"
    facts = [str(home), release.read_text() if release.exists() else ""]
    for jar in sorted(directory.glob("*.jar")):
        status = jar.stat()
        facts.append(f"{jar.name} {status.st_ino} {status.st_size} {status.st_mtime_ns}")
    key = hashlib.sha256("\0".join(facts).encode()).hexdigest()[:12]
    return directory.with_name(f"{directory.name}-{key}.jsa")
