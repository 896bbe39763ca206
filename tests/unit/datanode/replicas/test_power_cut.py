"""What was synced is there after a power cut at any moment, under a stamp that counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah.datanode.recovery import replica_recovery
from howdah.datanode.replicas.reconciler import _put
from howdah.datanode.replicas.startup_scan import good_length, quarantine, replica_paths, scan_pool
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import ReplicaReceived, Transfer
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.transfer.copies import Copies
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.protocol.data_transfer.op_requests import (
    Stage,
    TransferBlock,
    WriteBlock,
    encode_request,
)
from howdah.protocol.data_transfer.responses import read_response
from tests.support.power_cut import Disk

Lab = Any
DATA = bytes(range(1, 251)) * 10
SYNCED = [1, 512, 700, 1100]
STATES = (ReplicaState.FINALIZED, ReplicaState.RWR)


class Bench:
    """A datanode on a disk that may lose power."""

    def __init__(self, lab: Lab, root: Path, settings: DataSettings | None = None) -> None:
        self.lab = lab
        self.root = root
        self.node = lab.node(settings, root=root / "node")
        self.disk = Disk(root / "node")

    def begin(self, synced: int) -> Any:
        """A writer that has written `synced` bytes and synced them."""
        writer = self.lab.Writer(self.node, self.lab.write_request(self.lab.block()))
        writer.send(0, DATA[:synced], sync=True)
        assert writer.ack().is_success
        return writer

    def resume(self, stage: Stage, acked: int, *, old: int = 1001, new: int = 1002) -> Any:
        request: WriteBlock = self.lab.write_request(
            self.lab.block(generation_stamp=old), stage=stage
        )
        writer = self.lab.Writer(
            self.node,
            replace(
                request,
                min_bytes_received=acked,
                max_bytes_received=len(DATA),
                latest_generation_stamp=new,
            ),
        )
        assert writer.response.is_success, writer.response
        return writer

    def check(self, synced: int, stamp: int, states: tuple[ReplicaState, ...] = STATES) -> None:
        """Wherever power was cut, `synced` bytes are found under `stamp` or a later one."""
        cuts = 0
        for when, path in self.disk.images(self.root / "cuts"):
            cuts += 1
            volume = Volume(str(path / "data0"), "DS-0")
            replicas = ReplicaMap()
            scan_pool(VolumeSet([volume]), self.lab.POOL, replicas)
            replica = replicas.find(self.lab.POOL, 1)
            assert replica is not None, when
            assert replica.state in states, when
            assert replica.generation_stamp >= stamp, f"{when}: {replica!r}"
            block_path, meta_path = replica_paths(volume, self.lab.POOL, replica)
            assert min(replica.length_bytes, good_length(block_path, meta_path)[0]) >= synced, when
            assert Path(block_path).read_bytes()[:synced] == DATA[:synced], when
        assert cuts > 0


@pytest.fixture
def bench(lab: Lab, tmp_path: Path) -> Bench:
    return Bench(lab, tmp_path)


@pytest.mark.req("FS-124")
@pytest.mark.parametrize("synced", SYNCED)
@pytest.mark.parametrize("step", [1, 100, 600])
def test_a_new_replica_that_was_synced_is_found(bench: Bench, synced: int, step: int) -> None:
    with bench.disk as disk:
        writer = bench.begin(synced)
        disk.armed = True
        disk.cut_now()
        for end in range(synced + step, min(synced + 4 * step, len(DATA)), step):
            start = end - step - (end - step) % 512
            writer.send(start, DATA[start:end])
            assert writer.ack().is_success
        disk.cut_now()
        writer.close()
    bench.check(synced, 1001)


@pytest.mark.parametrize("synced", SYNCED)
@pytest.mark.parametrize("more", [0, 1, 900])
def test_what_was_synced_is_found_when_the_block_is_closed(
    bench: Bench, synced: int, more: int
) -> None:
    with bench.disk as disk:
        writer = bench.begin(synced)
        disk.armed = True
        start, end = synced - synced % 512, synced + more
        if more:
            writer.send(start, DATA[start:end])
            assert writer.ack().is_success
        writer.send(end, b"", last=True)
        assert writer.ack().is_success
        disk.cut_now()
    bench.check(synced, 1001)


def test_a_block_that_was_synced_once_is_whole_when_it_is_closed(bench: Bench) -> None:
    with bench.disk as disk:
        writer = bench.begin(700)
        writer.send(512, DATA[512:])
        writer.send(len(DATA), b"", last=True)
        assert writer.ack().is_success
        assert writer.ack().is_success
        disk.cut_now()
    bench.check(len(DATA), 1001, (ReplicaState.FINALIZED,))


@pytest.mark.req("OS-071", "XC-002", "LM-042")
def test_a_closed_block_is_whole_where_closing_syncs(lab: Lab, tmp_path: Path) -> None:
    bench = Bench(lab, tmp_path, DataSettings(socket_timeout_s=5, sync_on_close=True))
    with bench.disk as disk:
        lab.write_block(bench.node, lab.block(), DATA)
        disk.cut_now()
    bench.check(len(DATA), 1001, (ReplicaState.FINALIZED,))


@pytest.mark.req("FS-124")
@pytest.mark.parametrize("whole", [True, False])
def test_a_copy_of_what_was_synced_is_on_the_disk_as_well(bench: Bench, whole: bool) -> None:
    """It may be the only replica soon: an excess one, or a stale one, may be that on a disk."""
    lab = bench.lab
    source = lab.node()
    with bench.disk as disk:
        writer = lab.Writer(source, lab.write_request(lab.block()))
        writer.send(0, DATA[:700], sync=True)
        assert writer.ack().is_success
        if whole:
            writer.send(700, b"", last=True)
            assert writer.ack().is_success
            copies = Copies(source.store, source.settings)
            order = Transfer(lab.block(length=700), (bench.node.address,), (), ())
            copies.start(order).join(10)
            bench.node.wait_for(ReplicaReceived)
        else:
            request = TransferBlock(lab.block(), "client", (bench.node.address,))
            connection = source.connect()
            connection.send_all(encode_request(request))
            assert read_response(connection).is_success
        disk.armed = True
        disk.cut_now()
    bench.check(700, 1001, (ReplicaState.FINALIZED if whole else ReplicaState.RWR,))


def test_a_copy_of_what_nobody_synced_waits_for_no_disk(lab: Lab) -> None:
    source, target = lab.node(), lab.node()
    lab.write_block(source, lab.block(), DATA)
    order = Transfer(lab.block(length=len(DATA)), (target.address,), (), ())
    Copies(source.store, source.settings).start(order).join(10)
    target.wait_for(ReplicaReceived)
    assert not target.replicas.find(lab.POOL, 1).synced


def write_more(bench: Bench, writer: Any, synced: int, more: int) -> None:
    """What is received here and acknowledged to nobody; a pipeline that goes on cuts it off."""
    if more:
        start = synced - synced % 512
        writer.send(start, DATA[start : synced + more])
        assert writer.ack().is_success
        bench.node.replicas.find(bench.lab.POOL, 1)._acked_bytes = synced


@pytest.mark.parametrize("synced", SYNCED)
@pytest.mark.parametrize("more", [0, 1, 900])
@pytest.mark.parametrize("moment", ["while", "when"])
def test_what_was_synced_is_found_while_and_when_a_pipeline_goes_on(
    bench: Bench, synced: int, more: int, moment: str
) -> None:
    with bench.disk as disk:
        writer = bench.begin(synced)
        write_more(bench, writer, synced, more)
        disk.armed = moment == "while"
        resumed = bench.resume(Stage.PIPELINE_SETUP_STREAMING_RECOVERY, synced)
        disk.armed = True
        disk.cut_now()
        resumed.send(synced - synced % 512, DATA[synced - synced % 512 :])
        assert resumed.ack().is_success
        disk.cut_now()
        resumed.close()
    bench.check(synced, 1001 if moment == "while" else 1002)


@pytest.mark.parametrize("synced", SYNCED)
def test_what_was_synced_is_found_under_the_stamp_of_an_append(bench: Bench, synced: int) -> None:
    with bench.disk as disk:
        writer = bench.begin(synced)
        writer.send(synced, b"", last=True)
        assert writer.ack().is_success
        writer.close()
        resumed = bench.resume(Stage.PIPELINE_SETUP_APPEND, synced)
        disk.armed = True
        disk.cut_now()
        resumed.send(synced, DATA[synced:])
        assert resumed.ack().is_success
        disk.cut_now()
        resumed.close()
    bench.check(synced, 1002)


@pytest.mark.req("AP-025")
@pytest.mark.parametrize("synced", SYNCED)
@pytest.mark.parametrize("how", ["a write", "a closed block"])
def test_what_was_synced_is_found_at_any_moment_of_a_recovery(
    bench: Bench, synced: int, how: str
) -> None:
    lab, store = bench.lab, bench.node.store

    def recover() -> None:
        found = replica_recovery.init_recovery(store, lab.block(), 1007)
        assert found is not None
        replica_recovery.settle(store, found.as_block(lab.POOL), 1007, synced)

    with bench.disk as disk:
        writer = bench.begin(synced)
        start = synced - synced % 512
        writer.send(start, DATA[start:])
        assert writer.ack().is_success
        if how == "a closed block":
            writer.send(len(DATA), b"", last=True)
            assert writer.ack().is_success
        disk.armed = True
        recover()
    bench.check(synced, 1001)


@pytest.mark.parametrize("target", [1, 2])
def test_a_recovery_that_has_ended_is_on_the_disk(bench: Bench, target: int) -> None:
    lab, store = bench.lab, bench.node.store
    with bench.disk as disk:
        lab.write_block(bench.node, lab.block(), DATA)
        found = replica_recovery.init_recovery(store, lab.block(), 1007)
        assert found is not None
        replica_recovery.settle(store, found.as_block(lab.POOL), 1007, 700, target)
        disk.cut_now()
    for when, path in disk.images(bench.root / "cuts"):
        content = {file.name: file.read_bytes() for file in path.rglob("finalized/**/blk_*")}
        assert content[f"blk_{target}"] == DATA[:700], when
        assert content[f"blk_{target}_1007.meta"][7:] == lab.sums_of(DATA[:700]), when


@pytest.mark.req("FS-124")
@pytest.mark.parametrize(
    "stage", [Stage.PIPELINE_SETUP_STREAMING_RECOVERY, Stage.PIPELINE_SETUP_APPEND_RECOVERY]
)
def test_a_block_that_an_earlier_pipeline_synced_is_whole_when_it_is_closed(
    bench: Bench, stage: Stage
) -> None:
    with bench.disk as disk:
        bench.begin(700).close()
        writer = bench.resume(stage, 700)
        writer.send(512, DATA[512:])
        writer.send(len(DATA), b"", last=True)
        assert writer.ack().is_success
        assert writer.ack().is_success
        disk.cut_now()
    bench.check(len(DATA), 1002, (ReplicaState.FINALIZED,))


@pytest.mark.req("FS-156")
def test_a_block_that_was_synced_once_is_whole_when_its_pipeline_is_closed_again(
    bench: Bench,
) -> None:
    with bench.disk as disk:
        writer = bench.begin(700)
        writer.send(512, DATA[512:])
        assert writer.ack().is_success
        bench.resume(Stage.PIPELINE_CLOSE_RECOVERY, len(DATA)).close()
        disk.cut_now()
    bench.check(len(DATA), 1002, (ReplicaState.FINALIZED,))


@pytest.mark.req("OS-071")
def test_a_block_whose_last_packet_asks_for_it_is_whole_when_it_is_closed(bench: Bench) -> None:
    with bench.disk as disk:
        writer = bench.lab.Writer(bench.node, bench.lab.write_request(bench.lab.block()))
        writer.send(0, DATA)
        writer.send(len(DATA), b"", last=True, sync=True)
        assert writer.ack().is_success
        assert writer.ack().is_success
        disk.cut_now()
    bench.check(len(DATA), 1001, (ReplicaState.FINALIZED,))


def moved_in_scan(names: dict[str, str], volume: Volume, pool: str) -> None:
    """`names` says where the files of block 1 lie, below `current`, before the scan."""
    current = Path(volume.current_path(pool))
    for name, directory in names.items():
        (current / directory).mkdir(parents=True, exist_ok=True)
        content = DATA if name == "blk_1" else bytes((0, 1, 0, 0, 0, 0, 0))
        (current / directory / name).write_bytes(content)


FOUND = {
    "an older layout": {"blk_1": "finalized/subdir7", "blk_1_1001.meta": "finalized/subdir7"},
    "half of a finalize": {"blk_1": "rbw", "blk_1_1001.meta": "finalized/subdir0/subdir0"},
    "half of an append": {"blk_1": "finalized/subdir0/subdir0", "blk_1_1001.meta": "rbw"},
}


@pytest.mark.parametrize("names", FOUND.values(), ids=FOUND)
def test_files_that_a_scan_moved_stay_where_it_served_them(
    lab: Lab, tmp_path: Path, names: dict[str, str]
) -> None:
    root = tmp_path / "data0"
    volume = Volume(str(root), "DS-0")
    moved_in_scan(names, volume, lab.POOL)
    with Disk(tmp_path / "data0") as disk:
        disk.armed = True
        scan_pool(VolumeSet([volume]), lab.POOL, ReplicaMap())
        disk.label = "served"
        disk.cut_now()
        images = [path for image, path in disk.labelled_images(tmp_path / "cuts") if image.label]
    assert images
    for path in images:
        kept = Path(Volume(str(path), "DS-0").finalized_directory(lab.POOL, 1))
        assert {each.name for each in kept.iterdir()} == {"blk_1", "blk_1_1001.meta"}


@pytest.mark.parametrize("way", ["set aside", "put where it belongs"])
def test_a_file_that_was_moved_stays_where_it_is(lab: Lab, tmp_path: Path, way: str) -> None:
    volume = Volume(str(tmp_path / "data0"), "DS-0")
    moved_in_scan({"blk_1": "finalized/subdir7"}, volume, lab.POOL)
    path = f"{volume.finalized_path(lab.POOL)}/subdir7/blk_1"
    with Disk(tmp_path / "data0") as disk:
        disk.armed = True
        if way == "set aside":
            quarantine(volume, lab.POOL, [path], "the test says so")
            target = f"{volume.quarantine_path(lab.POOL)}/blk_1"
        else:
            (target,) = _put(volume.finalized_directory(lab.POOL, 1), path)
        disk.label = "moved"
        disk.cut_now()
        images = [path for image, path in disk.labelled_images(tmp_path / "cuts") if image.label]
    assert images
    for image in images:
        assert (image / Path(target).relative_to(volume.path)).exists()
