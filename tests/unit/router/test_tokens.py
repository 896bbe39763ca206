"""Delegation tokens of routers that share a state store, in a directory."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from howdah import errors
from howdah.formats.tokens.token import Token
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.proven import KERBEROS, TOKEN, Proven
from howdah.router.state.tokens import TokenTimes
from howdah.router.store.files import FileRecords
from howdah.router.store.state_store import KEYS, TOKENS, StateStore
from howdah.router.store.worker import StoreWorker
from howdah.router.tokens import RouterTokens
from howdah.security import delegation_tokens as rules

T = TypeVar("T")
DAY_S = 24 * 60 * 60
TIMES = TokenTimes(DAY_S, 7 * DAY_S, DAY_S, 3600)


class Routers:
    """Several on one store and one clock."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.now_s = 1_700_000_000

    def make(self) -> RouterTokens:
        store = StateStore(FileRecords(self.directory))
        store.prepare()
        store.prepare_for_tokens()
        return RouterTokens(
            StoreWorker(store),
            TIMES,
            lambda name: name.partition("@")[0],
            lambda: self.now_s * 1000,
        )

    def names(self, kind: str) -> list[str]:
        return FileRecords(self.directory).names(kind)


@pytest.fixture
def routers(tmp_path: Path) -> Routers:
    return Routers(tmp_path / "store")


def caller(user: str, method: str = KERBEROS, real_user: str | None = None) -> Caller:
    proven = Proven(method, real_user or user, f"{real_user or user}@R")
    return Caller(user, b"", 0, 0, "10.0.0.1", real_user=real_user, proven=proven)


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return asyncio.run(work())


def is_good(tokens: RouterTokens, token: Token) -> Coroutine[Any, Any, bool]:
    async def look() -> bool:
        try:
            return await tokens.password_of(token.identifier) == token.password
        except errors.InvalidToken:
            return False

    return look()


def test_what_one_router_issues_another_one_knows_renews_and_cancels(routers: Routers) -> None:
    async def work() -> None:
        one, other = routers.make(), routers.make()
        token = await one.issue(caller("alice"), "alice")
        assert await is_good(other, token)
        routers.now_s += DAY_S - 1
        assert await other.renew(caller("alice"), token) == (routers.now_s + DAY_S) * 1000
        routers.now_s += DAY_S - 1
        assert await is_good(one, token)
        await other.cancel(caller("alice"), token)
        assert not await is_good(one, token)
        assert not await is_good(other, token)
        with pytest.raises(errors.InvalidToken, match="Token not found"):
            await one.cancel(caller("alice"), token)
        with pytest.raises(errors.InvalidToken, match="unknown token"):
            await one.renew(caller("alice"), token)

    run(work)


def test_tokens_outlive_the_routers(routers: Routers) -> None:
    token = run(lambda: routers.make().issue(caller("alice"), "alice"))
    assert run(lambda: is_good(routers.make(), token))


def test_a_token_ends_with_its_last_renewal_and_with_its_lifetime(routers: Routers) -> None:
    async def work() -> None:
        tokens = routers.make()
        token = await tokens.issue(caller("alice"), "alice")
        for _ in range(7):
            assert await is_good(tokens, token)
            routers.now_s += DAY_S - 1
            until_ms = await tokens.renew(caller("alice"), token)
        assert until_ms == rules.read_identifier(token.identifier).max_date_ms
        routers.now_s += DAY_S
        assert not await is_good(tokens, token)
        with pytest.raises(errors.InvalidToken, match="expired"):
            await tokens.renew(caller("alice"), token)

    run(work)


def test_a_token_that_nobody_renews_ends_and_is_removed_by_any_router(routers: Routers) -> None:
    async def work() -> None:
        one, other = routers.make(), routers.make()
        token = await one.issue(caller("alice"), "rm")
        routers.now_s += DAY_S - 10
        younger = await one.issue(caller("alice"), "rm")
        routers.now_s += 11
        assert not await is_good(one, token)
        await other.sweep()
        assert len(routers.names(TOKENS)) == 1
        assert await is_good(one, younger)

    run(work)


