"""What a cluster's own realm is made of. That it serves: test_secure_minicluster.py."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from howdah.errors import InvalidConfiguration
from howdah.local import kdc
from howdah.local.kdc import NoKdc, Realm
from howdah.local.layout import Layout
from howdah.security.settings import SecuritySettings
from howdah.testing import MiniCluster


def realm(name: str = "A.TEST") -> Realm:
    return Realm.plan("127.0.0.1:88", "me", ["alice"], name)


def test_what_is_missing_for_a_kdc_is_said_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(kdc, "_SYSTEM_DIRECTORIES", ())
    with pytest.raises(NoKdc, match=r"krb5kdc, kdb5_util, kadmin.local, kinit are not installed"):
        MiniCluster(secure=True, dir=tmp_path / "cluster")
    assert not (tmp_path / "cluster").exists()


def test_who_runs_the_cluster_is_a_user_and_its_servers_are_him(tmp_path: Path) -> None:
    layout = Layout.plan(tmp_path, users=["alice"], realm="A.TEST")
    assert layout.realm is not None
    settings = SecuritySettings.from_configuration(layout.client_conf())
    for server in ("nn/localhost", "dn/localhost", "jn/localhost"):
        assert settings.user_of(f"{server}@A.TEST", "A.TEST") == layout.realm.superuser
    assert settings.user_of("alice@A.TEST", "ANOTHER.TEST") == "alice"


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a@b", "-x", "a\nquit"])
def test_a_user_whose_name_kadmin_would_take_for_something_else_is_refused(name: str) -> None:
    with pytest.raises(InvalidConfiguration, match="is no user here"):
        realm().with_users([name])


def test_kadmin_reads_any_path_as_one_word_that_ends_where_it_does() -> None:
    assert kdc._word(Path('/a b/"c"')) == '"/a b/""c"""'
    with pytest.raises(InvalidConfiguration, match="kadmin can have no keytab"):
        kdc._word(Path("/a\nquit"))


def test_clients_have_no_keys_of_servers(tmp_path: Path) -> None:
    layout = Layout.plan(tmp_path, users=["alice"])
    assert not [name for name, _ in layout.client_conf().items() if "keytab" in name]
    assert layout.server_conf("namenode").raw("dfs.namenode.keytab.file")


def test_values_may_ask_for_another_protection_but_not_for_none(tmp_path: Path) -> None:
    values = {"hadoop.rpc.protection": "integrity", "hadoop.security.authentication": "simple"}
    conf = Layout.plan(tmp_path, users=["alice"], values=values).client_conf()
    assert conf.raw("hadoop.rpc.protection") == "integrity"
    assert conf.raw("hadoop.security.authentication") == "kerberos"


def test_the_environment_is_as_before_once_all_realms_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRB5_CONFIG", "/etc/mine.conf")
    first, second = tmp_path / "first", tmp_path / "second"
    kdc.enter(first, realm(kdc.free_realm()))
    kdc.enter(second, realm(kdc.free_realm()))
    assert os.environ["KRB5_CONFIG"] == f"{second}/krb5.conf:{first}/krb5.conf"
    with pytest.raises(InvalidConfiguration, match="is that of another cluster"):
        kdc.enter(tmp_path / "third", realm(kdc.DEFAULT_REALM))
    kdc.leave(first)
    assert os.environ["KRB5_CONFIG"] == f"{second}/krb5.conf"
    kdc.leave(second)
    assert os.environ["KRB5_CONFIG"] == "/etc/mine.conf"
