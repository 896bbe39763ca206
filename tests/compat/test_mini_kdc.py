"""Hadoop's MiniKdc takes the place of MIT's KDC where that is not installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.protocol.sasl.principals import Principal
from howdah.security.login import KerberosLogin, LoginSource
from tests.support.hadoop.jars import NoHadoop, hadoop_kdc_class_path
from tests.support.security.fixtures import CACHE
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.mini_kdc import MiniKdc

pytestmark = [pytest.mark.torture, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def mini_kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    try:
        jars = hadoop_kdc_class_path(CACHE)
    except NoHadoop as error:
        pytest.skip(error.message)
    kdc = MiniKdc(tmp_path_factory.mktemp("kdc"), jars)
    yield kdc
    kdc.close()


def test_logins_are_had_by_keytabs_and_caches(mini_kdc: Kdc, tmp_path: Path) -> None:
    service = Principal("nn", "localhost", REALM)
    cache = tmp_path / "ccache"
    with mini_kdc.in_environment():
        KerberosLogin(LoginSource(str(mini_kdc.keytab("alice")))).context(service, 20)
        mini_kdc.kinit("bob", cache)
        login = KerberosLogin(LoginSource(ticket_cache=f"FILE:{cache}"))
        assert login.inquire(20).principal == f"bob@{REALM}"
        login.context(service, 20)
        with pytest.raises(errors.LoginFailed, match="has no key of eve"):
            KerberosLogin(LoginSource(str(mini_kdc.keytab("bob")), "eve")).context(service, 20)
