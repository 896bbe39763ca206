"""The guard of web ports: each rule, and who gets past it by what."""

from __future__ import annotations

import ast
import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.datanode import web_access as datanode
from howdah.gateway import security as gateway
from howdah.journalnode import web_access as journalnode
from howdah.namenode.server.web_access import RULES
from howdah.protocol.rpc.proven import KERBEROS, Proven
from howdah.protocol.sasl.principals import Principal
from howdah.protocol.web_authentication.negotiation import Negotiation
from howdah.protocol.web_authentication.signed_cookie import CookieSigner
from howdah.router import web_access as router
from howdah.security.server_methods import ServerIdentity
from howdah.security.spnego import SpnegoAcceptor, TicketContinued, TicketTaken
from howdah.web.access.guard import Administrators, ClosedGuard, WebGuard
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.access.tickets import TicketProver
from howdah.web.http import Admitted, NeedsBody, Request, Response

IDENTITY = ServerIdentity(Principal("HTTP", "host", "R"), "/nowhere")


class Acceptor(SpnegoAcceptor):
    """A ticket is a principal's name."""

    def accept(self, token: bytes, address: str) -> TicketTaken | TicketContinued:
        name = token.decode()
        if name == "more":
            return TicketContinued(b"go on")
        if "@" not in name:
            raise errors.AuthenticationFailed("the ticket was not taken")
        return TicketTaken(name, b"proof")


def user_of(principal: str) -> str:
    if principal.endswith("@ELSEWHERE"):
        raise errors.AuthenticationFailed(f"No rules applied to {principal}")
    name = principal.partition("@")[0].partition("/")[0]
    return "hdfs" if name == "nn" else name


TABLE = {
    "/page": Rule.PAGE,
    "/figures": Rule.FIGURES,
    "/mine": Rule.USER,
    "/admin": Rule.ADMINISTRATOR,
    "/webhdfs/v1": Rule.FILES,
    "/image": Rule.SERVERS,
    "/token": Rule.TOKEN,
}
PROVER = TicketProver(
    Negotiation(CookieSigner(b"key"), 5_000), Acceptor(IDENTITY), user_of, now_ms=lambda: 1_000
)
GUARD = WebGuard(
    PROVER,
    AccessRules(TABLE),
    Administrators(
        {"root"},
        "hdfs",
        lambda *whose: whose == ("sn/host@R", "10.0.0.1"),
        lambda principal: principal.partition("/")[0] in ("sn", "nn", "root"),
        lambda principal: principal.startswith("dn/"),
    ),
)


def ask(path: str, who: str | None = None, guard: WebGuard = GUARD, **changes: object) -> Request:
    headers = {}
    if who is not None:
        headers["authorization"] = f"Negotiate {base64.b64encode(who.encode()).decode()}"
    request = Request("GET", path, headers=headers, peer="10.0.0.1")
    return replace(request, **changes)  # type: ignore[arg-type]


def status(answered: Admitted | Response | NeedsBody) -> int:
    assert not isinstance(answered, NeedsBody)
    return 200 if isinstance(answered, Admitted) else answered.status


@pytest.mark.parametrize(
    ("path", "nobody", "user", "administrator", "secondary"),
    [
        ("/health", 200, 200, 200, 200),
        ("/static/live.js", 200, 200, 200, 200),
        ("/page", 401, 200, 200, 200),
        ("/figures", 401, 200, 200, 200),
        ("/mine", 401, 200, 200, 200),
        ("/webhdfs/v1/a/b", 401, 200, 200, 200),
        ("/admin", 401, 403, 200, 403),
        ("/logs", 401, 403, 200, 403),
        ("/logs/text", 401, 403, 200, 403),
        ("/stacks", 401, 403, 200, 403),
        ("/logLevel", 401, 403, 200, 403),
        ("/image", 401, 403, 200, 200),
        ("/token", 403, 403, 403, 403),
        ("/nowhere", 404, 404, 404, 404),
        ("/admin/", 404, 404, 404, 404),
        ("/%61dmin", 404, 404, 404, 404),
    ],
)
def test_each_rule(path: str, nobody: int, user: int, administrator: int, secondary: int) -> None:
    expected = nobody, user, administrator, secondary
    whose = None, "alice@R", "root@R", "sn/host@R"
    assert tuple(status(GUARD.admit(ask(path, who))) for who in whose) == expected


