"""The Spark that a command works with, as the options `--master` and `--remote` choose it.

Ctrl-C, a SIGTERM such as schedulers send, and a SIGHUP end the tasks first and then the command:
what it does at its end, removing what is half done, is not to meet tasks that still write.
"""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final

from howdah.cli.signals import ENDING, Terminated, handled_by
from howdah.fs import paths
from howdah.runtime.running_cluster import default_filesystem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from howdah.config import Configuration

CANCEL_S: Final = 10.0
"""How long tasks that are to end are waited for."""


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--master", metavar="URL", help="the Spark that does the work (local[*]): spark://…, yarn …"
    )
    parser.add_argument("--remote", metavar="URL", help="the same by Spark Connect: sc://HOST:PORT")


def add_tasks(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-m", type=_count, default=20, metavar="N", help="at most so many tasks (20)"
    )


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not int(text):
        raise ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


def check_default(names: Iterable[str | None], conf: Configuration) -> None:
    """Before anything is started: a name without a scheme is one of the default filesystem.

    Raises InvalidConfiguration where there is none."""
    if any(name is not None and not paths.parse(name).is_qualified for name in names):
        default_filesystem(conf)


@contextmanager
def session_of(master: str | None, remote: str | None) -> Iterator[SparkSession]:
    """The session; a Java is found for it where it needs one, and howdah is sent to
    executors that are on other machines.

    Raises `NoSpark` and `NoJava`, which say what to install.
    """
    from howdah.spark.sessions import prepare, session, ship_where_needed

    prepare(remote)
    try:
        with _quiet(), session(master, remote) as spark, _ended_by_signals(spark):
            ship_where_needed(spark, master, remote)
            yield spark
    except Terminated as ended:
        raise SystemExit(ended.exit_code) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Neither what PySpark thinks of other packages, nor how py4j was interrupted."""

    def is_told(record: logging.LogRecord) -> bool:
        return "py4j" not in record.pathname

    root, py4j = logging.getLogger(), logging.getLogger("py4j")
    root.addFilter(is_told)
    # It logs by the root, and by loggers of its own, which no filter of the root sees.
    propagated, nowhere = py4j.propagate, logging.NullHandler()
    py4j.propagate = False
    py4j.addHandler(nowhere)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\.")
            yield
    finally:
        root.removeFilter(is_told)
        py4j.removeHandler(nowhere)
        py4j.propagate = propagated


def _ended_by_signals(spark: SparkSession) -> AbstractContextManager[None]:
    """Signals end what Spark does for this session, and then the block."""

    def end(number: int, _: FrameType | None) -> None:
        # In a thread: the signal may have come while this one talked to Spark.
        cancelling = threading.Thread(target=spark.interruptAll, name="cancel", daemon=True)
        cancelling.start()
        cancelling.join(CANCEL_S)
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    return handled_by(end, *ENDING)
