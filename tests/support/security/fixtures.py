"""The secured clusters that tests of a session share; the first test that needs one starts it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hadoop.jars import (
    NoHadoop,
    hadoop_fronts_class_path,
    hadoop_kdc_class_path,
)
from tests.support.security.httpfs import SecuredHttpFs
from tests.support.security.kdc import Kdc, NoKdc
from tests.support.security.mini_kdc import MiniKdc
from tests.support.security.secured_hadoop import WITHOUT_KERBEROS, SecuredHadoop
from tests.support.security.secured_pair import SecuredPair

CACHE = Path(__file__).parents[3] / ".cache"


@pytest.fixture(scope="session")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    """MIT's, or else Hadoop's."""
    directory = tmp_path_factory.mktemp("kdc")
    try:
        kdc = Kdc(directory)
    except NoKdc as missing:
        if shutil.which("java") is None:
            pytest.skip(f"{missing.message}; and java is not installed for Hadoop's MiniKdc")
        try:
            kdc = MiniKdc(directory, hadoop_kdc_class_path(CACHE))
        except NoHadoop as error:
            pytest.skip(f"{missing.message}; {error.message}")
    yield kdc
    kdc.close()


@pytest.fixture(scope="session")
def hadoop(
    kdc: Kdc, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredHadoop]:
    """A cluster that offers every protection."""
    with kdc.in_environment():
        cluster = SecuredHadoop(tmp_path_factory.mktemp("secured"), hadoop_classpath, kdc)
    yield cluster
    cluster.close()


ENCRYPTED = {"dfs.encrypt.data.transfer": "true"}


@pytest.fixture(scope="session", params=["secured", "simple"])
def hadoop_encrypted(
    request: pytest.FixtureRequest,
    kdc: Kdc,
    hadoop_classpath: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SecuredHadoop]:
    """A cluster whose namenode has all data encrypted, with Kerberos or without."""
    conf = ENCRYPTED if request.param == "secured" else {**ENCRYPTED, **WITHOUT_KERBEROS}
    directory = tmp_path_factory.mktemp(f"encrypted-{request.param}")
    with kdc.in_environment():
        cluster = SecuredHadoop(directory, hadoop_classpath, kdc, conf)
    yield cluster
    cluster.close()


@pytest.fixture(scope="session")
def hadoop_pair(
    kdc: Kdc, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredPair]:
    """Two namenodes, whose pages are reached over TLS."""
    with kdc.in_environment():
        pair = SecuredPair(tmp_path_factory.mktemp("pair"), hadoop_classpath, kdc)
    yield pair
    pair.close()


@pytest.fixture(scope="session")
def httpfs(
    hadoop: SecuredHadoop, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredHttpFs]:
    """HttpFS before the cluster."""
    try:
        jars = hadoop_fronts_class_path(CACHE)
    except NoHadoop as error:
        pytest.skip(error.message)
    front = SecuredHttpFs(tmp_path_factory.mktemp("httpfs"), jars, hadoop)
    yield front
    front.close()


@pytest.fixture
def kerberos_environment(kdc: Kdc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The process finds the KDC, and has nothing to prove itself by: returns where its ticket cache
    would be."""
    for name, value in kdc.environment.items():
        monkeypatch.setenv(name, value)
    cache = tmp_path / "ccache"
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")
    for name in ("HADOOP_TOKEN_FILE_LOCATION", "KRB5KEYTAB", "KRB5PRINCIPAL", "HADOOP_PROXY_USER"):
        monkeypatch.delenv(name, raising=False)
    return cache
