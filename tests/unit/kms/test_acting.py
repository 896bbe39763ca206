"""For whom one acts at a key server, who may be named by his principal."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import KMS_DELEGATION, Token
from howdah.gateway.tokens import TokensInMemory
from howdah.kms.pages import KeyPages
from howdah.kms.service import KeyService
from howdah.kms.state.access import KeyAccess
from howdah.kms.tokens import TokenTimes
from howdah.protocol.rpc.proven import KERBEROS, Proven
from howdah.protocol.sasl.auth_to_local import parse_rules, short_name
from howdah.runtime.users.impersonation import OnThread
from howdah.runtime.users.proxy_users import ProxyUsers
from howdah.security.server_tokens import ServerTokens
from howdah.web.http import Request
from tests.unit.kms.test_service import Store

HIVE = Proven(KERBEROS, "hive", "hive/h@EXAMPLE.COM")
LISTS = {
    "hadoop.kms.blacklist.GET_KEYS": "hdfs",
    "hadoop.kms.acl.GET_KEYS": "*",
}
RULES = parse_rules("RULE:[1:$1@$0](root@EXAMPLE.COM)s/.*/hdfs/ DEFAULT")
TIMES = TokenTimes(renewal_s=100, lifetime_s=1000, key_s=500, scan_s=50)


def user_of(name: str) -> str:
    return short_name(name, RULES, "EXAMPLE.COM")


class Pages:
    """Of a server whose `hive` may act for those of a group, and for `hdfs`."""

    def __init__(self) -> None:
        rules = ProxyUsers.parse(
            [("p.hive.groups", "staff"), ("p.hive.users", "hdfs"), ("p.hive.hosts", "*")], "p."
        )
        store = Store()
        access = KeyAccess(LISTS.items(), lambda user: [])
        self.pages = KeyPages(
            KeyService(store, lambda: access),
            store,
            ServerTokens(TIMES, TokensInMemory(), KMS_DELEGATION, user_of),
            OnThread(rules, self.groups),
            short_name=user_of,
        )

    @staticmethod
    def groups(user: str) -> Sequence[str]:
        return ["staff"] if user == "alice" else []

    def ask(self, path: str) -> tuple[int, bytes]:
        target = f"/kms/v1/{path}"
        request = Request(
            "GET", target.partition("?")[0], peer="10.0.0.1", target=target, proven=HIVE
        )
        answered = self.pages.called(request, b"")
        return answered.status, answered.body


@pytest.fixture
def pages() -> Pages:
    return Pages()


@pytest.mark.parametrize("name", ["root@EXAMPLE.COM", "hdfs@EXAMPLE.COM", "hdfs%2Fh@EXAMPLE.COM"])
def test_who_is_acted_for_is_known_by_his_short_name(pages: Pages, name: str) -> None:
    """A list that bars a user bars him by whichever name."""
    status, said = pages.ask(f"keys/names?doas={name}")
    assert (status, b"User:hdfs not allowed" in said) == (403, True)


def test_rules_are_asked_about_the_short_name(pages: Pages) -> None:
    assert pages.ask("keys/names?doas=alice@EXAMPLE.COM")[0] == 200
    status, said = pages.ask("keys/names?doas=bob@EXAMPLE.COM")
    assert (status, b"not allowed to impersonate bob" in said) == (403, True)


@pytest.mark.parametrize("name", ["alice@ELSEWHERE", "a%2Fb%2Fc"])
def test_nobody_acts_for_who_is_nobody(pages: Pages, name: str) -> None:
    assert pages.ask(f"keys/names?doas={name}")[0] == 400


def test_an_empty_name_is_none(pages: Pages) -> None:
    assert pages.ask("keys/names?doas=")[0] == 200


def test_a_token_is_of_the_short_name_that_was_judged(pages: Pages) -> None:
    said = pages.ask("?op=GETDELEGATIONTOKEN&renewer=yarn&doas=alice@EXAMPLE.COM")[1]
    token = Token.from_url_string(json.loads(said)["Token"]["urlString"])
    identifier = DelegationTokenIdentifier.decode(token.identifier)
    assert (identifier.owner, identifier.real_user) == ("alice", "hive")
