"""The Spark that a command works with: started here, on a cluster, or far away.

* Nothing said: `local[*]`, in this process's own Java.
* A master (`yarn`, `spark://host:7077`, `k8s://…`): that cluster.
* A Spark Connect URL (`sc://host:15002`, or `local[2]` for one of its own): no Java here.

Executors on other machines need howdah and what it imports. Where it isn't installed
there, `ship` sends the package itself along.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from howdah import errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER: Final = "local[*]"
_QUIET: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.shuffle.partitions": "8",
}
_LOCAL: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


class NoSpark(errors.HowdahError, RuntimeError):
    """There is no PySpark, or it can't start."""


@contextmanager
def session(master: str | None = None, remote: str | None = None) -> Iterator[SparkSession]:
    """A session; one that is active already is used, and left as it is."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise NoSpark("PySpark is not installed: `pip install howdah[spark]`") from error
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    spark = _start(SparkSession.builder.appName("howdah"), master, remote)
    try:
        yield spark
    finally:
        spark.stop()


def _start(builder: Any, master: str | None, remote: str | None) -> SparkSession:
    if remote is not None:
        started: SparkSession = builder.remote(remote).getOrCreate()
        return started
    chosen = master or DEFAULT_MASTER
    settings = _QUIET | (_LOCAL if chosen.startswith("local") else {})
    for name, value in settings.items():
        builder = builder.config(name, value)
    started = builder.master(chosen).getOrCreate()
    return started


def ship(spark: SparkSession) -> None:
    """Send the package howdah to the executors; what it imports has to be there."""
    spark.addArtifacts(str(_archive()), pyfile=True)


@cache
def _archive() -> Path:
    """The package in one file. It stays as long as this process: executors fetch it when
    they have their first task, and those that come later do so too."""
    import howdah

    home = Path(howdah.__file__).parent
    scratch = tempfile.mkdtemp(prefix="howdah-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    archive = Path(scratch) / "howdah.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(home.rglob("*.py")):
            out.write(path, str(path.relative_to(home.parent)))
    return archive
