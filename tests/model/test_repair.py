"""Failovers while files are in snapshots and renamed over others, and two replicas are the least:
every block comes back to its replication, and figures and fsck say what is so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from howdah.namenode.service.fsck.options import parse_options
from howdah.namenode.service.fsck.report import Fsck
from howdah.namenode.state.blocks.datanodes import Storage
from howdah.namenode.state.inodes.inodes import Block, BlockState, File
from howdah.proto import client_namenode_pb2 as pb
from tests.model.test_failover import CLIENT, SETTINGS, FailoverMachine, run
from tests.support.torture import times

MOST_SNAPSHOTS = 3


class RepairMachine(FailoverMachine):
    """The root has snapshots."""

    @initialize()
    def start(self) -> None:
        self.snapshots: list[str] = []
        self.snapshots_made = 0
        super().start()
        self.ask("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/"))

    def new_file(self, replication: int) -> File | None:
        return super().new_file(max(replication, self.settings.min_replication))

    def put(self, storage: Storage, block: Block, length: int, *, finalized: bool) -> None:
        """No replica gets shorter, and none has less than was synced."""
        found = self.node_of(storage).find(block.block_id)
        written = 0 if found is None else found[1].length_bytes
        length = max(length, written, block.length_bytes)
        super().put(storage, block, length, finalized=finalized)

    @rule(data=st.data())
    def sync(self, data: st.DataObject) -> None:
        """All of the pipeline have so many bytes, and the writer says so."""
        file = self.writable_file(data)
        if file is None or not file.blocks or not file.blocks[-1].expected:
            return
        last = file.blocks[-1]
        if last.state is not BlockState.UNDER_CONSTRUCTION:
            return
        for storage in last.expected:
            self.put(storage, last, 1, finalized=False)
        length = min(self.synced_at(storage, last) for storage in last.expected)
        if length > last.length_bytes:
            request = pb.FsyncRequestProto(
                src=file.path, client=CLIENT, fileId=file.inode_id, lastBlockLength=length
            )
            self.ask("fsync", request)

    def synced_at(self, storage: Storage, block: Block) -> int:
        found = self.node_of(storage).find(block.block_id)
        # What is left over from a restart is in no pipeline.
        if found is None or found[1].left_over:
            return 0
        is_current = found[1].generation_stamp == block.generation_stamp
        return found[1].length_bytes if is_current else 0

    @rule(data=st.data(), is_open=st.booleans(), over_open=st.booleans())
    def rename_over(self, data: st.DataObject, is_open: bool, over_open: bool) -> None:
        file, over = self.file(data, is_open=is_open), self.file(data, is_open=over_open)
        if file is not None and over is not None and file != over:
            request = pb.Rename2RequestProto(src=file.path, dst=over.path, overwriteDest=True)
            self.ask("rename2", request)

    # Snapshots.

    @precondition(lambda self: len(self.snapshots) < MOST_SNAPSHOTS)
    @rule()
    def snapshot(self) -> None:
        self.snapshots_made += 1
        self.snapshots.append(f"s{self.snapshots_made}")
        request = pb.CreateSnapshotRequestProto(snapshotRoot="/", snapshotName=self.snapshots[-1])
        self.ask("createSnapshot", request)

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def delete_snapshot(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.snapshots))
        self.snapshots.remove(name)
        request = pb.DeleteSnapshotRequestProto(snapshotRoot="/", snapshotName=name)
        self.ask("deleteSnapshot", request)
        while self.active.namesystem.reap():
            continue

    @precondition(lambda self: len(self.snapshots) < MOST_SNAPSHOTS)
    @rule(data=st.data())
    def delete_what_a_snapshot_shows(self, data: st.DataObject) -> None:
        """While it is written."""
        self.sync(data)
        self.snapshot()
        self.delete(data, is_open=True)

    # In the end.

    def unsettled(self) -> list[str]:
        found = super().unsettled()
        namesystem = self.active.namesystem
        found += [
            f"{block} is not complete"
            for block in self.blocks.values()
            if block.state is not BlockState.COMPLETE
        ]
        if namesystem.block_manager.blocks.redundancy.left_open:
            found.append(
                f"{namesystem.block_manager.blocks.redundancy.left_open} are to be recovered"
            )
        counts = namesystem.block_manager.reconstruction.counts()
        if counts.missing or counts.too_few:
            found.append(f"figures: {counts}")
        return found

    def teardown(self) -> None:
        super().teardown()
        if not hasattr(self, "nodes"):
            return
        namesystem = self.active.namesystem
        for query in ({"path": "/"}, {"path": "/", "includeSnapshots": "1"}):
            text = "".join(Fsck(namesystem).run("root", "10.9.9.9", parse_options(query)))
            assert "Status: HEALTHY" in text, text
            assert " Missing blocks:\t\t0\n" in text, text
            assert " Under-replicated blocks:\t0" in text, text


class RepairMachineOfTwo(RepairMachine):
    settings = replace(SETTINGS, min_replication=2)


@pytest.mark.req("FS-015")
@pytest.mark.parametrize("machine", [RepairMachine, RepairMachineOfTwo])
def test_every_block_comes_back_to_its_replication(machine: type[RepairMachine]) -> None:
    run(20, 40, machine)


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("machine", [RepairMachine, RepairMachineOfTwo])
def test_every_block_comes_back_through_long_histories(machine: type[RepairMachine]) -> None:
    run(times(300), 100, machine)
