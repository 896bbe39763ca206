"""The Spark session of a command: local, on a cluster, or remote.

* Without a master: `local[*]`, with a Java started by this process.
* A master (`yarn`, `spark://host:7077`, `k8s://…`): that cluster.
* A Spark Connect URL (`sc://host:15002`, or `local[2]` for a server of its own): no Java here.

Executors on other machines need howdah and its requirements. If howdah is not installed there,
`ship` sends the package.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from howdah import errors
from howdah.config import Configuration, keys
from howdah.copy.common.failures import from_spark, reason
from howdah.java import find_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from howdah.formats.tokens.token import Token

DEFAULT_MASTER: Final = "local[*]"
CONNECT_PORT: Final = 15002
GREETING_S: Final = 20.0
_QUIET: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.shuffle.partitions": "8",
}
_LOCAL: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # There is only one host. The local scheduler offers its cores again when a task ends, not
    # when a task has waited long enough: tasks that prefer datanodes would wait for ever.
    "spark.locality.wait": "0s",
}
# A failure raises an error with its reason; Spark's own log is for administrators of a cluster.
_LOG_SETTINGS: Final = Path(__file__).with_name("log4j2.properties")
_OWN_SETTINGS: Final = ("SPARK_CONF_DIR", "SPARK_HOME")


class NoSpark(errors.HowdahError, RuntimeError):
    """PySpark is not installed, or cannot start."""


@contextmanager
def session(master: str | None = None, remote: str | None = None) -> Iterator[SparkSession]:
    """A session, stopped at the end; an active one is used instead, and left running.

    Raises `NoSpark`.
    """
    require()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    spark = _start(SparkSession.builder.appName("howdah"), master, remote)
    try:
        yield spark
    finally:
        spark.stop()


def prepare(remote: str | None) -> None:
    """Find a Java for a session of this process, and have its executors run this Python.

    Raises `NoSpark` and `NoJava`, which say what to install.
    """
    require()
    if (remote or "").partition("://")[0] != "sc":
        # One that is named and too old is passed over.
        os.environ["JAVA_HOME"] = str(find_java_home())
    # The Python of the executors on this machine is this one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def ship_where_needed(spark: SparkSession, master: str | None, remote: str | None) -> None:
    """Send howdah to executors on other machines. Raises what Spark says."""
    if not (remote or master or "local").startswith("local"):
        try:
            ship(spark)
        except Exception as error:
            raise from_spark(error) from error


def require() -> None:
    """Raises `NoSpark` if PySpark or one of its requirements is not installed."""
    for package in ("pyspark", "pandas", "pyarrow"):
        if find_spec(package) is None:
            raise NoSpark(f"{package} is not installed: pip install 'howdah[spark]'")


def _start(builder: Any, master: str | None, remote: str | None) -> SparkSession:
    where = remote or master or DEFAULT_MASTER
    try:
        if remote is not None:
            _greet(remote)
            started: SparkSession = builder.remote(remote).getOrCreate()
            return started
        for name, value in _settings(where).items():
            builder = builder.config(name, value)
        started = builder.master(where).getOrCreate()
        return started
    except ImportError as error:
        raise NoSpark(f"{reason(str(error))}: pip install 'pyspark[connect]'") from error
    except Exception as error:
        raise NoSpark(f"there is no Spark at {where}: {reason(str(error))}") from error


def _greet(remote: str) -> None:
    """Raises OSError if nothing listens there: Spark's client would try for minutes."""
    server = urlsplit(remote)
    if server.scheme == "sc" and server.hostname:
        address = server.hostname, server.port or CONNECT_PORT
        socket.create_connection(address, GREETING_S).close()


def _settings(master: str) -> dict[str, str]:
    settings = dict(_QUIET)
    if master.startswith("local"):
        settings |= _LOCAL
        # Otherwise Spark looks up this machine's address, and may warn about it.
        os.environ.setdefault("SPARK_LOCAL_IP", _LOCAL["spark.driver.host"])
        if not any(name in os.environ for name in _OWN_SETTINGS):
            logs = f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}"
            settings["spark.driver.extraJavaOptions"] = logs
    return settings


def as_spark_is(
    spark: SparkSession, conf: Configuration | None, user: str | None
) -> tuple[Configuration, str | None]:
    """The configuration of a job and its user, who on a cluster secured by Kerberos is Spark's
    where the job says nothing of its own.

    1. What this process has counts: a ticket, a keytab, tokens.
    2. Otherwise it is the keytab that Spark has (`spark.kerberos.keytab`, `.principal`).
    3. Otherwise these are the tokens that Spark has.
    """
    configuration = Configuration.load() if conf is None else conf
    if configuration.get(keys.HADOOP_SECURITY_AUTHENTICATION) == "simple":
        return configuration, user
    from howdah.security.identity import user_of

    try:
        return configuration, user_of(configuration, user)
    except errors.LoginFailed:
        keytab = spark.conf.get("spark.kerberos.keytab", None) or ""
        if Path(keytab).is_file():
            principal = spark.conf.get("spark.kerberos.principal", None) or ""
            own = {
                keys.HOWDAH_CLIENT_KEYTAB_FILE.name: str(Path(keytab).absolute()),
                keys.HOWDAH_CLIENT_KERBEROS_PRINCIPAL.name: principal,
            }
            configuration = Configuration(dict(configuration.items()) | own)
            return configuration, user_of(configuration, user)
        tokens = _tokens_of(spark)
        if not tokens:
            raise
    from howdah.security.users import user_by_tokens

    return configuration, user_by_tokens(configuration, tokens)


def _tokens_of(spark: SparkSession) -> Sequence[Token]:
    """The tokens that Spark's driver has; none where Spark is remote, and says nothing of them."""
    from howdah.formats.tokens.credentials import Credentials

    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        return ()
    hadoop = jvm.org.apache.hadoop
    out = hadoop.io.DataOutputBuffer()
    user = hadoop.security.UserGroupInformation.getCurrentUser()
    user.getCredentials().writeTokenStorageToStream(out)
    data = bytes(out.getData())[: out.getLength()]
    return list(Credentials.decode(data).tokens.values())


def ship(spark: SparkSession) -> None:
    """Send the package howdah to the executors, which need its requirements installed."""
    spark.addArtifacts(str(_archive()), pyfile=True)


@cache
def _archive() -> Path:
    """The package in one file, which exists as long as this process: each executor fetches it
    for its first task, and executors may start late."""
    import howdah

    home = Path(howdah.__file__).parent
    scratch = tempfile.mkdtemp(prefix="howdah-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    archive = Path(scratch) / "howdah.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted([*home.rglob("*.py"), *home.glob("native/_kernel.*.so")]):
            out.write(path, str(path.relative_to(home.parent)))
    return archive
