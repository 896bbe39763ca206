"""What was promised of a file, held against disks: each way in which it may be broken is seen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from howdah.testing.world import World
from howdah.testing.world.cluster import DATANODE, Cluster
from howdah.testing.world.disk import Inode
from howdah.testing.world.processes import Machine
from howdah.testing.world.promises import PromiseWatch

_POOL = "BP-1"
_TEXT = b"0123456789"


class _Promises:
    """Says what a file of one block has."""

    power_losses = 0
    written = _TEXT
    writer: Any = None
    bytes = 10

    def promised(self) -> int:
        return self.bytes


def _directory(machine: Machine, path: str) -> Inode:
    directory: Inode = machine.disk.root
    for name in path.split("/"):
        if name not in directory.entries:
            machine.disk.change_names((directory, name, machine.disk.new_directory(0o755)))
        directory = directory.entries[name]
    return directory


def _put(machine: Machine, kind: str, content: bytes, stamp: int = 1001) -> None:
    directory = _directory(machine, f"data/current/{_POOL}/current/{kind}")
    for name, data in ("blk_7", content), (f"blk_7_{stamp}.meta", b""):
        file = machine.disk.new_file(0o644)
        file.write(0, data)
        machine.disk.change_names((directory, name, file))


class _Scene:
    """A namenode that knows of one file, and two datanodes."""

    def __init__(self) -> None:
        self.world = World(1)
        cluster = Cluster(self.world)
        self.machines = [self.world.machine(name) for name in ("dn0", "dn1")]
        for machine in self.machines:
            cluster.server(DATANODE, machine.name, machine)
        self.promises = _Promises()
        self.block = SimpleNamespace(
            block_id=7,
            generation_stamp=1001,
            length_bytes=10,
            state=SimpleNamespace(name="COMPLETE"),
            replicas=[],
            corrupt=[],
        )
        self.file: Any = SimpleNamespace(blocks=[self.block])
        process = SimpleNamespace(is_dead=False)
        namenode = SimpleNamespace(
            context=SimpleNamespace(is_active=True),
            log_writer=SimpleNamespace(is_open=True, durable_txid=5),
            namesystem=SimpleNamespace(
                namespace=SimpleNamespace(find=lambda path: self.file if path == "/f" else None)
            ),
        )
        self.namenode = namenode
        self.watch = PromiseWatch(cluster, "/f", self.promises)
        self.watch.begin(SimpleNamespace(namenodes=lambda: [(process, namenode)]))  # type: ignore[arg-type]

    def count(self, machine: Machine, **more: Any) -> None:
        node = SimpleNamespace(alive=True, identity=SimpleNamespace(ip=machine.address))
        self.block.replicas.append(SimpleNamespace(node=node, reported=True, **more))

    def be_open(self) -> None:
        self.block.state.name, self.block.length_bytes = "UNDER_CONSTRUCTION", 0

    def problems(self) -> list[str]:
        self.watch.look()
        found = [each.text for each in self.world.scheduler.uncaught]
        self.world.scheduler.uncaught.clear()
        return found


@pytest.fixture
def scene() -> _Scene:
    return _Scene()


def test_all_is_well_where_a_disk_has_it(scene: _Scene) -> None:
    _put(scene.machines[0], "finalized", _TEXT)
    scene.count(scene.machines[0])
    assert scene.problems() == []
    assert scene.watch.looks == 1


@pytest.mark.parametrize(
    ("kind", "content", "stamp"),
    [
        ("finalized", b"012345678", 1001),
        ("finalized", b"0123X56789", 1001),
        ("finalized", _TEXT, 1000),
        ("rbw", _TEXT, 1001),
        ("tmp", _TEXT, 1001),
    ],
)
def test_what_is_promised_of_a_block_that_has_ended_is_in_a_whole_replica(
    scene: _Scene, kind: str, content: bytes, stamp: int
) -> None:
    _put(scene.machines[0], kind, content, stamp)
    (problem,) = scene.problems()
    assert "are promised, and no disk has more than" in problem


def test_of_a_block_that_is_written_any_replica_has_it(scene: _Scene) -> None:
    scene.be_open()
    scene.promises.bytes = 6
    _put(scene.machines[1], "rbw", b"012345")
    assert scene.problems() == []
    scene.promises.bytes = 7
    (problem,) = scene.problems()
    assert "7 bytes of" in problem
    assert "more than 6: [] bytes with stamps [1001] (being written: [6]) at dn1" in problem


def test_a_replica_that_is_counted_is_there(scene: _Scene) -> None:
    _put(scene.machines[0], "finalized", _TEXT)
    scene.count(scene.machines[1])
    (problem,) = scene.problems()
    assert "dn1 is counted for" in problem


def test_what_a_power_cut_may_have_taken_is_not_asked_for(scene: _Scene) -> None:
    for machine in scene.machines:
        _put(machine, "finalized", _TEXT)
        scene.count(machine)
    scene.watch.power_is_lost(scene.machines[1])
    directory = _directory(scene.machines[1], f"data/current/{_POOL}/current/finalized")
    scene.machines[1].disk.change_names((directory, "blk_7", None))
    assert scene.problems() == []


def test_a_file_is_there_and_has_blocks_for_its_bytes(scene: _Scene) -> None:
    scene.file.blocks.clear()
    assert scene.problems() == ["/f: 10 bytes are promised, and it has blocks for 0"]
    scene.file = None
    assert scene.problems() == ["/f: 10 bytes are promised, and it is not there"]


def test_stamps_do_not_go_back(scene: _Scene) -> None:
    _put(scene.machines[0], "finalized", _TEXT, stamp=1002)
    assert scene.problems() == []
    scene.block.generation_stamp = 1000
    directory = _directory(scene.machines[0], f"data/current/{_POOL}/current/finalized")
    scene.machines[0].disk.change_names((directory, "blk_7_1002.meta", None))
    _put(scene.machines[0], "finalized", _TEXT, stamp=1001)
    at_datanode, at_namenode = scene.problems()
    assert "blk_7 at dn0 goes back from 1002 to 1001" in at_datanode
    assert "goes back from 1001" in at_namenode


def test_one_that_was_replaced_is_not_asked(scene: _Scene) -> None:
    _put(scene.machines[0], "finalized", _TEXT)
    assert scene.problems() == []
    scene.namenode.log_writer.durable_txid = 4
    scene.file = None
    assert scene.problems() == []


def _pipeline(scene: _Scene, *, acked: int, recoveries: int = 0) -> Any:
    pipeline = SimpleNamespace(
        is_streaming=True,
        block=SimpleNamespace(nodes=[SimpleNamespace(ip=m.address) for m in scene.machines]),
        last_block=SimpleNamespace(block_id=7, length_bytes=acked, pool_id=_POOL),
        counts=SimpleNamespace(recoveries=recoveries),
    )
    return SimpleNamespace(_inner=SimpleNamespace(_streamer=SimpleNamespace(_pipeline=pipeline)))


def _store(scene: _Scene, place: int, *, visible: int, length: int) -> None:
    state = SimpleNamespace(name="RBW")
    replica = SimpleNamespace(
        block_id=7, state=state, stored_as=state, visible_bytes=visible, length_bytes=length
    )
    replicas = SimpleNamespace(
        pools=lambda: [_POOL],
        of_pool=lambda pool: [replica],
        find=lambda pool, block: replica,
    )
    scene.watch._stores[scene.machines[place].address] = (
        SimpleNamespace(is_dead=False),  # type: ignore[assignment]
        SimpleNamespace(_replicas=replicas),
    )


@pytest.mark.parametrize("recoveries", [0, 1])
def test_what_a_datanode_shows_is_at_each_one_behind_it(scene: _Scene, recoveries: int) -> None:
    """In another pipeline each one shows what the first one has acknowledged."""
    scene.be_open()
    scene.promises.bytes = 0
    for place, (visible, length) in enumerate([(5, 8), (4, 4)]):
        _put(scene.machines[place], "rbw", _TEXT[:length])
        _store(scene, place, visible=visible, length=length)
    scene.promises.writer = _pipeline(scene, acked=4, recoveries=recoveries)
    found = scene.problems()
    assert scene.watch.pipelines == 1
    if recoveries:
        assert found == []
    else:
        (problem,) = found
        assert "dn0 shows 5 bytes" in problem
        assert "one behind it has 4" in problem


def test_what_is_acknowledged_is_at_each_datanode(scene: _Scene) -> None:
    scene.be_open()
    scene.promises.bytes = 0
    _put(scene.machines[0], "rbw", _TEXT[:4])
    _put(scene.machines[1], "rbw", _TEXT[:5])
    scene.promises.writer = _pipeline(scene, acked=5)
    (problem,) = scene.problems()
    assert "5 bytes of blk_7 are acknowledged, and dn0 has" in problem


def test_nobody_shows_more_than_there_is(scene: _Scene) -> None:
    scene.be_open()
    scene.promises.bytes = 0
    _put(scene.machines[0], "rbw", _TEXT[:4])
    _store(scene, 0, visible=3, length=5)
    (problem,) = scene.problems()
    assert "dn0 shows 3 bytes" in problem
    assert "and has 4" in problem
