"""As whom a client calls, by its configuration."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import HDFS_DELEGATION, Token
from howdah.fsspec import HowdahFileSystem
from howdah.protocol.sasl.protection import Protection
from howdah.runtime.users.names import ProxyUser
from howdah.security.identity import user_of
from howdah.security.settings import SecuritySettings
from howdah.security.users import SecuredUser

SECURED = {
    "hadoop.security.authentication": "kerberos",
    "hadoop.security.auth_to_local": "RULE:[1:$1@$0](.*@OTHER.COM)s/@.*// DEFAULT",
    "hadoop.rpc.protection": "privacy, integrity",
    "dfs.namenode.kerberos.principal": "nn/_HOST@EXAMPLE.COM",
    "dfs.nameservices": "ns",
    "dfs.ha.namenodes.ns": "a,b",
    "dfs.namenode.rpc-address.ns.a": "h1:8020",
    "dfs.namenode.rpc-address.ns.b": "h2:8020",
}


@pytest.fixture(autouse=True)
def _no_tickets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HADOOP_TOKEN_FILE_LOCATION", "KRB5KEYTAB", "KRB5PRINCIPAL", "HADOOP_PROXY_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'no-cache'}")
    (tmp_path / "krb5.conf").write_text(
        "[libdefaults]\ndefault_realm = EXAMPLE.COM\ndns_lookup_kdc = false\n"
    )
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))


def token_file(path: Path, owner: str = "bob@OTHER.COM") -> str:
    identifier = DelegationTokenIdentifier(owner, "yarn", "", 1, 2, 3, 4).encode()
    token = Token(identifier, b"secret", HDFS_DELEGATION, "ha-hdfs:ns")
    path.write_bytes(Credentials({"ha-hdfs:ns": token}).encode())
    return str(path)


def test_without_security_it_is_who_it_always_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "carol")
    assert user_of(Configuration({})) == "carol"
    assert type(user_of(Configuration({}))) is str
    assert user_of(Configuration({}), "dave") == "dave"


def test_without_security_nothing_of_it_is_imported() -> None:
    code = (
        "import sys; from howdah.fs.hdfs.filesystem import HdfsFileSystem; "
        "from howdah.config import Configuration; HdfsFileSystem('h:1', Configuration({})); "
        "print([m for m in sys.modules if 'security.' in m or '.sasl' in m or m == 'ctypes.util'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "['howdah.security.identity']"


SERVERS = ("datanode", "failover", "journalnode", "namenode", "testing")
"""Call as their process, and have no Kerberos."""


def test_every_call_of_a_client_says_as_whom_it_is_made() -> None:
    source = Path(howdah.__file__).parent
    nameless, made = [], 0
    for path in sorted(source.rglob("*.py")):
        if path.relative_to(source).parts[0] in SERVERS:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "RpcClient":
                made += 1
                if not any(keyword.arg == "user" for keyword in node.keywords):
                    nameless.append(f"{path.relative_to(source)}:{node.lineno}")
    assert nameless == []
    assert made > 5


def test_a_keytab_without_security_is_refused() -> None:
    with pytest.raises(errors.IllegalArgument, match=r"hadoop\.security\.authentication"):
        user_of(Configuration({}), keytab="/k")


def test_with_nothing_to_prove_it_is_said_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(errors.LoginFailed) as caught:
        user_of(Configuration(SECURED))
    assert "no-cache" in str(caught.value)


def test_a_token_alone_makes_its_owner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", token_file(tmp_path / "tokens"))
    user = user_of(Configuration(SECURED))
    assert isinstance(user, SecuredUser)
    assert (str(user), user.principal, user.login) == ("bob", "bob@OTHER.COM", None)
    token = user.delegation_token(("h2", 8020))
    assert token is not None
    assert "secret" not in repr(token) + repr(user)


def test_another_user_is_refused_and_a_proxy_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", token_file(tmp_path / "tokens"))
    conf = Configuration(SECURED)
    assert user_of(conf, "bob") == "bob"
    with pytest.raises(errors.LoginFailed, match=r"this process is bob@OTHER\.COM, and not eve"):
        user_of(conf, "eve")
    proxy = user_of(conf, ProxyUser("joe", "bob"))
    assert isinstance(proxy, SecuredUser)
    assert (str(proxy), proxy.real_user) == ("joe", "bob@OTHER.COM")
    with pytest.raises(errors.LoginFailed, match="not hive"):
        user_of(conf, ProxyUser("joe", "hive"))


def test_a_keytab_that_is_given_goes_before_tokens_of_somebody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", token_file(tmp_path / "tokens"))
    parts = b"".join(len(part).to_bytes(2, "big") + part for part in (b"EXAMPLE.COM", b"etl"))
    entry = b"\0\1" + parts
    keytab = tmp_path / "etl.keytab"
    keytab.write_bytes(b"\x05\x02" + len(entry).to_bytes(4, "big") + entry)
    user = user_of(Configuration(SECURED), keytab=str(keytab))
    assert isinstance(user, SecuredUser)
    assert (str(user), user.tokens()) == ("etl", [])


def test_a_keytab_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.LoginFailed, match=r"keytab .*nowhere cannot be read"):
        user_of(Configuration(SECURED), keytab=str(tmp_path / "nowhere"), principal="a@B")


def test_a_keytab_given_as_a_ticket_cache_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keytab = tmp_path / "k.keytab"
    keytab.write_bytes(b"\x05\x02")
    monkeypatch.setenv("KRB5CCNAME", str(keytab))
    with pytest.raises(errors.LoginFailed, match="is a keytab, and no ticket cache: give it as"):
        user_of(Configuration(SECURED))


def test_the_configuration_is_read_whole() -> None:
    settings = SecuritySettings.from_configuration(Configuration(SECURED))
    assert settings.is_enabled
    assert settings.rpc_protections == (Protection.PRIVACY, Protection.INTEGRITY)
    assert settings.logical_services == {("h1", 8020): "ha-hdfs:ns", ("h2", 8020): "ha-hdfs:ns"}
    assert settings.namenode.principal == "nn/_HOST@EXAMPLE.COM"
    assert settings.user_of("bob@OTHER.COM", "EXAMPLE.COM") == "bob"


@pytest.mark.parametrize(
    ("name", "value"),
    [("hadoop.rpc.protection", "secret"), ("hadoop.security.auth_to_local", "RULE:[x")],
)
def test_a_value_that_is_none_is_named(name: str, value: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=name):
        SecuritySettings.from_configuration(Configuration({**SECURED, name: value}))


def test_a_token_file_that_is_named_goes_before_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", token_file(tmp_path / "env"))
    mine = token_file(tmp_path / "mine", "carol@OTHER.COM")
    user = user_of(Configuration(SECURED), token_file=mine)
    assert user == "carol"
    assert user_of(Configuration(SECURED)) == "bob"
    assert isinstance(user, SecuredUser)
    assert mine in user.show_tokens()
    with pytest.raises(errors.LoginFailed, match="nothing-here"):
        user_of(Configuration(SECURED), token_file=str(tmp_path / "nothing-here"))
    # It is good where security is not asked for, too.
    assert isinstance(user_of(Configuration({}), token_file=mine), SecuredUser)


def test_a_user_in_another_process_has_the_tokens_of_that_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", token_file(tmp_path / "here"))
    user = user_of(Configuration(SECURED))
    pickled = pickle.dumps(user)
    assert b"secret" not in pickled
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", token_file(tmp_path / "there"))
    there = pickle.loads(pickled)
    assert isinstance(there, SecuredUser)
    assert str(tmp_path / "there") in there.show_tokens()
    assert there.delegation_token(("h1", 8020)) is not None


def test_pickled_filesystems_have_no_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine = token_file(tmp_path / "mine")
    fs = HowdahFileSystem("ns", conf=SECURED, token_file=mine, skip_instance_cache=True)
    for pickled in (pickle.dumps(fs), pickle.dumps(fs.hdfs)):
        assert b"secret" not in pickled
    again = pickle.loads(pickle.dumps(fs))
    assert again.hdfs.user == pickle.loads(pickle.dumps(fs.hdfs)).user == "bob"
    with pytest.raises(TypeError, match="did you mean 'token_file'"):
        HowdahFileSystem("ns", conf=SECURED, token="x")