def test_keys_are_rolled_and_stay_until_their_last_token_is_over(routers: Routers) -> None:
    async def work() -> None:
        one, other = routers.make(), routers.make()
        first = await one.issue(caller("alice"), "alice")
        assert await is_good(other, first)
        (one_name,) = routers.names(KEYS)
        number = int(one_name)
        assert (await other.issue(caller("bob"), "bob")).identifier != first.identifier
        routers.now_s += DAY_S - 1
        await one.renew(caller("alice"), first)
        routers.now_s += 1
        second = await other.issue(caller("alice"), "alice")
        assert set(routers.names(KEYS)) == {one_name, str(number + 1)}
        ids = [rules.read_identifier(each.identifier).master_key_id for each in (first, second)]
        assert ids == [number, number + 1]
        assert await is_good(one, second)
        assert await is_good(routers.make(), first)
        routers.now_s += 7 * DAY_S + 1
        await one.sweep()
        assert set(routers.names(KEYS)) == {str(number + 1), str(number + 2)}

    run(work)


@pytest.mark.parametrize("method", [TOKEN, "SIMPLE"])
def test_who_shows_no_ticket_gets_no_token_and_renews_none(routers: Routers, method: str) -> None:
    async def work() -> None:
        tokens = routers.make()
        token = await tokens.issue(caller("alice"), "alice")
        with pytest.raises(errors.HowdahError, match="issued only with kerberos"):
            await tokens.issue(caller("alice", method), "alice")
        with pytest.raises(errors.HowdahError, match="renewed only with kerberos"):
            await tokens.renew(caller("alice", method), token)

    run(work)


def test_a_token_says_for_whom_and_by_whom_it_is(routers: Routers) -> None:
    async def work() -> None:
        tokens = routers.make()
        token = await tokens.issue(caller("bob", real_user="oozie"), "rm/host@R")
        said = rules.read_identifier(token.identifier)
        assert (said.owner, said.real_user, said.renewer) == ("bob", "oozie@R", "rm/host")

    run(work)


def test_another_identifier_with_the_number_of_a_token_is_none(routers: Routers) -> None:
    async def work() -> None:
        tokens = routers.make()
        token = await tokens.issue(caller("alice"), "alice")
        said = rules.read_identifier(token.identifier)
        made = type(said)(
            "root", *(getattr(said, name) for name in said.__slots__ if name != "owner")
        )
        with pytest.raises(errors.InvalidToken, match="can't be found"):
            await tokens.password_of(made.encode())

    run(work)


def test_keys_and_tokens_can_be_read_by_their_owner_alone(routers: Routers) -> None:
    run(lambda: routers.make().issue(caller("alice"), "alice"))
    for kind in (TOKENS, KEYS):
        directory = routers.directory / kind
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert {stat.S_IMODE(each.stat().st_mode) for each in directory.iterdir()} == {0o600}


def test_a_directory_of_keys_that_others_can_read_is_refused(routers: Routers) -> None:
    (routers.directory / KEYS).mkdir(parents=True)
    (routers.directory / KEYS).chmod(0o755)
    with pytest.raises(PermissionError, match="chmod 700"):
        routers.make()


def test_a_store_that_cannot_be_asked_is_another_time_and_no_refusal(routers: Routers) -> None:
    async def work() -> None:
        tokens = routers.make()
        token = await tokens.issue(caller("alice"), "alice")
        (path,) = (routers.directory / TOKENS).iterdir()
        path.write_bytes(b"scrap")
        with pytest.raises(errors.RetriableError, match="state store"):
            await tokens.password_of(token.identifier)

    run(work)


