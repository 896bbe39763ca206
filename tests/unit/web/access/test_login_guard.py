"""The guard of logins as it is configured, and what keeps a server from starting."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.servers import check_configuration
from howdah.config import Configuration
from howdah.datanode.settings import check_datanode_protection
from howdah.datanode.web_access import guard_of_logins as of_datanode
from howdah.failover.security import check_controller_protection
from howdah.formats.passwords import Cost, record_of
from howdah.journalnode.security import check_journalnode_protection
from howdah.journalnode.web_access import guard_of_logins as of_journalnode
from howdah.namenode.server.process.secondary_security import check_secondary_protection
from howdah.namenode.server.process.secondary_security import security_of as of_secondary
from howdah.namenode.server.security import check_namenode_protection
from howdah.namenode.server.security import security_of as namenode_security
from howdah.namenode.server.web_access import guard_of_logins as of_namenode
from howdah.protocol.web_authentication.basic import header_of
from howdah.protocol.web_authentication.signed_cookie import CookieSigner, SignedIdentity
from howdah.runtime.tls.http_policy import Place
from howdah.security.page_proofs import PageProofs
from howdah.security.server_cookies import KIND, NOBODY, SigningServer, signing_caller
from howdah.web.http import Admitted, Guard, Request, Response

FILE = {"howdah.http.authentication": "file"}
OIDC = {
    "howdah.http.authentication": "oidc",
    "howdah.http.authentication.oidc.issuer": "https://id.example.com",
    "howdah.http.authentication.oidc.client-id": "howdah",
}
CHECKS = (
    check_namenode_protection,
    check_datanode_protection,
    check_journalnode_protection,
    check_controller_protection,
    check_secondary_protection,
)
MAKERS = (of_namenode, of_datanode, of_journalnode)
SECRET = b"a secret of a cluster"
Make = Callable[[Configuration], Guard | None]


@pytest.fixture
def conf(tmp_path: Path) -> Configuration:
    path = tmp_path / "passwords"
    path.write_text(record_of("alice", "a password", b"0123456789abcdef", Cost(1, 1, 1)).line)
    path.chmod(0o600)
    return Configuration({**FILE, "howdah.http.authentication.file": str(path)})


@pytest.mark.parametrize("make", MAKERS)
def test_every_server_lets_in_who_logs_in(make: Make, conf: Configuration) -> None:
    guard = make(conf)
    assert guard is not None
    login = {"authorization": header_of("alice", "a password")}
    for headers, passes in ((login, True), ({}, False)):
        request = Request("GET", "/jmx", headers=headers, peer="127.0.0.1")
        assert isinstance(guard.admit(request), Admitted) == passes
    assert make(Configuration({})) is None


@pytest.fixture(params=["file", "oidc"])
def each_kind(request: pytest.FixtureRequest, conf: Configuration) -> Configuration:
    if request.param == "file":
        return conf
    pytest.importorskip("authlib", reason="authlib is not installed")
    return Configuration(OIDC)


@pytest.mark.parametrize("make", MAKERS)
def test_every_server_asks_for_a_login_at_the_provider(make: Make) -> None:
    pytest.importorskip("authlib", reason="authlib is not installed")
    guard = make(Configuration(OIDC))
    assert guard is not None
    request = Request("GET", "/jmx", headers={"accept": "text/html"}, peer="127.0.0.1")
    answered = guard.admit(request)
    assert isinstance(answered, Response)
    assert answered.status == 401
    assert b"Log in at id.example.com" in answered.body


@pytest.mark.parametrize("make", MAKERS)
def test_a_provider_that_is_not_said_is_found_at_the_start(make: Make) -> None:
    pytest.importorskip("authlib", reason="authlib is not installed")
    values = {name: value for name, value in OIDC.items() if not name.endswith("issuer")}
    with pytest.raises(errors.InvalidConfiguration, match=r"oidc\.issuer is not set"):
        make(Configuration(values))


def test_a_namenode_takes_tokens_of_whom_a_provider_knows_until_they_end() -> None:
    """Nobody but the provider knows who can still log in."""
    pytest.importorskip("authlib", reason="authlib is not installed")
    assert namenode_security(Configuration(OIDC)).users is None


@pytest.mark.parametrize("check", CHECKS)
def test_logins_are_supported_without_kerberos_alone(
    check: Callable[[Configuration], None], each_kind: Configuration
) -> None:
    check(each_kind)
    kerberos = each_kind.with_values(
        {
            "hadoop.security.authentication": "kerberos",
            "dfs.namenode.kerberos.principal": "nn/_HOST@R",
            "dfs.namenode.keytab.file": "/k",
            "dfs.datanode.kerberos.principal": "dn/_HOST@R",
            "dfs.datanode.keytab.file": "/k",
            "dfs.journalnode.kerberos.principal": "jn/_HOST@R",
            "dfs.journalnode.keytab.file": "/k",
            "dfs.secondary.namenode.kerberos.principal": "sn/_HOST@R",
            "dfs.secondary.namenode.keytab.file": "/k",
            "dfs.block.access.token.enable": "true",
            "dfs.data.transfer.protection": "privacy",
            "dfs.web.authentication.kerberos.principal": "HTTP/_HOST@R",
        }
    )
    with pytest.raises(errors.InvalidConfiguration, match="is for clusters without Kerberos"):
        check(kerberos)


def test_a_server_without_logins_does_not_start_where_they_are_asked_for(
    each_kind: Configuration,
) -> None:
    with pytest.raises(errors.InvalidConfiguration, match="not supported by this server"):
        check_configuration(each_kind)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("path", "said"), [("", "does not say which one"), ("/nowhere/passwords", "cannot be read")]
)
def test_a_file_that_is_none_is_found_at_the_start(make: Make, path: str, said: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=said):
        make(Configuration({**FILE, "howdah.http.authentication.file": path}))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "users can log in from this machine alone"),
        (
            {"howdah.http.authentication.allow-plain-http": "true"},
            "what users prove themselves by goes over the network as it is",
        ),
        ({"dfs.http.policy": "HTTPS_ONLY"}, None),
        ({"dfs.http.policy": "HTTP_AND_HTTPS"}, None),
    ],
)
def test_passwords_without_tls_are_warned_of(
    conf: Configuration,
    values: dict[str, str],
    said: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    of_namenode(conf.with_values(values))
    assert [said] * (said is not None) == [
        record.getMessage().partition("): ")[2] for record in caplog.records
    ]


def test_figures_may_be_for_administrators_alone(conf: Configuration) -> None:
    closed = conf.with_values({"hadoop.security.instrumentation.requires.admin": "true"})
    check_namenode_protection(closed)
    guard = of_namenode(closed)
    assert guard is not None
    login = {"authorization": header_of("alice", "a password")}
    answered = guard.admit(Request("GET", "/jmx", headers=login, peer="127.0.0.1"))
    assert not isinstance(answered, Admitted)


# -- servers among each other -------------------------------------------------------


@pytest.fixture
def shared(conf: Configuration, tmp_path: Path) -> Configuration:
    """With a secret that all servers have."""
    path = tmp_path / "secret"
    path.write_bytes(SECRET)
    path.chmod(0o600)
    return conf.with_values({"hadoop.http.authentication.signature.secret.file": str(path)})


def passes(guard: Guard | None, path: str, cookie: str) -> bool:
    assert guard is not None
    request = Request("GET", path, headers={"cookie": cookie}, peer="10.0.0.1", is_secure=True)
    return isinstance(guard.admit(request), Admitted)


def shown_by(conf: Configuration) -> str:
    """The cookie that a server shows to others."""
    caller = signing_caller(conf)
    assert caller is not None
    proof = PageProofs(caller).proof(Place(True, "nn", 1))
    assert proof is not None
    return proof.headers["Cookie"]


def test_a_server_gets_what_is_for_servers_and_nothing_of_a_users(shared: Configuration) -> None:
    cookie = shown_by(shared)
    assert passes(of_namenode(shared), "/imagetransfer", cookie)
    assert passes(of_namenode(shared), "/jmx", cookie)
    assert passes(of_journalnode(shared), "/getJournal", cookie)
    for path in ("/logs", "/stacks", "/blocks", "/fsck", "/webhdfs/v1/a"):
        assert not passes(of_namenode(shared), path, cookie)
    secondary = of_secondary(shared)
    assert secondary is not None
    assert isinstance(secondary.caller, SigningServer)
    assert isinstance(namenode_security(shared).caller, SigningServer)


def test_nobody_else_is_a_server(shared: Configuration) -> None:
    guard = of_namenode(shared)
    for key, kind, name, ends_ms in (
        (b"another secret", KIND, NOBODY, 1 << 50),
        (SECRET, "file", NOBODY, 1 << 50),
        (SECRET, "kerberos", NOBODY, 1 << 50),
        (SECRET, KIND, "alice", 1 << 50),
        (SECRET, KIND, NOBODY, 1),
    ):
        text = CookieSigner(key).sign(SignedIdentity(name, name, kind, ends_ms))
        assert not passes(guard, "/imagetransfer", f"hadoop.auth={text}")
    login = {"authorization": header_of("alice", "a password")}
    answered = guard.admit(Request("GET", "/imagetransfer", headers=login, peer="127.0.0.1"))  # type: ignore[union-attr]
    assert not isinstance(answered, Admitted)


def test_servers_that_fetch_from_each_other_need_one_secret(conf: Configuration) -> None:
    pair = {
        "dfs.nameservices": "ns",
        "dfs.nameservice.id": "ns",
        "dfs.ha.namenodes.ns": "a,b",
        "dfs.namenode.rpc-address.ns.a": "a:1",
        "dfs.namenode.rpc-address.ns.b": "b:1",
    }
    with pytest.raises(errors.InvalidConfiguration, match=r"signature\.secret\.file is not set"):
        namenode_security(conf.with_values({**pair, "user.home": "/nowhere"}))
    with pytest.raises(errors.InvalidConfiguration, match=r"signature\.secret\.file"):
        of_secondary(conf.with_values({"user.home": "/nowhere"}))


def test_a_servers_secret_goes_nowhere(shared: Configuration) -> None:
    caller = signing_caller(shared)
    with pytest.raises(TypeError):
        pickle.dumps(caller)
    assert SECRET.decode() not in repr(caller)
    assert signing_caller(Configuration({})) is None


def test_a_namenode_takes_tokens_of_those_who_can_log_in_unless_everybody_gets_some(
    shared: Configuration,
) -> None:
    users = namenode_security(shared).users
    assert users is not None
    assert set(users.records()) == {"alice"}
    for_everybody = {"dfs.namenode.delegation.token.always-use": "true"}
    assert namenode_security(shared.with_values(for_everybody)).users is None
    assert namenode_security(Configuration({})).users is None
