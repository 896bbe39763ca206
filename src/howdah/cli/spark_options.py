"""The Spark of a command that the options `--master` and `--remote` choose."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--master", metavar="URL", help="Spark's master (local[*])")
    parser.add_argument("--remote", metavar="URL", help="a Spark Connect server")


def session_of(options: Namespace) -> AbstractContextManager[SparkSession]:
    """The session; a Java is found for it where it needs one."""
    from howdah.spark.sessions import session
    from howdah.testing.java import find_java_home

    if "JAVA_HOME" not in os.environ and (options.remote or "").partition("://")[0] != "sc":
        os.environ["JAVA_HOME"] = str(find_java_home())
    # The Python of the executors on this machine is this one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return session(options.master, options.remote)
