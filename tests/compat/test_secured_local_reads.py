"""Reads past a secured datanode of Apache's, from the files of its replicas: it gives them for the
block's token.

Hadoop's datanode needs its native library for that, which Maven's repository has inside a jar of
Trino's.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.client.reading.statistics import ReadStatistics
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from tests.support.hadoop.jars import NoHadoop, hadoop_native_library
from tests.support.security.kdc import Kdc
from tests.support.security.secured_hadoop import AES, SecuredHadoop

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA = random.Random(38).randbytes((2 << 20) + 300_000)
CACHE = Path(__file__).parents[2] / ".cache"


@pytest.fixture(scope="module")
def hadoop(
    kdc: Kdc, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredHadoop]:
    try:
        library = hadoop_native_library(CACHE)
    except NoHadoop as error:
        pytest.skip(error.message)
    # Hadoop wants no directory on the way that everybody can write to.
    sockets = Path(tempfile.mkdtemp(prefix="s", dir=CACHE))
    conf = {
        "dfs.client.read.shortcircuit": "true",
        "dfs.domain.socket.path": f"{sockets}/dn._PORT",
    }
    directory = tmp_path_factory.mktemp("local")
    options = [f"-Djava.library.path={library.parent}"]
    try:
        with kdc.in_environment():
            cluster = SecuredHadoop(directory, hadoop_classpath, kdc, conf, options)
        yield cluster
        cluster.close()
    finally:
        shutil.rmtree(sockets)


def read_past(fs: HdfsFileSystem, path: str) -> ReadStatistics:
    with fs.open(path) as reader:
        assert reader.read() == DATA
        found = reader.statistics()
    assert isinstance(found, ReadStatistics)
    return found


@pytest.mark.parametrize(
    ("protection", "suites"), [("authentication", ""), ("integrity", ""), ("privacy", AES)]
)
def test_a_replica_is_read_from_its_file(
    hadoop: SecuredHadoop, protection: str, suites: str
) -> None:
    path = f"/user/alice/local-{protection}"
    with hadoop.connect(rpc=protection, data=protection, suites=suites) as fs:
        fs.write_bytes(path, DATA)
        assert read_past(fs, path).short_circuit_bytes == len(DATA)
