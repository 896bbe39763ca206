"""Hadoop's own servers and tools: jars that tests and measurements are held against.

PySpark ships Hadoop's client only. The rest comes from Maven's repository through
the `mvn` command, once, into a cache. `HOWDAH_HADOOP_CLASSPATH` names jars that
are there already. Where neither works `NoHadoop` says why.

Hadoop's own tests, and what it runs them with, are a second set of jars, for which
the same holds with `HOWDAH_HADOOP_TESTS_CLASSPATH`.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from howdah.errors import HowdahError

HADOOP_VERSION = "3.5.0"
FRONTS_VERSION = "3.4.2"
"""Of the newest router, HttpFS and key server that the repository has."""
_FETCH_TIMEOUT_S = 500
_POM = "pom.xml"


@dataclass(frozen=True, slots=True)
class _Artifact:
    group: str
    name: str
    version: str
    kind: str = "jar"
    is_alone: bool = False  # without what it depends on
    classifier: str = ""

    def pom(self) -> str:
        exclusions = (
            "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
            "</exclusions>"
            if self.is_alone
            else ""
        )
        classifier = f"<classifier>{self.classifier}</classifier>" if self.classifier else ""
        return (
            f"<dependency><groupId>{self.group}</groupId><artifactId>{self.name}</artifactId>"
            f"<version>{self.version}</version><type>{self.kind}</type>{classifier}{exclusions}"
            "</dependency>"
        )


_HADOOP = "org.apache.hadoop"
_ARTIFACTS = tuple(
    _Artifact(_HADOOP, name, HADOOP_VERSION)
    for name in ("hadoop-common", "hadoop-hdfs-client", "hadoop-hdfs")
)
# Alone: the servers' class path has what they need.
_DISTCP_ARTIFACTS = tuple(
    _Artifact(_HADOOP, name, HADOOP_VERSION, is_alone=True)
    for name in (
        "hadoop-distcp",
        "hadoop-mapreduce-client-common",
        "hadoop-mapreduce-client-core",
        "hadoop-yarn-api",
        "hadoop-yarn-common",
    )
)
# Alone, too. Of Hadoop 3.4, whose protocol and commands are those of 3.5: the repository has no
# later one.
_ROUTER_ARTIFACTS = (
    _Artifact(_HADOOP, "hadoop-hdfs-rbf", FRONTS_VERSION, is_alone=True),
    # What it needs of others, and does not find among the jars of HADOOP_VERSION.
    _Artifact(_HADOOP, "hadoop-federation-balance", FRONTS_VERSION, is_alone=True),
    _Artifact(_HADOOP, "hadoop-distcp", HADOOP_VERSION, is_alone=True),
    _Artifact("org.codehaus.jettison", "jettison", "1.5.4", is_alone=True),
)
# Servers that stand before others, with all that they need, of one version: HttpFS of 3.4 does not
# run on Jersey as 3.5 has it.
_FRONT_ARTIFACTS = tuple(
    _Artifact(_HADOOP, name, FRONTS_VERSION)
    for name in (
        "hadoop-common",
        "hadoop-hdfs",
        "hadoop-hdfs-client",
        "hadoop-hdfs-rbf",
        "hadoop-federation-balance",
        "hadoop-hdfs-httpfs",
    )
)
# By itself, for the same reason.
_KMS_ARTIFACTS = tuple(
    _Artifact(_HADOOP, name, FRONTS_VERSION) for name in ("hadoop-kms", "hadoop-common")
)
# Of Trino's build of Hadoop, since Hadoop's own jars have no native library.
_NATIVE_ARTIFACTS = (_Artifact("io.trino.hadoop", "hadoop-apache", "3.3.5-3", is_alone=True),)
_NATIVE_LIBRARY: Final = "libhadoop.so"
# S3A and what it needs beside Hadoop's client, which comes with PySpark; 700 MB.
_S3A_ARTIFACTS = (
    _Artifact(_HADOOP, "hadoop-aws", HADOOP_VERSION, is_alone=True),
    _Artifact(
        "software.amazon.s3.analyticsaccelerator", "analyticsaccelerator-s3", "1.3.1", is_alone=True
    ),
    _Artifact("software.amazon.awssdk", "bundle", "2.35.4", is_alone=True),
)
_KEYCLOAK_VERSION: Final = "26.7.3"
# 177 MB: a provider of OpenID Connect, with all that it needs.
_KEYCLOAK_ARTIFACTS = (
    _Artifact("org.keycloak", "keycloak-quarkus-dist", _KEYCLOAK_VERSION, "zip", is_alone=True),
)
_KDC_ARTIFACTS = (_Artifact(_HADOOP, "hadoop-minikdc", HADOOP_VERSION),)
# Of table formats, for the newest Spark that both fit, and of Avro for it.
_TABLE_ARTIFACTS = (
    _Artifact("io.delta", "delta-spark_4.1_2.13", "4.1.0", is_alone=True),
    _Artifact("io.delta", "delta-storage", "4.1.0", is_alone=True),
    _Artifact("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.12.0", is_alone=True),
    _Artifact("org.apache.spark", "spark-avro_2.13", "4.1.1", is_alone=True),
)
# With the versions that Hadoop's own build has.
_TEST_ARTIFACTS = (
    _Artifact(_HADOOP, "hadoop-common", HADOOP_VERSION, "test-jar", is_alone=True),
    _Artifact(_HADOOP, "hadoop-hdfs", HADOOP_VERSION, "test-jar", is_alone=True),
    _Artifact("org.junit.platform", "junit-platform-console-standalone", "1.13.3"),
    _Artifact("org.assertj", "assertj-core", "3.12.2"),
    _Artifact("org.mockito", "mockito-core", "4.11.0"),
    _Artifact("org.codehaus.jettison", "jettison", "1.5.4", is_alone=True),
)


# For the files that tests read: the cases of the command line, among others.
_TEST_FILES = tuple(
    _Artifact(_HADOOP, name, HADOOP_VERSION, is_alone=True, classifier="test-sources")
    for name in ("hadoop-common", "hadoop-hdfs")
)


class NoHadoop(HowdahError, RuntimeError):
    """Hadoop's jars are not here and cannot be fetched; the message says why."""


