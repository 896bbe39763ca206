"""Who asks a key server, and for whom, without its port."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.formats.tokens.token import KMS_DELEGATION, Token
from howdah.kms.key_file import KeyFile
from howdah.kms.pages import KeyPages
from howdah.kms.service import KeyService
from howdah.kms.state.access import KeyAccess
from howdah.kms.token_records import TokenRecords
from howdah.kms.tokens import TokensInFiles, TokenTimes
from howdah.protocol.rpc.proven import KERBEROS, TOKEN, Proven
from howdah.runtime.users.impersonation import OnThread
from howdah.runtime.users.proxy_users import ProxyUsers
from howdah.security.server_tokens import ServerTokens
from howdah.web.http import Request

PASSPHRASE = "a passphrase that is long"
HIVE = Proven(KERBEROS, "hive", "hive@REALM")


class Secrets:
    """As a file of secrets."""

    def __init__(self) -> None:
        self.there: dict[int, DelegationKey] = {}

    def entries(self) -> Mapping[int, DelegationKey]:
        return dict(self.there)

    def change(self, edit: Callable[[dict[int, DelegationKey]], None]) -> None:
        edit(self.there)


@pytest.fixture
def pages(tmp_path: Path) -> KeyPages:
    """Only hive may list keys, and acts for everybody."""
    store = KeyFile(tmp_path / "keys", PASSPHRASE)
    access = KeyAccess([("hadoop.kms.acl.GET_KEYS", "hive")], lambda user: [])
    tokens = ServerTokens(
        TokenTimes(),
        TokensInFiles(Secrets(), TokenRecords(tmp_path / "keys.tokens")),
        KMS_DELEGATION,
        lambda name: name.partition("@")[0],
    )
    prefix = "hadoop.kms.proxyuser."
    rules = ProxyUsers.parse([(f"{prefix}hive.hosts", "*"), (f"{prefix}hive.users", "*")], prefix)
    service = KeyService(store, lambda: access)
    return KeyPages(service, store, tokens, OnThread(rules, lambda user: []))


def ask(pages: KeyPages, query: str, proven: Proven, path: str = "/keys/names") -> tuple[int, Any]:
    whole = f"/kms/v1{path}"
    request = Request("GET", whole, {}, {}, "127.0.0.1", target=f"{whole}?{query}", proven=proven)
    answer = pages.called(request, b"")
    return answer.status, json.loads(answer.body)


@pytest.mark.parametrize("name", ["doAs", "doas", "DOAS"])
def test_who_acts_for_a_user_has_the_rights_of_that_user(pages: KeyPages, name: str) -> None:
    assert ask(pages, "", HIVE) == (200, [])
    status, said = ask(pages, f"{name}=alice", HIVE)
    assert status == 403
    assert "User:alice not allowed" in said["RemoteException"]["message"]


def test_a_token_for_a_user_is_the_users(pages: KeyPages) -> None:
    status, said = ask(pages, "op=GETDELEGATIONTOKEN&renewer=yarn&doAs=alice", HIVE, "/")
    assert status == 200
    token = Token.from_url_string(said["Token"]["urlString"])
    made = DelegationTokenIdentifier.decode(token.identifier)
    assert (made.owner, made.real_user) == ("alice", "hive")


def test_who_has_a_token_acts_for_nobody(pages: KeyPages) -> None:
    by_token = Proven(TOKEN, "hive", "hive")
    assert ask(pages, "doAs=hive", by_token) == (200, [])
    status, said = ask(pages, "doAs=bob", by_token)
    assert status == 403
    assert "good for hive alone, not for bob" in said["RemoteException"]["message"]
