"""A log that was one namenode's own becomes the shared log of several."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import uvloop

from howdah import errors
from howdah.config import Configuration, keys
from howdah.namenode.journal.shared_directory import SharedDirectoryJournal
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import load
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.server.process.shared_edits import initialize_shared_edits
from howdah.namenode.service.ha.states import HAState
from howdah.namenode.state.edit_log.journal import Batch
from tests.support.namenode_pair import Pair, become, mkdir, run


def alone(root: Path, scenario: Callable[[Namenode], Awaitable[None]]) -> None:
    """A namenode without others."""
    conf = Configuration(
        {keys.FS_DEFAULTFS.name: "hdfs://127.0.0.1:0", keys.DFS_NAMENODE_NAME_DIR.name: str(root)}
    )
    if not root.exists():
        format_namenode(conf)

    async def main() -> None:
        loaded = load([root], [root])
        namenode = Namenode(conf, loaded)
        namenode.namesystem.safe_mode.leave(force=True)
        namenode.roles.become(HAState.ACTIVE)
        await scenario(namenode)
        namenode.roles.become(HAState.STOPPING)
        for lock in loaded.locks:
            lock.release()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


@pytest.mark.req("FS-054", "FS-059")
def test_what_one_namenode_had_is_in_the_shared_log(tmp_path: Path) -> None:
    pair = Pair(tmp_path)

    async def before(namenode: Namenode) -> None:
        await mkdir(namenode, "/a")
        namenode.log_writer.roll()
        await mkdir(namenode, "/b")

    alone(pair.directory("nn0"), before)
    last_txid = initialize_shared_edits(pair.conf("nn0"))

    async def after(pair: Pair) -> None:
        namenode = pair.start("nn0")
        assert namenode.namesystem.last_txid == last_txid
        assert namenode.namesystem.namespace.find("/b") is not None
        await become(namenode, HAState.ACTIVE)
        await mkdir(namenode, "/c")

    run(pair, after)
    own = pair.directory("nn0") / "current"
    for segment in own.glob("edits_*"):
        assert segment.read_bytes() == (pair.shared / "current" / segment.name).read_bytes()


class Died(BaseException):
    """The process is killed."""


@pytest.mark.req("FS-054", "FS-059")
@pytest.mark.parametrize("copied", [0, 2, 4, 5, 8])
def test_a_copy_that_broke_off_is_not_taken_for_the_log(
    tmp_path: Path, copied: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the edits that it lacks would be set aside as what nobody had agreed to."""
    pair = Pair(tmp_path)

    async def before(namenode: Namenode) -> None:
        await mkdir(namenode, "/a")
        namenode.log_writer.roll()
        for path in ("/b", "/c", "/d"):
            await mkdir(namenode, path)

    alone(pair.directory("nn0"), before)
    append, left = SharedDirectoryJournal.append, iter(range(copied))

    def cut_off(journal: SharedDirectoryJournal, batch: Batch) -> None:
        if next(left, None) is None:
            journal.make_durable()
            raise Died
        append(journal, batch)

    with monkeypatch.context() as patched:
        patched.setattr(SharedDirectoryJournal, "append", cut_off)
        with pytest.raises(Died):
            initialize_shared_edits(pair.conf("nn0"))

    async def after(pair: Pair) -> None:
        namenode = pair.start("nn0")
        with pytest.raises(errors.ServiceFailed, match=r"ends at transaction \d+, but it had"):
            await become(namenode, HAState.ACTIVE)

    run(pair, after)
    assert not list(pair.directory("nn0").glob("current/*.stale"))
    with pytest.raises(errors.InconsistentStorage, match="is not empty"):
        initialize_shared_edits(pair.conf("nn0"))
    last_txid = initialize_shared_edits(pair.conf("nn0"), force=True)

    async def at_last(pair: Pair) -> None:
        namenode = pair.start("nn0")
        assert namenode.namesystem.last_txid == last_txid
        assert namenode.namesystem.namespace.find("/d") is not None
        await become(namenode, HAState.ACTIVE)

    run(pair, at_last)


def test_a_shared_log_that_holds_something_is_not_written_over(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    pair.format()
    with pytest.raises(errors.InconsistentStorage, match="is not empty"):
        initialize_shared_edits(pair.conf("nn0"))
    assert initialize_shared_edits(pair.conf("nn0"), force=True) == 0


def test_a_namenode_without_others_shares_nothing() -> None:
    conf = Configuration({keys.FS_DEFAULTFS.name: "hdfs://127.0.0.1:0"})
    with pytest.raises(errors.InvalidConfiguration, match=r"set dfs\.ha\.namenodes"):
        initialize_shared_edits(conf)