def test_no_server_but_those_it_is_for_gets_what_is_for_servers_as_an_administrator() -> None:
    """Be it by the user of this server, or by one of the list: rules may map all servers to it."""
    for who in ("nn/other@R", "root/server@R"):
        assert status(GUARD.admit(ask("/admin", who))) == 200
        assert status(GUARD.admit(ask("/image", who))) == 403
    assert status(GUARD.admit(ask("/image", "sn/host@R", peer="10.0.0.2"))) == 403


def test_who_passed_is_known_to_the_page_and_has_a_cookie() -> None:
    by_ticket = GUARD.admit(ask("/mine", "alice@R"))
    assert isinstance(by_ticket, Admitted)
    assert by_ticket.request.proven == Proven(KERBEROS, "alice", "alice@R")
    assert by_ticket.headers["WWW-Authenticate"] == "Negotiate cHJvb2Y="
    cookie = by_ticket.headers["Set-Cookie"].partition(";")[0]
    by_cookie = GUARD.admit(ask("/mine", headers={"cookie": cookie}))
    assert isinstance(by_cookie, Admitted)
    assert by_cookie.request.proven == by_ticket.request.proven
    assert by_cookie.headers == {}
    forged = cookie.replace("u=alice", "u=hdfs")
    assert status(GUARD.admit(ask("/mine", headers={"cookie": forged}))) == 401
    late = replace(GUARD, prover=replace(PROVER, now_ms=lambda: 6_000))
    assert status(late.admit(ask("/mine", headers={"cookie": cookie}))) == 401


def test_who_only_proves_who_he_is_gets_his_cookie_and_nothing_else() -> None:
    """So Hadoop's servers and commands begin."""
    for path in ("/mine", "/admin", "/image", "/webhdfs/v1/"):
        assert status(GUARD.admit(ask(path, method="OPTIONS"))) == 401
        answered = GUARD.admit(ask(path, "alice@R", method="OPTIONS"))
        assert isinstance(answered, Response)
        assert answered.status == 200
        assert answered.headers["Set-Cookie"].startswith('hadoop.auth="u=alice&')
        assert answered.body == b""
    open_guard = replace(GUARD, pages_are_open=True)
    answered = open_guard.admit(ask("/page", method="OPTIONS"))
    assert isinstance(answered, Response)
    assert (answered.status, "Set-Cookie" in answered.headers) == (200, False)


def test_an_administrators_cookie_says_no_more_than_his_ticket() -> None:
    """Who he is, and each time it is asked whether that one may."""
    by_ticket = GUARD.admit(ask("/admin", "root@R"))
    assert isinstance(by_ticket, Admitted)
    cookie = {"cookie": by_ticket.headers["Set-Cookie"].partition(";")[0]}
    assert status(GUARD.admit(ask("/admin", headers=cookie))) == 200
    other = replace(GUARD, administrators=Administrators({"hdfs"}))
    assert status(other.admit(ask("/admin", headers=cookie))) == 403


@pytest.mark.parametrize("who", ["garbage", "bob@ELSEWHERE"])
def test_a_ticket_that_is_not_taken_is_not_asked_for_again(who: str) -> None:
    refused = GUARD.admit(ask("/mine", who))
    assert isinstance(refused, Response)
    assert refused.status == 403
    assert "WWW-Authenticate" not in refused.headers
    assert refused.headers["Set-Cookie"].startswith("hadoop.auth=;")


def test_a_further_round_is_answered_by_the_librarys_token() -> None:
    refused = GUARD.admit(ask("/mine", "more"))
    assert isinstance(refused, Response)
    assert (refused.status, refused.headers["WWW-Authenticate"]) == (401, "Negotiate Z28gb24=")


@pytest.mark.parametrize("name", ["delegation", "Delegation"])
def test_a_token_passes_to_who_looks_at_it_and_nowhere_else(name: str) -> None:
    for path in ("/webhdfs/v1/", "/token"):
        admitted = GUARD.admit(ask(path, target=f"{path}?{name}=x"))
        assert isinstance(admitted, Admitted)
        assert admitted.request.proven is None
    for path in ("/mine", "/page", "/admin", "/image"):
        assert status(GUARD.admit(ask(path, target=f"{path}?{name}=x"))) == 401
    # What the page takes counts, which is the first value.
    for query in (f"{name}=", f"delegatioN=&{name}=x", f"{name}=x&a=%FF"):
        assert status(GUARD.admit(ask("/webhdfs/v1/", target=f"/webhdfs/v1/?{query}"))) == 401


