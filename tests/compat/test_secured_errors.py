"""What stands in the way of a login, or of a client at Apache's servers, is told by its cause.

MIT's library and KDC fail in their own words; ours say what to do.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.sasl.principals import Principal
from howdah.security import kdc as kdc_module
from howdah.security.login import KerberosLogin, LoginSource
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import SecuredHadoop

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

NN = Principal("nn", "localhost", REALM)
CONF = {
    "hadoop.security.authentication": "kerberos",
    "dfs.namenode.kerberos.principal": f"nn/_HOST@{REALM}",
}


def login_of(kdc: Kdc, user: str = "alice") -> KerberosLogin:
    return KerberosLogin(LoginSource(str(kdc.keytab(user)), f"{user}@{REALM}"))


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (Principal("nn", "elsewhere", REALM), "the KDC knows no nn/elsewhere@EXAMPLE.COM"),
        (Principal("nn", "localhost", "OTHER.ORG"), "EXAMPLE.COM does not know the realm OTHER"),
    ],
)
def test_a_server_that_the_kdc_does_not_know_is_named(
    kdc: Kdc, target: Principal, said: str
) -> None:
    with pytest.raises(errors.LoginFailed, match=said):
        login_of(kdc).context(target, 20)


@pytest.mark.parametrize("principal", [f"nobody@{REALM}", "alice@OTHER.ORG"])
def test_a_keytab_without_the_principal_says_whose_it_is(kdc: Kdc, principal: str) -> None:
    login = KerberosLogin(LoginSource(str(kdc.keytab("alice")), principal))
    with pytest.raises(errors.LoginFailed, match=f"no key of {principal}: it is of alice@{REALM}"):
        login.context(NN, 20)


@pytest.mark.parametrize(("content", "said"), [(b"text", "not a keytab"), (b"", "not a keytab")])
def test_a_file_that_is_no_keytab_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "keytab"
    path.write_bytes(content)
    with pytest.raises(errors.LoginFailed, match=f"{path}.*{said}"):
        KerberosLogin(LoginSource(str(path), "alice")).context(NN, 20)


def test_a_keytab_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.LoginFailed, match=f"{tmp_path} cannot be read: Is a directory"):
        KerberosLogin(LoginSource(str(tmp_path), "alice")).context(NN, 20)


def test_an_old_key_is_told(kdc: Kdc, tmp_path: Path) -> None:
    kdc.add("carol")
    kdc.renew_key("carol")
    with pytest.raises(errors.LoginFailed, match="key of the keytab is an old one"):
        login_of(kdc, "carol").context(NN, 20)


def test_clocks_that_differ_are_told_with_by_how_much(
    kdc: Kdc, kerberos_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kdc.kinit("alice", kerberos_environment)
    _set_back(kerberos_environment, 3600)
    ahead = kdc_module.seconds_ahead
    monkeypatch.setattr(kdc_module, "seconds_ahead", lambda *words: 3600 + (ahead(*words) or 0))
    with pytest.raises(
        errors.LoginFailed,
        match=r"Clock skew.*NTP.*clock is 3(600|599) s behind that of the KDC of EXAMPLE\.COM",
    ):
        KerberosLogin(LoginSource()).context(NN, 20)


_ASKS: Final = """
import sys
from howdah import errors
from howdah.protocol.sasl.principals import Principal
from howdah.security.login import KerberosLogin, LoginSource
try:
    KerberosLogin(LoginSource(*sys.argv[2:])).context(Principal("nn", "localhost", sys.argv[1]), 20)