def test_a_damaged_key_is_not_shown(routers: Routers) -> None:
    async def work() -> None:
        token = await routers.make().issue(caller("alice"), "alice")
        (path,) = (routers.directory / KEYS).iterdir()
        path.write_bytes(b"c2VjcmV0")
        with pytest.raises(errors.RetriableError) as told:
            await routers.make().password_of(token.identifier)
        assert "secret" not in str(told.value) + str(told.value.__cause__)
        assert "c2VjcmV0" not in str(told.value.__cause__)

    run(work)


def test_damaged_records_are_named_and_stop_nothing(
    routers: Routers, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        tokens = routers.make()
        first = await tokens.issue(caller("alice"), "alice")
        damaged_token, damaged_key = TOKENS + "/0", f"{KEYS}/{(1 << 30) + 7}"
        for name in (damaged_token, damaged_key):
            (routers.directory / name).write_bytes(b"scrap")
            (routers.directory / name).chmod(0o600)
        routers.now_s += 8 * DAY_S
        other = routers.make()
        await other.prepare()
        await other.sweep()
        assert routers.names(TOKENS) == ["0"], "what is over was removed"
        assert damaged_token in caplog.text
        assert damaged_key in caplog.text
        second = await other.issue(caller("alice"), "alice")
        key_id = rules.read_identifier(second.identifier).master_key_id
        assert key_id == (1 << 30) + 8, "above the names of all, readable or not"
        assert rules.read_identifier(first.identifier).master_key_id < key_id

    run(work)


def test_a_key_that_is_removed_is_revoked_with_its_tokens_and_another_is_made(
    routers: Routers,
) -> None:
    async def work() -> None:
        tokens, other = routers.make(), routers.make()
        revoked = await tokens.issue(caller("alice"), "alice")
        assert await is_good(other, revoked)
        (path,) = (routers.directory / KEYS).iterdir()
        path.unlink()
        assert not await is_good(tokens, revoked)
        assert not await is_good(other, revoked)
        good = await tokens.issue(caller("alice"), "alice")
        assert await is_good(other, good)
        assert not await is_good(other, revoked)
        (path,) = (routers.directory / KEYS).iterdir()
        path.unlink()
        await other.sweep()
        assert len(routers.names(KEYS)) == 1

    run(work)


def test_the_ids_of_keys_begin_anywhere(tmp_path: Path) -> None:
    async def work() -> None:
        for number in range(4):
            await Routers(tmp_path / str(number)).make().prepare()

    run(work)
    assert (
        len({name for number in range(4) for name in Routers(tmp_path / str(number)).names(KEYS)})
        > 1
    )


def test_a_router_knows_by_its_keys_which_tokens_may_be_true(routers: Routers) -> None:
    async def work() -> None:
        one, other = routers.make(), routers.make()
        token = await one.issue(caller("alice"), "alice")
        assert one.known_password_of(token.identifier) == token.password
        assert other.known_password_of(token.identifier) is None, "it has read no key yet"
        await other.prepare()
        assert other.known_password_of(token.identifier) == token.password
        named = rules.read_identifier(token.identifier)
        forged = replace(named, owner="root").encode()
        assert other.known_password_of(forged) != token.password
        for identifier in (b"", b"nonsense", replace(named, master_key_id=7).encode()):
            assert other.known_password_of(identifier) is None
        # It decides over nothing: a token that is cancelled is good no more.
        await one.cancel(caller("alice"), token)
        assert other.known_password_of(token.identifier) == token.password
        assert not await is_good(other, token)

    run(work)


def test_a_key_that_is_revoked_is_forgotten_with_the_next_sweep(routers: Routers) -> None:
    async def work() -> None:
        tokens = routers.make()
        token = await tokens.issue(caller("alice"), "alice")
        for name in routers.names(KEYS):
            FileRecords(routers.directory).remove(KEYS, name)
        await tokens.sweep()
        assert tokens.known_password_of(token.identifier) is None

    run(work)
