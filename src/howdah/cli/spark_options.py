"""The Spark that a command works with, as the options `--master` and `--remote` choose it."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--master", metavar="URL", help="Spark's master (local[*])")
    parser.add_argument("--remote", metavar="URL", help="a Spark Connect server")


@contextmanager
def session_of(master: str | None, remote: str | None) -> Iterator[SparkSession]:
    """The session; a Java is found for it where it needs one, and howdah is sent to
    executors that are on other machines."""
    from howdah.spark.sessions import session, ship
    from howdah.testing.java import find_java_home

    if "JAVA_HOME" not in os.environ and (remote or "").partition("://")[0] != "sc":
        os.environ["JAVA_HOME"] = str(find_java_home())
    # The Python of the executors on this machine is this one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with session(master, remote) as spark:
        if not (remote or master or "local").startswith("local"):
            ship(spark)
        yield spark