except errors.LoginFailed as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("offset", "source", "said"),
    [
        ("-1h", "cache", r"Clock skew.*clock is 3\d{3} s behind that of the KDC of EXAMPLE\.COM"),
        ("+1h", "cache", r"Clock skew.*clock is 3\d{3} s ahead of that of the KDC of EXAMPLE\.COM"),
        ("+2d", "keytab", r"Ticket expired.*clock is 172\d{3} s ahead of that of the KDC"),
    ],
)
def test_a_machine_whose_clock_is_wrong_is_told_so(
    kdc: Kdc, kerberos_environment: Path, offset: str, source: str, said: str
) -> None:
    """A process whose clock differs asks a KDC that runs by the right one."""
    wrong = shutil.which("faketime")
    if wrong is None:
        pytest.skip("faketime is not installed")
    kdc.kinit("alice", kerberos_environment)
    login = (str(kdc.keytab("alice")), f"alice@{REALM}") if source == "keytab" else ()
    done = subprocess.run(
        [wrong, "-f", offset, sys.executable, "-c", _ASKS, REALM, *login],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert re.search(said, done.stdout), done.stdout + done.stderr


def _set_back(cache: Path, seconds: int) -> None:
    """Have the library believe that its clock is to be set back, as a cache can tell it."""
    data = bytearray(cache.read_bytes())
    assert data[:4] == b"\x05\x04\x00\x0c"
    data[8:12] = (-seconds).to_bytes(4, "big", signed=True)
    cache.write_bytes(data)


def _krb5_conf(path: Path, port: int) -> str:
    path.write_text(
        f"[libdefaults]\ndefault_realm = {REALM}\ndns_lookup_kdc = false\n"
        "udp_preference_limit = 1\nrdns = false\ndns_canonicalize_hostname = false\n"
        f"[realms]\n{REALM} = {{\nkdc = 127.0.0.1:{port}\n}}\n"
    )
    return str(path)


def test_a_kdc_that_cannot_be_reached_is_told(
    kdc: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("KRB5_CONFIG", _krb5_conf(tmp_path / "krb5.conf", port))
    with pytest.raises(errors.LoginFailed, match=r"Cannot contact any KDC.*is the KDC up"):
        login_of(kdc).context(NN, 20)


def test_a_kdc_that_hangs_is_waited_for_within_bounds(
    kdc: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setenv("KRB5_CONFIG", _krb5_conf(tmp_path / "krb5.conf", port))
        with pytest.raises(errors.LoginFailed, match=r"the KDC gave no answer.*within 0\.3 s"):
            login_of(kdc).context(NN, 0.3)
        assert kdc_module.seconds_ahead(REALM, 0.3) is None


def test_a_realm_that_krb5_conf_does_not_name_is_told(
    kdc: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "krb5.conf"
    path.write_text("[libdefaults]\ndefault_realm = ELSEWHERE\ndns_lookup_kdc = false\n")
    monkeypatch.setenv("KRB5_CONFIG", str(path))
    with pytest.raises(errors.LoginFailed, match=r"krb5\.conf names no KDC"):
        login_of(kdc).context(NN, 20)


def test_a_principal_that_no_rule_takes_is_named(kdc: Kdc) -> None:
    conf = {**CONF, "hadoop.security.auth_to_local": "RULE:[1:$1@$0](.*@OTHER)s/@.*//"}
    with pytest.raises(errors.AuthenticationFailed, match=f"alice@{REALM}"):
        howdah.connect(
            "hdfs://localhost:1",
            conf=Configuration(conf),
            keytab=str(kdc.keytab("alice")),
            principal=f"alice@{REALM}",
        )


def _write(fs: HdfsFileSystem, path: str) -> None:
    with fs.create(f"{path}-2", overwrite=True) as out:
        out.write(b"data")


@pytest.mark.parametrize(
    "act",
    [
        lambda fs, path: fs.open(path).read(),
        _write,
        lambda fs, path: fs.get_file_checksum(path),
    ],
    ids=["read", "write", "checksum"],
)
def test_a_datanode_that_wants_sasl_is_told_by_the_key(
    hadoop: SecuredHadoop, act: Callable[[HdfsFileSystem, str], object]
) -> None:
    path = "/user/alice/wants-sasl"
    with hadoop.connect() as fs:
        with fs.create(path, overwrite=True) as out:
            out.write(b"data")
    soon = {"dfs.client.retry.window.base": "1"}
    with hadoop.connect(data="", conf=soon) as fs:
        with pytest.raises(errors.HowdahError, match=r"dfs\.data\.transfer\.protection"):
            act(fs, path)