def test_open_pages_are_open_and_what_depends_on_a_user_is_not() -> None:
    open_guard = replace(GUARD, pages_are_open=True)
    assert {path: status(open_guard.admit(ask(path))) for path in TABLE} == {
        "/page": 200,
        "/figures": 200,
        "/mine": 401,
        "/admin": 401,
        "/webhdfs/v1": 401,
        "/image": 401,
        "/token": 403,
    }
    closed = replace(open_guard, figures_need_admin=True)
    assert [status(closed.admit(ask("/figures", who))) for who in (None, "a@R", "root@R")] == [
        *(401, 403, 200)
    ]


def test_a_browser_reads_a_page_and_nothing_of_a_request_is_run_in_it() -> None:
    refused = GUARD.admit(ask("/mine", "bob<script>@ELSEWHERE", method="GET"))
    assert isinstance(refused, Response)
    asked = ask("/mine", "bob<script>@ELSEWHERE")
    page = GUARD.admit(replace(asked, headers={**asked.headers, "accept": "text/html"}))
    assert isinstance(page, Response)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"<script>" not in page.body
    assert b"&lt;script&gt;" in page.body


def test_a_browser_without_kerberos_reads_what_to_do() -> None:
    """For the host that it asked for, and the one that tickets are for."""
    headers = {"accept": "text/html,*/*", "host": "10.0.0.7:9870"}
    page = GUARD.admit(ask("/page", headers=headers))
    assert isinstance(page, Response)
    assert (page.status, page.headers["WWW-Authenticate"]) == (401, "Negotiate")
    text = page.body.decode()
    for said in (
        "asks by SPNEGO (Negotiate) who you are: no ticket was shown.",
        "kinit USER@R.",
        "network.negotiate-auth.trusted-uris = host.",
        "AuthServerAllowlist = host,",
        "Ask for host and not for 10.0.0.7: tickets are for the name in the server&#x27;s "
        "principal, HTTP/host@R.",
        "curl --negotiate -u : http://host:9870/",
        "/health is open to everybody.",
    ):
        assert said in text
    named = GUARD.admit(ask("/page", headers={**headers, "host": "HOST:9870"}))
    assert isinstance(named, Response)
    assert "and not for" not in named.body.decode()
    program = GUARD.admit(ask("/page"))
    assert isinstance(program, Response)
    assert program.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert b"kinit USER@R." in program.body


def test_no_secret_is_shown() -> None:
    request = ask("/mine", "alice@R", query={"delegation": "planted"}, target="/?token=planted")
    admitted = GUARD.admit(request)
    for shown in (repr(request), repr(admitted), repr(GUARD)):
        assert "planted" not in shown
        assert "hadoop.auth" not in shown
        assert "YWxpY2VAUg" not in shown


def test_without_a_principal_only_what_is_open_is_answered() -> None:
    guard = ClosedGuard("the.key", GUARD.rules)
    for path in ("/health", "/ready", "/static/live.js"):
        assert isinstance(guard.admit(ask(path)), Admitted)
    for path in ("/", "/jmx", "/webhdfs/v1/", "/nothing"):
        refused = guard.admit(ask(path, "hdfs@R", target=f"{path}?delegation=x"))
        assert isinstance(refused, Response)
        assert refused.status == 403
        assert b"the.key is not set" in refused.body


# -- no address without a rule -----------------------------------------------------

ROOT = Path(howdah.__file__).parent


