"""`/fsck`: who is let in, whose turn it is, and what is sent when a run breaks off."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import cast

import pytest

from howdah import errors
from howdah.namenode.server.process.fsck_pages import FsckPages
from howdah.namenode.service.fsck.options import Options
from howdah.namenode.service.fsck.report import Fsck
from howdah.protocol.rpc.proven import Proven
from howdah.runtime import unexpected_errors
from howdah.runtime.users.names import real_user_of
from howdah.web.channel import Channel
from howdah.web.http import Request, Response
from howdah.web.server import Exchange, Stream


class Runs:
    """In place of fsck: two pieces with the name of the user."""

    error: Exception | None = None
    closed = 0
    allowed = True

    def run(self, user: str, address: str, options: Options) -> Generator[str, None, bool]:
        try:
            yield f"{user} 1"
            yield ""
            if self.error is not None:
                raise self.error
            yield f"{user} 2"
            return self.allowed
        finally:
            self.closed += 1


class World:
    """The loop, the log and the groups of users, all of them by hand."""

    def __init__(self) -> None:
        self.runs = Runs()
        self.loop: deque[Callable[[], None]] = deque()
        self.durable = True
        self.held: list[Callable[[], None]] = []
        self.refused: errors.HowdahError | None = None
        self.audited: list[tuple[str, str, str, bool]] = []
        self.rules: list[tuple[str, str]] = []
        self.pages = FsckPages(
            cast(Fsck, self.runs),
            self.loop.append,
            lambda act: act() if self.durable else self.held.append(act),
            lambda user, go_on: go_on(self.refused),
            self,
            lambda *told: self.audited.append(told),
        )

    def authorize(
        self,
        real_user: str,
        user: str,
        address: str,
        done: Callable[[errors.HowdahError | None], None],
    ) -> None:
        """Hive may act for others, after a while."""
        self.rules.append((real_user, user))
        refusal = errors.AuthorizationFailed(f"not for {real_user}")
        self.loop.append(lambda: done(None if real_user == "hive" else refusal))

    def ask(
        self, query: dict[str, str] | None = None, **headers: str
    ) -> Response | Stream | Exchange:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.pages.answer(Request("GET", "/fsck", query or {}, named))

    def begin(self, user: str) -> list[tuple[bytes | None, bool]]:
        """What a reader gets who takes everything at once."""
        stream = self.ask({"ugi": user})
        assert not isinstance(stream, Response | Exchange)
        got: list[tuple[bytes | None, bool]] = []

        def ready(data: bytes | None, is_last: bool) -> None:
            got.append((data, is_last))
            if is_last:
                stream.stop()
            else:
                stream.next(ready)

        stream.next(ready)
        return got

    def turn(self) -> None:
        self.loop.popleft()()


@pytest.fixture
def world() -> World:
    return World()


def test_a_run_is_sent_in_chunks_to_its_end(world: World) -> None:
    got = world.begin("ann")
    while world.loop:
        world.turn()
    assert got == [
        (b"ann 1", False),
        (b"", False),
        (b"ann 2", False),
        (b"", True),
    ]


def test_one_slice_is_done_at_a_turn_of_the_loop_and_runs_take_turns(world: World) -> None:
    got = [world.begin(user) for user in ("ann", "bob")]
    assert len(world.loop) == 1
    world.turn()
    assert [len(pieces) for pieces in got] == [1, 0]
    world.turn()
    assert [len(pieces) for pieces in got] == [1, 1]
    while world.loop:
        assert len(world.loop) == 1
        world.turn()
    assert [pieces[-1] for pieces in got] == [(b"", True)] * 2


def test_text_waits_until_what_it_has_seen_is_durable(world: World) -> None:
    world.durable = False
    got = world.begin("ann")
    world.turn()
    assert got == []
    assert not world.loop, "no further slice is made meanwhile"
    world.held.pop()()
    assert got == [(b"ann 1", False)]


def test_a_defect_breaks_off_without_the_end_of_the_body(world: World) -> None:
    world.runs.error = RuntimeError("a defect")
    before = unexpected_errors.seen["fsck"]
    got = world.begin("ann")
    while world.loop:
        world.turn()
    assert got[-1] == (None, True)
    assert unexpected_errors.seen["fsck"] == before + 1


def test_a_run_whose_reader_has_gone_is_closed(world: World) -> None:
    stream = world.ask()
    assert not isinstance(stream, Response | Exchange)
    stream.next(lambda data, is_last: None)
    world.turn()
    stream.next(lambda data, is_last: pytest.fail("nobody waits for it"))
    stream.stop()
    world.turn()
    assert world.runs.closed == 1


def test_nobody_is_served_whose_groups_cannot_be_found(world: World) -> None:
    world.refused = errors.RemoteError("the directory service hangs")
    (said, is_last), *more = world.begin("ann")
    assert said is not None
    assert (b"the directory service hangs" in said, is_last, more) == (True, True, [])


@pytest.mark.parametrize("header", ["origin", "referer", "sec_fetch_site"])
@pytest.mark.parametrize("option", ["delete", "move", "replicate"])
def test_a_page_of_another_server_changes_nothing(world: World, option: str, header: str) -> None:
    refused = world.ask({option: "1"}, **{header: "http://elsewhere"})
    assert isinstance(refused, Response)
    assert refused.status == 403
    assert not isinstance(world.ask({option: "1"}), Response)
    assert not isinstance(world.ask({"files": "1"}, **{header: "http://elsewhere"}), Response)


@pytest.mark.parametrize("agent", ["Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101", "Opera/9.80"])
def test_a_browser_changes_nothing_where_it_does_not_say_what_led_it_there(
    world: World, agent: str
) -> None:
    # Over plain HTTP browsers keep that to themselves, if a page wants them to.
    refused = world.ask({"delete": "1"}, user_agent=agent)
    assert isinstance(refused, Response)
    assert refused.status == 403
    typed = {"user_agent": agent, "sec_fetch_site": "none"}
    for run in (
        world.ask({"delete": "1"}, **typed),
        world.ask({"files": "1"}, user_agent=agent),
        world.ask({"delete": "1"}, user_agent="curl/8.5.0"),
    ):
        assert not isinstance(run, Response)


@pytest.mark.parametrize(
    "query", [{"startblockafter": "x"}, {"doas": "a\nb"}, {"doas": "x", "ugi": "\x00"}]
)
def test_wrong_numbers_and_names_are_refused(world: World, query: dict[str, str]) -> None:
    refused = world.ask(query)
    assert isinstance(refused, Response)
    assert (refused.status, world.rules) == (400, [])


@pytest.mark.parametrize(
    ("query", "real_user"),
    [
        ({"ugi": "hive,staff", "doas": "joe"}, "hive"),
        ({"user.name": "hive", "doAs": "joe"}, "hive"),
        ({"doas": "joe"}, "dr.who"),
    ],
)
def test_a_run_for_another_begins_when_it_is_allowed(
    world: World, query: dict[str, str], real_user: str
) -> None:
    found = world.ask(query)
    assert isinstance(found, Exchange)
    assert world.rules == [(real_user, "joe")]
    world.turn()
    found.run(cast(Channel, SimpleNamespace(has_left=lambda: False)))
    answer = found.done()
    if real_user != "hive":
        assert isinstance(answer, Response)
        assert (answer.status, answer.body) == (403, f"not for {real_user}\n".encode())
        return
    assert answer is not None
    assert not isinstance(answer, Response)
    got: list[bytes | None] = []
    answer.next(lambda data, is_last: got.append(data))
    world.turn()
    answer.stop()
    assert got == [b"joe 1"]
    assert [(user, real_user_of(user)) for user, *_ in world.audited] == [("joe", "hive")]


def test_an_empty_doas_is_none(world: World) -> None:
    assert not isinstance(world.ask({"ugi": "ann", "doas": ""}), Response | Exchange)


def test_the_audit_log_hears_of_a_run_when_it_is_over(world: World) -> None:
    world.begin("ann")
    world.turn()
    assert world.audited == []
    while world.loop:
        world.turn()
    world.runs.allowed = False
    stream = world.ask({"ugi": "bob", "path": "/b", "blockId": "blk_1 blk_2"})
    assert not isinstance(stream, Response | Exchange)
    stream.next(lambda data, is_last: None)
    world.turn()
    stream.stop()
    assert world.audited == [
        ("ann", "", "/", True),
        # Whoever it was for went away before he was refused.
        ("bob", "", "blocksIds=[blk_1, blk_2]", True),
    ]


def test_a_refusal_is_no_run_that_was_allowed(world: World) -> None:
    world.runs.allowed = False
    world.begin("mallory")
    while world.loop:
        world.turn()
    assert world.audited == [("mallory", "", "/", False)]


def test_who_is_not_known_checks_nothing(world: World) -> None:
    world.refused = errors.RemoteError("no groups today")
    world.begin("ann")
    assert world.audited == []


def test_who_has_proven_to_ask_is_asked_for_by_no_other_name(world: World) -> None:
    proven = Proven("KERBEROS", "ann", "ann@R")

    def ask(**query: str) -> Response | Stream | Exchange:
        return world.pages.answer(Request("GET", "/fsck", query, proven=proven))

    for query in ({"ugi": "hdfs"}, {"user.name": "hdfs"}, {"ugi": "hdfs", "doas": "ann"}):
        refused = ask(**query)
        assert isinstance(refused, Response)
        assert refused.status == 403
    for query in ({}, {"ugi": "ann"}, {"ugi": "ann,users"}):
        stream = ask(**query)
        assert not isinstance(stream, Response | Exchange)
        got: list[tuple[bytes | None, bool]] = []
        stream.next(lambda data, last, got=got: got.append((data, last)))  # type: ignore[misc]
        stream.next(lambda data, last, got=got: got.append((data, last)))  # type: ignore[misc]
        while world.loop:
            world.turn()
        assert got[0] == (b"ann 1", False)
    assert isinstance(ask(doas="bob"), Exchange)
    assert world.rules == [("ann", "bob")]
