"""Hadoop's own Java client, as PySpark ships it, against a cluster of ours.

Spark's jars have the whole client of Hadoop 3.5 in them, FsShell included. It is
the reference for every feature.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from howdah.errors import HowdahError
from howdah.java import find_java_home

# Start quickly; nothing here runs for long. The classes are those of PySpark's jars: to verify
# them, and to count in a file what Java does, takes a fifth of the CPU of a command.
JAVA_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-Xmx512m",
    "-XX:-UsePerfData",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)
FS_SHELL = "org.apache.hadoop.fs.FsShell"

# Only what is worse than a warning, and never on stdout, where the answer goes.
_LOGGING = """\
status = error
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %d{HH:mm:ss} %p %c: %m%n
rootLogger.level = error
rootLogger.appenderRef.err.ref = err
"""


class NoSpark(HowdahError, RuntimeError):
    """PySpark is not installed."""


class Cluster(Protocol):
    """What is needed of a cluster: `MiniCluster` has it."""

    @property
    def dir(self) -> Path: ...
    @property
    def conf_dir(self) -> Path: ...


def pyspark_jars() -> Path:
    """The directory of PySpark's jars."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise NoSpark("PySpark is not installed: `pip install howdah[spark]`")
    return Path(spec.submodule_search_locations[0]) / "jars"


def spark_class_path() -> str:
    """The class path of a Spark without configuration, as Spark itself makes it."""
    jars = pyspark_jars()
    return os.pathsep.join(map(str, [*sorted(jars.glob("slf4j-api-*.jar")), jars / "*"]))


def class_path(conf_dir: Path) -> str:
    """A class path with `conf_dir` first, then Hadoop's client, then the other jars."""
    jars = pyspark_jars()
    hadoop = sorted(jars.glob("hadoop-client-*.jar"))
    return os.pathsep.join(map(str, [conf_dir, *hadoop, jars / "*"]))


def java_command(
    cluster: Cluster, main_class: str, arguments: Sequence[str], options: Sequence[str] = ()
) -> list[str]:
    """The command that runs a Java class with the cluster's configuration."""
    logging = cluster.dir / "log4j2.properties"
    if not logging.exists():
        logging.write_text(_LOGGING)
    return [
        str(find_java_home() / "bin" / "java"),
        *JAVA_OPTIONS,
        f"-Dlog4j2.configurationFile={logging.as_uri()}",
        *options,
        "-cp",
        class_path(cluster.conf_dir),
        main_class,
        *arguments,
    ]


def java_fs_shell(
    cluster: Cluster,
    *arguments: str,
    user: str | None = None,
    input: str | None = None,
    timeout_s: float = 60.0,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `hadoop fs` with Hadoop's own code: `java_fs_shell(cluster, "-ls", "/")`.

    The exit code is not checked. `user` is who the client says it is.
    """
    env = {**os.environ, **(environment or {})}
    env.pop("HADOOP_CONF_DIR", None)
    if user is not None:
        env["HADOOP_USER_NAME"] = user
    return subprocess.run(
        java_command(cluster, FS_SHELL, arguments),
        input=input,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env=env,
        check=False,
    )
