"""The figures of fsck equal those of a recount from what the datanodes have on their disks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from hypothesis import example, given, settings
from hypothesis import strategies as st

from howdah.formats.edits import edits
from howdah.namenode.service.calls.administration import Administration
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.fsck.check import FsckCheck
from howdah.namenode.service.fsck.options import Options
from howdah.namenode.service.fsck.summary import Figures, summary
from howdah.namenode.service.fsck.traversal import Walk
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.host_lists import HostEntry, HostOrder, Hosts
from howdah.namenode.state.inodes.inodes import Block, Directory, File, INode
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.testing.in_memory import POOL_ID, InMemoryDatanode, InMemoryNamenode

NODES = 5
BLOCK_BYTES = 1024
CLIENT = "DFSClient_figures"
EXPIRY_MS = 60_000

Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["write", "write", "write", "open", "lose", "spoil", "setrep", "delete", "leave", "die"]
        ),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    max_size=25,
)


class World:
    """A namenode that repairs nothing, its datanodes, and what was done to replicas."""

    def __init__(self) -> None:
        self.namenode = InMemoryNamenode(
            Settings(
                "",
                min_block_size_bytes=512,
                block_size_bytes=BLOCK_BYTES,
                heartbeat_expiry_ms=EXPIRY_MS,
                lease_hard_limit_ms=1 << 40,
            )
        )
        self.nodes = [self.namenode.join(f"dn{n}", rack=f"/r{n % 2}") for n in range(NODES)]
        self.dead: set[str] = set()
        self.leaving: dict[str, AdminState] = {}
        self.spoilt: set[tuple[int, str]] = set()
        self.files: list[str] = []
        self.count = 0

    def do(self, step: Step) -> None:
        name, a, b = step
        if name in ("write", "open"):
            self._write(1 + a % 4, b % 4, is_open=name == "open")
        elif name == "die":
            self._die(self.nodes[a % NODES])
        elif name == "leave":
            state = (AdminState.DECOMMISSIONED, AdminState.IN_MAINTENANCE)[b % 2]
            self.leaving[self.nodes[a % NODES].uuid] = state
            self._order()
        elif name in ("setrep", "delete"):
            self._change(name, a, 1 + b % 4)
        else:
            self._harm(name, a, b)

    def _write(self, replication: int, count: int, *, is_open: bool) -> None:
        path = f"/d{self.count % 3}/f{self.count}"
        self.count += 1
        call = self.namenode.call
        if sum(n.uuid not in self.dead | self.leaving.keys() for n in self.nodes) == 0:
            return
        call(
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName=CLIENT,
                createFlag=1,
                createParent=True,
                replication=replication,
                blockSize=BLOCK_BYTES,
            ),
        )
        previous = None
        for number in range(count):
            request = pb.AddBlockRequestProto(src=path, clientName=CLIENT, previous=previous)
            located = call("addBlock", request)
            assert isinstance(located, pb.AddBlockResponseProto)
            previous = located.block.b
            previous.numBytes = BLOCK_BYTES
            if is_open and number == count - 1:
                break
            for place in located.block.locs:
                node = next(n for n in self.nodes if n.uuid == place.id.datanodeUuid)
                node.store(previous.blockId, previous.generationStamp, BLOCK_BYTES)
        if not is_open:
            call("complete", pb.CompleteRequestProto(src=path, clientName=CLIENT, last=previous))
        self.files.append(path)

    def _die(self, node: InMemoryDatanode) -> None:
        self.dead.add(node.uuid)
        for _ in range(2):
            self.namenode.clock.advance(EXPIRY_MS // 2 + 1)
            for other in self.nodes:
                if other.uuid not in self.dead:
                    other.heartbeat()
        self.namenode.namesystem.tick()

    def _order(self) -> None:
        orders = [
            HostOrder(HostEntry(node.ip, frozenset({node.ip})), self.leaving[node.uuid])
            for node in self.nodes
            if node.uuid in self.leaving
        ]
        Administration(self.namenode.namesystem).apply_hosts(Hosts.ordered(orders))

    def _change(self, what: str, a: int, replication: int) -> None:
        if not self.files:
            return
        path = self.files[a % len(self.files)]
        if what == "setrep":
            request = pb.SetReplicationRequestProto(src=path, replication=replication)
            self.namenode.call("setReplication", request)
        else:
            self.files.remove(path)
            self.namenode.call("delete", pb.DeleteRequestProto(src=path, recursive=True))

    def _harm(self, how: str, a: int, b: int) -> None:
        """A replica is lost, or a reader finds it corrupt."""
        namespace = self.namenode.namesystem.namespace
        ids = sorted(block_id for block_id in namespace.blocks)
        if not ids:
            return
        block = namespace.blocks[ids[a % len(ids)]]
        holders = [node for node in self.alive() if has(node, block.block_id)]
        if not holders:
            return
        node = holders[b % len(holders)]
        if how == "lose":
            node.drop(block.block_id)
            self.spoilt.discard((block.block_id, node.uuid))
            return
        bad = types_pb2.LocatedBlockProto(
            b=types_pb2.ExtendedBlockProto(
                poolId=POOL_ID,
                blockId=block.block_id,
                generationStamp=block.generation_stamp,
                numBytes=block.length_bytes,
            ),
            offset=0,
            corrupt=True,
        )
        bad.blockToken.MergeFromString(b'\n\0\x12\0\x1a\0"\0')  # Four empty fields.
        bad.locs.add().id.CopyFrom(node.registration().datanodeID)
        self.namenode.call("reportBadBlocks", pb.ReportBadBlocksRequestProto(blocks=[bad]))
        self.spoilt.add((block.block_id, node.uuid))

    def alive(self) -> list[InMemoryDatanode]:
        return [node for node in self.nodes if node.uuid not in self.dead]

    # The recount.

    def replicas_of(self, block: Block) -> Iterator[InMemoryDatanode]:
        """Datanodes with a good replica: those that live, and those that died in maintenance."""
        for node in self.nodes:
            rests = self.leaving.get(node.uuid) is AdminState.IN_MAINTENANCE
            is_there = node.uuid not in self.dead or (rests and node.known.block_count)
            spoilt = (block.block_id, node.uuid) in self.spoilt
            if is_there and has(node, block.block_id) and not spoilt:
                yield node

    def recount(self, *, with_open: bool) -> Figures:
        total = Figures()
        live_racks = {node.known.location for node in self.alive()}
        for inode in below(self.namenode.namesystem.namespace.root):
            if isinstance(inode, Directory):
                total.directories += 1
                continue
            assert isinstance(inode, File)
            if inode.under_construction and not with_open:
                total.open_files += 1
                total.open_size_bytes += inode.length_bytes
                written = [block for block in inode.blocks if block.length_bytes > 0]
                total.open_blocks += len(written)
                lost = [block for block in written if not list(self.replicas_of(block))]
                for block in lost:
                    self._lost(total, block)
                total.corrupt_files += bool(lost)
                continue
            total.files += 1
            total.size_bytes += inode.length_bytes
            damaged = 0
            for block in inode.blocks:
                if block.length_bytes == 0:
                    continue  # It is being written.
                total.blocks += 1
                if block == inode.last_block and block.state.name != "COMPLETE":
                    continue
                damaged += self._block(total, block, inode.replication, live_racks)
            total.corrupt_files += bool(damaged)
        return total

    def _block(self, total: Figures, block: Block, wanted: int, live_racks: set[str]) -> bool:
        holders = list(self.replicas_of(block))
        states = [node.known.admin_state for node in holders]
        live = states.count(AdminState.NORMAL)
        total.replicas += len(holders)
        total.expected_replicas += wanted
        total.decommissioned += states.count(AdminState.DECOMMISSIONED)
        total.decommissioning += states.count(AdminState.DECOMMISSION_INPROGRESS)
        entering = [
            node
            for node, state in zip(holders, states, strict=True)
            if state is AdminState.ENTERING_MAINTENANCE and node.uuid not in self.dead
        ]
        total.entering_maintenance += len(entering)
        total.in_maintenance += states.count(AdminState.IN_MAINTENANCE)
        total.in_maintenance += sum(
            state is AdminState.ENTERING_MAINTENANCE and node.uuid in self.dead
            for node, state in zip(holders, states, strict=True)
        )
        total.minimally_replicated += len(holders) >= 1
        total.under_minimum += len(holders) < 1
        total.over_replicated += live > wanted
        total.excess_replicas += max(live - wanted, 0)
        spoilt = self._spoilt(block)
        reachable = [
            node
            for node in holders
            if node.uuid not in self.dead
            and node.known.admin_state is not AdminState.IN_MAINTENANCE
        ]
        racks = {node.known.location for node in (reachable if holders else spoilt)}
        total.misplaced += len(racks) < min(2, wanted, len(live_racks))
        if not holders:
            self._lost(total, block)
            return True
        if len(holders) < wanted:
            total.under_replicated += 1
            total.lacking_replicas += wanted - len(holders)
        return False

    def _lost(self, total: Figures, block: Block) -> None:
        """No good replica is left: corrupt if a bad one is there, else missing."""
        spoilt = bool(self._spoilt(block))
        total.corrupt += spoilt
        total.corrupt_bytes += block.length_bytes * spoilt
        total.missing += not spoilt
        total.missing_bytes += block.length_bytes * (not spoilt)

    def _spoilt(self, block: Block) -> list[InMemoryDatanode]:
        return [
            node
            for node in self.alive()
            if has(node, block.block_id) and (block.block_id, node.uuid) in self.spoilt
        ]


def has(node: InMemoryDatanode, block_id: int) -> bool:
    return any(block_id in found for found in node.replicas.values())


def below(directory: Directory) -> Iterator[INode]:
    yield directory
    for child in directory.children.values():
        if isinstance(child, Directory):
            yield from below(child)
        else:
            yield child


@settings(max_examples=60, deadline=None)
@given(steps, st.booleans(), st.booleans())
@example([("open", 0, 2), ("lose", 0, 0)], False, False)
def test_figures_equal_a_recount(steps: list[Step], with_open: bool, in_slices: bool) -> None:
    world = World()
    for step in steps:
        world.do(step)
    namesystem = world.namenode.namesystem
    caller = Caller("root", edits.NO_CLIENT_ID, edits.NO_CALL_ID, -1, "")
    who = namesystem.identities.of(caller.user)
    options = Options(open_for_write=with_open, files=True, blocks=True, replica_details=True)
    check, walk = FsckCheck(namesystem, caller, who, options), Walk(namesystem, who)
    for path, inode in walk.entries("/", namesystem.namespace.root):
        for _ in check.entry(path, inode):
            pass
        if in_slices:
            walk.slice_ended()
            check.look_around()
    expected = world.recount(with_open=with_open)
    for field in fields(Figures):
        found, wanted = (getattr(f, field.name) for f in (check.figures, expected))
        assert (field.name, found) == (field.name, wanted)
    # Any figures can be shown.
    assert summary(
        check.figures,
        check.group_figures,
        datanodes=0,
        racks=0,
        default_replication=3,
        minimum=1,
    )