def addresses(folder: str) -> Iterator[str]:
    """Each address that a module of a folder names by a constant, or compares a path with."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and "path" in ast.unparse(node.left).rpartition("."):
                for constant in ast.walk(node):
                    if isinstance(constant, ast.Constant) and str(constant.value)[:1] == "/":
                        yield str(constant.value)
        for node in tree.body:
            if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
                continue
            name, value = node.target.id, node.value
            is_address = name.endswith("PATH") or name in ("RAW", "PREFIX")
            if is_address and isinstance(value, ast.Constant) and str(value.value).startswith("/"):
                yield str(value.value)


def test_every_address_has_a_rule() -> None:
    """What has none is not answered by a secured server: a new page comes here first."""
    shared = set(addresses("web"))
    of_namenode = {*addresses("namenode/server"), *addresses("namenode/service/monitoring")}
    assert {"/jmx", "/webhdfs/v1", "/logs/text", "/getJournal", "/status.json"} <= shared
    assert {"/fsck", "/startupProgress", "/topology"} <= of_namenode
    assert {each for each in shared if RULES.of(each) is None} == {"/getJournal"}
    assert journalnode.RULES.of("/getJournal") is Rule.SERVERS
    assert {each for each in of_namenode if RULES.of(each) is None} == set()
    for server, rules in (
        ("datanode/control", datanode.RULES),
        ("journalnode", journalnode.RULES),
        ("failover", AccessRules({})),
        ("gateway", gateway.RULES),
        ("router", router.RULES),
    ):
        found = set(addresses(server))
        if server == "gateway":
            # The gateway for S3 asks for signatures; below this it shows health and figures to all.
            found -= {"/_howdah"}
        assert {each for each in found if rules.of(each) is None} == set()


def test_what_depends_on_a_user_is_never_open() -> None:
    assert {path for path, rule in RULES.table.items() if rule is Rule.OPEN} == {
        *("/health", "/ready", "/isActive", "/static/"),
        # Where people log in; with Kerberos there are no such pages.
        *("/login", "/logout", "/login/openid", "/login/openid/callback"),
    }
    assert (RULES.of("/fsck"), RULES.of("/webhdfs/v1/a")) == (Rule.USER, Rule.FILES)
    assert datanode.RULES.of("/webhdfs/v1/a") is Rule.TOKEN
    assert gateway.RULES.of("/webhdfs/v1/a") is Rule.FILES


def test_a_server_that_is_confined_reads_pages_and_nothing_else() -> None:
    """Its short name is an administrator's here, as `auth_to_local` often has it."""
    guard = replace(GUARD, prover=replace(PROVER, user_of=lambda principal: "hdfs"))
    assert isinstance(guard.admit(ask("/page", "dn/host@R")), Admitted)
    for path in ("/mine", "/admin", "/webhdfs/v1/file", "/image"):
        refused = guard.admit(ask(path, "dn/host@R"))
        assert isinstance(refused, Response)
        assert refused.status == 403
        assert b"dn/host@R is a server" in refused.body
        if path != "/image":
            assert isinstance(guard.admit(ask(path, "nn/host@R")), Admitted)
    strict = replace(guard, figures_need_admin=True)
    assert isinstance(strict.admit(ask("/figures", "dn/host@R")), Response)
    assert isinstance(strict.admit(ask("/figures", "nn/host@R")), Admitted)


# -- while a cluster changes over --------------------------------------------------

CHANGING = replace(GUARD, takes_simple=True)


@pytest.mark.parametrize("path", ["/page", "/mine", "/webhdfs/v1/a", "/admin", "/image", "/token"])
def test_during_a_change_who_shows_nothing_is_let_in_as_nobody(path: str) -> None:
    request = ask(path, guard=CHANGING)
    assert CHANGING.admit(request) == Admitted(request)
    assert request.proven is None
    assert status(CHANGING.admit(ask("/nowhere"))) == 404


@pytest.mark.parametrize(
    ("path", "who", "expected"),
    [
        ("/page", "alice@R", 200),
        ("/page", "alice@ELSEWHERE", 403),
        ("/page", "forged", 403),
        ("/admin", "alice@R", 403),
        ("/image", "alice@R", 403),
        ("/webhdfs/v1/a", "dn/host@R", 403),
    ],
)
def test_during_a_change_a_ticket_counts_as_ever(path: str, who: str, expected: int) -> None:
    assert status(CHANGING.admit(ask(path, who))) == expected
    assert status(GUARD.admit(ask(path, who))) == expected


def test_during_a_change_a_cookie_that_is_over_asks_for_a_ticket() -> None:
    over = ask("/page", headers={"cookie": "hadoop.auth=u=alice&s=x"})
    for guard in (CHANGING, GUARD):
        assert status(guard.admit(over)) == 401


def test_during_a_change_who_asks_to_be_asked_is_asked() -> None:
    """Hadoop's clients begin with OPTIONS, and show their ticket when that is refused; those
    without Kerberos have their name in it."""
    bare = ask("/webhdfs/v1/a", method="OPTIONS")
    answer = CHANGING.admit(bare)
    assert isinstance(answer, Response)
    assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Negotiate")
    assert status(CHANGING.admit(replace(bare, query={"user.name": "alice"}))) == 200
