"""A namenode becomes active and stops being active, on a real directory."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
import uvloop
from google.protobuf.message import Message

from howdah import errors
from howdah.config import Configuration, keys
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import load
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.service.calls.new_inodes import create_missing_parents
from howdah.namenode.service.ha.roles import Roles
from howdah.namenode.service.ha.states import HAContext, HAState
from howdah.namenode.service.protocols import client
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.service import Deferred

T = TypeVar("T")
ROOT = "root"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "name"


def run(root: Path, scenario: Callable[[Namenode], Awaitable[T]]) -> T:
    """Run a scenario with a namenode that was loaded and has no role yet."""
    conf = Configuration(
        {
            keys.FS_DEFAULTFS.name: "hdfs://127.0.0.1:0",
            keys.DFS_NAMENODE_NAME_DIR.name: str(root),
            keys.HADOOP_USER_GROUP_STATIC_MAPPING_OVERRIDES.name: f"{ROOT}=",
            keys.DFS_NAMENODE_REDUNDANCY_INTERVAL_SECONDS.name: "0",
        }
    )
    if not root.exists():
        format_namenode(conf)

    async def main() -> T:
        loaded = load([root], [root])
        try:
            namenode = Namenode(conf, loaded)
            namenode.namesystem.safe_mode.leave(force=True)
            try:
                return await asyncio.wait_for(scenario(namenode), 30)
            finally:
                if namenode.log_writer.is_open:
                    namenode.roles.become(HAState.STOPPING)
        finally:
            for lock in loaded.locks:
                lock.release()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def call(namenode: Namenode, method: str, request: Message) -> object:
    body, user = request.SerializeToString(), namenode.namesystem.permissions.superuser
    return namenode.registry.dispatch(
        Call(Caller(user, b"", 1, 0, "127.0.0.1"), client.PROTOCOL, 1, method, body)
    )


def mkdir(namenode: Namenode, path: str) -> object:
    request = pb.MkdirsRequestProto(
        src=path, masked=types_pb2.FsPermissionProto(perm=0o755), createParent=True
    )
    return call(namenode, "mkdirs", request)


def on_disk(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.md5(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file()
    }


def log_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "journal"}


DUTIES = [
    "redundancy work",
    "cache planning",
    "pending answers",
    "lease recovery",
    "block warnings",
    "checkpoints",
    "edit log roller",
    "trash emptier",
    "lazy persist scrubber",
    "marks of a satisfier",
    "re-encryption",
    "delegation tokens",
]


def spy(namenode: Namenode) -> list[str]:
    """The duties of the active that have turns, in order."""
    turns: list[str] = []
    for duty in namenode.active.duties._duties:

        def turn(name: str = duty.name, work: Callable[[], object] = duty.turn) -> object:
            turns.append(name)
            return work()

        object.__setattr__(duty, "turn", turn)
    return turns


def test_an_active_namenode_has_all_duties(root: Path) -> None:
    async def scenario(namenode: Namenode) -> None:
        turns, before = spy(namenode), log_threads()
        namenode.tick()
        assert not turns, "before it is active it has none"
        namenode.roles.become(HAState.ACTIVE)
        namenode.tick()
        assert turns == DUTIES
        assert len(log_threads() - before) == 1

    run(root, scenario)


def test_after_it_was_active_no_duty_runs_and_nothing_is_written(root: Path) -> None:
    async def scenario(namenode: Namenode) -> None:
        threads = log_threads()
        namenode.roles.become(HAState.ACTIVE)
        mkdir(namenode, "/a")
        turns = spy(namenode)
        namenode.roles.become(HAState.STANDBY)
        before, last_txid = on_disk(root), namenode.namesystem.last_txid
        for _ in range(3):
            namenode.tick()
            await asyncio.sleep(0)  # a turn of the loop, for whatever the tick has begun
        assert not turns
        assert not any(map(namenode.active.duties.is_running, DUTIES))
        assert log_threads() <= threads
        assert (on_disk(root), namenode.namesystem.last_txid) == (before, last_txid)
        assert not any("inprogress" in name for name in before), "the segment has ended"
        with pytest.raises(AssertionError, match="only an active namenode"):
            create_missing_parents(  # whatever would make an edit
                namenode.namesystem,
                namenode.namesystem.permissions.identity("root"),
                namenode.namesystem.resolver.resolve("/x/y/z"),
                0o755,
                0,
            )

    run(root, scenario)


def test_a_standby_refuses_by_category(root: Path) -> None:
    async def scenario(namenode: Namenode) -> None:
        namenode.roles.become(HAState.STANDBY)
        for method, request, category in (
            ("getFileInfo", pb.GetFileInfoRequestProto(src="/"), "READ"),
            ("delete", pb.DeleteRequestProto(src="/a", recursive=True), "WRITE"),
            ("rollEdits", pb.RollEditsRequestProto(), "JOURNAL"),
        ):
            with pytest.raises(errors.StandbyError, match=f"category {category} is not supported"):
                call(namenode, method, request)
        state = call(namenode, "getHAServiceState", pb.HAServiceStateRequestProto())
        assert state == pb.HAServiceStateResponseProto(state="STANDBY")
        assert not namenode.log_writer.is_open

    run(root, scenario)


def test_an_observer_answers_reads_and_sends_writers_to_the_active(root: Path) -> None:
    async def scenario(namenode: Namenode) -> None:
        namenode.roles.become(HAState.STANDBY)
        namenode.roles.become(HAState.OBSERVER)
        call(namenode, "getFileInfo", pb.GetFileInfoRequestProto(src="/"))
        with pytest.raises(errors.ObserverRetryOnActive):
            mkdir(namenode, "/a")

    run(root, scenario)


def test_what_was_committed_is_in_the_log_when_the_role_ends_and_its_answers_leave(
    root: Path,
) -> None:
    async def scenario(namenode: Namenode) -> None:
        namenode.roles.become(HAState.ACTIVE)
        mkdir(namenode, "/a")
        left: list[str] = []
        barrier = namenode.log_writer._barrier
        assert barrier.must_wait()
        barrier.when_clear(lambda: left.append("/a"))
        namenode.roles.become(HAState.STANDBY)
        assert left == ["/a"]

    run(root, scenario)

    async def again(namenode: Namenode) -> bool:
        return namenode.namesystem.namespace.find("/a") is not None

    assert run(root, again)


def test_a_namenode_becomes_active_again_and_goes_on_with_its_log(root: Path) -> None:
    async def scenario(namenode: Namenode) -> None:
        for path in ("/a", "/b", "/c"):
            namenode.roles.become(HAState.ACTIVE)
            mkdir(namenode, path)
            namenode.roles.become(HAState.STANDBY)

    run(root, scenario)

    async def again(namenode: Namenode) -> list[str]:
        return [path for path in ("/a", "/b", "/c") if namenode.namesystem.namespace.find(path)]

    assert run(root, again) == ["/a", "/b", "/c"]


def test_calls_that_wait_for_datanodes_are_refused_when_the_role_ends(root: Path) -> None:
    async def scenario(namenode: Namenode) -> None:
        namenode.roles.become(HAState.ACTIVE)
        answer = Deferred()
        held = namenode.client._files.closes._held
        held[1] = [type("Held", (), {"answer": answer})()]
        told: list[object] = []
        answer.when_settled(told.append)
        namenode.roles.become(HAState.STANDBY)
        assert [type(outcome) for outcome in told] == [errors.StandbyError]

    run(root, scenario)


def test_who_waits_for_an_image_is_told_when_the_role_ends(root: Path) -> None:
    async def scenario(namenode: Namenode) -> None:
        namenode.roles.become(HAState.ACTIVE)
        namenode.namesystem.safe_mode.enter()
        answer = call(namenode, "saveNamespace", pb.SaveNamespaceRequestProto())
        assert isinstance(answer, Deferred)
        told: list[object] = []
        answer.when_settled(told.append)
        namenode.roles.become(HAState.STANDBY)
        assert [type(outcome) for outcome in told] == [errors.CheckpointFailed]
        refused = call(namenode, "saveNamespace", pb.SaveNamespaceRequestProto())
        assert isinstance(refused, Deferred)
        refused.when_settled(told.append)
        assert "not active" in str(told[1])

    run(root, scenario)


def test_a_log_that_cannot_be_begun_leaves_the_namenode_a_standby(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(namenode: Namenode) -> None:
        namenode.roles.become(HAState.STANDBY)

        def fail(*args: object, **options: object) -> None:
            raise OSError("no space left")

        with monkeypatch.context() as patched:
            patched.setattr("howdah.namenode.server.ha.log_writer.EditLog", fail)
            with pytest.raises(OSError, match="no space left"):
                namenode.roles.become(HAState.ACTIVE)
        assert namenode.roles.state is HAState.STANDBY
        with pytest.raises(errors.StandbyError):
            mkdir(namenode, "/a")
        namenode.roles.become(HAState.ACTIVE)
        mkdir(namenode, "/a")

    run(root, scenario)


def test_a_change_that_the_table_does_not_have_changes_nothing(root: Path) -> None:
    async def scenario(namenode: Namenode) -> None:
        namenode.roles.become(HAState.ACTIVE)
        with pytest.raises(errors.IllegalArgument, match="active cannot become observer"):
            namenode.roles.become(HAState.OBSERVER)
        mkdir(namenode, "/a")

    run(root, scenario)


class Watched:
    """A role that keeps what it answers to calls that wait."""

    def __init__(self, state: HAState) -> None:
        self.state = state
        self.refusals: list[errors.HowdahError] = []

    def start(self) -> None:
        """Nothing is begun."""

    tick = start

    def quiet(self, refusal: errors.HowdahError) -> None:
        self.refusals.append(refusal)

    stop = quiet


@pytest.mark.parametrize(
    ("others", "refusal"), [((), errors.RetriableError), ((HAState.STANDBY,), errors.StandbyError)]
)
def test_callers_of_a_namenode_that_stops_go_to_another_one_or_wait_for_it(
    others: tuple[HAState, ...], refusal: type[errors.HowdahError]
) -> None:
    active = Watched(HAState.ACTIVE)
    roles = Roles(HAContext(lambda: 0), [active, *(Watched(state) for state in others)])
    roles.become(HAState.ACTIVE)
    roles.become(HAState.STOPPING)
    assert {type(told) for told in active.refusals} == {refusal}
