"""Java programs of tests, compiled once and kept: to compile one takes a second of CPU at each
start, more than all that it does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.support.hadoop.java import hadoop_java
from tests.support.hadoop.suites import compiled

CACHE: Final = Path(__file__).parents[3] / ".cache"


def hadoop_program(
    source: Path,
    jars: str,
    *directories: Path,
    memory: str = "256m",
    options: Sequence[str] = (),
    cache: Path = CACHE,
) -> list[str]:
    """The command that runs a program, whose class has the name of its file, with Hadoop's jars;
    the others are as in `hadoop_java`. Raises NoCompiler."""
    classes = compiled([source], jars, cache)
    return [*hadoop_java(jars, *directories, classes, memory=memory, options=options), source.stem]