def hadoop_class_path(cache: Path) -> str:
    """The class path of Hadoop's servers and tools, as `java -cp` takes it.

    `cache` is a directory of ours that keeps what was fetched.
    """
    return _jars("HOWDAH_HADOOP_CLASSPATH", cache / f"hadoop-{HADOOP_VERSION}", _ARTIFACTS)


def hadoop_tests_class_path(cache: Path) -> str:
    """The class path of Hadoop's tests and of JUnit, to go before `hadoop_class_path`."""
    into = cache / f"hadoop-{HADOOP_VERSION}-tests"
    return _jars("HOWDAH_HADOOP_TESTS_CLASSPATH", into, _TEST_ARTIFACTS)


_LOADED: Final = "diskBalancer"
"""The directory of files that tests find on their class path."""


def hadoop_test_files(cache: Path, into: Path) -> None:
    """Put the files that Hadoop's tests read into a directory. In its directory `class-path` are
    those that tests look for on their class path."""
    kept = cache / f"hadoop-{HADOOP_VERSION}-test-files"
    _jars("HOWDAH_HADOOP_TEST_FILES", kept, _TEST_FILES)
    for jar in sorted(kept.glob("*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if "/" not in name:
                    archive.extract(name, into)
                elif name.startswith(f"{_LOADED}/"):
                    archive.extract(name, into / "class-path")


def hadoop_kdc_class_path(cache: Path) -> str:
    """The class path of Hadoop's MiniKdc, to run it by itself."""
    into = cache / f"hadoop-{HADOOP_VERSION}-minikdc"
    return _jars("HOWDAH_HADOOP_MINIKDC_CLASSPATH", into, _KDC_ARTIFACTS)


def hadoop_distcp_class_path(cache: Path) -> str:
    """The class path of Hadoop's DistCp, to go before `hadoop_class_path`."""
    into = cache / f"hadoop-{HADOOP_VERSION}-distcp"
    return _jars("HOWDAH_HADOOP_DISTCP_CLASSPATH", into, _DISTCP_ARTIFACTS)


def hadoop_s3a_class_path(cache: Path) -> str:
    """The class path of Hadoop's S3A, to go beside the jars of PySpark."""
    into = cache / f"hadoop-{HADOOP_VERSION}-s3a"
    return _jars("HOWDAH_HADOOP_S3A_CLASSPATH", into, _S3A_ARTIFACTS)


def hadoop_router_class_path(cache: Path) -> str:
    """The class path of Hadoop's router, to go before `hadoop_class_path`."""
    into = cache / f"hadoop-router-{FRONTS_VERSION}"
    return _jars("HOWDAH_HADOOP_ROUTER_CLASSPATH", into, _ROUTER_ARTIFACTS)


def hadoop_fronts_class_path(cache: Path) -> str:
    """The class path of Hadoop's router and HttpFS, to run them by itself."""
    into = cache / f"hadoop-fronts-{FRONTS_VERSION}"
    return _jars("HOWDAH_HADOOP_FRONTS_CLASSPATH", into, _FRONT_ARTIFACTS)


def table_jars(cache: Path) -> list[Path]:
    """The jars of Delta Lake, Iceberg and Avro for Spark 4.1."""
    path = _jars("HOWDAH_TABLES_CLASSPATH", cache / "tables-spark-4.1", _TABLE_ARTIFACTS)
    return sorted(Path(path.removesuffix("/*")).glob("*.jar"))


def hadoop_kms_class_path(cache: Path) -> str:
    """The class path of Hadoop's key server, to run it by itself."""
    into = cache / f"hadoop-kms-{FRONTS_VERSION}"
    return _jars("HOWDAH_HADOOP_KMS_CLASSPATH", into, _KMS_ARTIFACTS)


def keycloak_archive(cache: Path) -> Path:
    """The archive of Keycloak, a provider of OpenID Connect."""
    into = cache / f"keycloak-{_KEYCLOAK_VERSION}"
    path = _jars("HOWDAH_KEYCLOAK", into, _KEYCLOAK_ARTIFACTS)
    (archive,) = Path(path.removesuffix("/*")).glob("keycloak-*.zip")
    return archive


def hadoop_native_library(cache: Path) -> Path:
    """Hadoop's library in C for this machine, without which its datanodes have no Unix sockets."""
    into = cache / "hadoop-native"
    jars = _jars("HOWDAH_HADOOP_NATIVE_CLASSPATH", into, _NATIVE_ARTIFACTS)
    library = into / _NATIVE_LIBRARY
    machine = {"x86_64": "amd64"}.get(platform.machine(), platform.machine())
    name = f"nativelib/Linux-{machine}/{_NATIVE_LIBRARY}"
    if not library.exists():
        (jar,) = Path(jars.removesuffix("/*")).glob("hadoop-apache-*.jar")
        with zipfile.ZipFile(jar) as archive:
            if name not in archive.namelist():
                raise NoHadoop(f"{jar.name} has no {name}")
            new = library.with_suffix(f".{os.getpid()}")
            new.write_bytes(archive.read(name))
            new.rename(library)
    return library


def _jars(variable: str, into: Path, artifacts: Sequence[_Artifact]) -> str:
    given = os.environ.get(variable)
    if given:
        return given
    into = into.absolute()  # Maven has a working directory of its own.
    into.parent.mkdir(parents=True, exist_ok=True)
    with into.with_name(into.name + ".lock").open("w") as lock:
        # Processes that test beside each other fetch once, not into each other's way.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_fetched(into, artifacts):
            shutil.rmtree(into, ignore_errors=True)
            _fetch(into, artifacts)
    return f"{into}/*"


def _is_fetched(into: Path, artifacts: Sequence[_Artifact]) -> bool:
    """Not, where others were fetched than are wanted now."""
    try:
        return (into / _POM).read_text() == _pom(artifacts)
    except FileNotFoundError:
        return False


def _fetch(into: Path, artifacts: Sequence[_Artifact]) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoHadoop(f"Hadoop {HADOOP_VERSION} is not there and mvn is not installed to fetch it")
    partial = into.with_name(into.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    (partial / _POM).write_text(_pom(artifacts))
    command = [maven, "--batch-mode", "--quiet", "dependency:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    try:
        done = subprocess.run(
            command,
            cwd=partial,
            capture_output=True,
            text=True,
            timeout=_FETCH_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoHadoop(
            f"Maven did not bring Hadoop {HADOOP_VERSION} within {_FETCH_TIMEOUT_S} s"
        ) from None
    if done.returncode:
        raise NoHadoop(f"Maven cannot bring Hadoop {HADOOP_VERSION}: {done.stdout[-500:]}")
    partial.rename(into)


def _pom(artifacts: Sequence[_Artifact]) -> str:
    wanted = "".join(artifact.pom() for artifact in artifacts)
    return (
        "<project xmlns='http://maven.apache.org/POM/4.0.0'><modelVersion>4.0.0</modelVersion>"
        "<groupId>howdah</groupId><artifactId>hadoop-jars</artifactId><version>1</version>"
        f"<dependencies>{wanted}</dependencies></project>"
    )
