"""The datanodes and their storages, as the namenode knows them (pure).

Hadoop's `DatanodeManager`, `DatanodeDescriptor` and `DatanodeStorageInfo`.

Registration, heartbeats and death are events with a `now_ms`; commands wait in
the node's queues until its next heartbeat takes them home.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.inodes.row_table import IdSet, PairQueue


@dataclass(frozen=True, slots=True)
class DatanodeIdentity:
    """How a datanode introduces itself. `uuid` is its own for ever; addresses may change."""

    uuid: str
    ip: str
    hostname: str
    transfer_port: int
    info_port: int
    ipc_port: int
    info_secure_port: int = 0
    software_version: str = ""
    keeps_committed: bool = False
    """Whether as the primary of a recovery it leaves a group the length that it was committed
    with. Hadoop's datanodes cut every group to whole stripes."""

    @property
    def transfer_address(self) -> str:
        return f"{self.ip}:{self.transfer_port}"


@dataclass(slots=True)
class StorageReport:
    """One volume's figures from a heartbeat. Not frozen, for the reason that `rpc.call.Call`
    gives."""

    storage_id: str
    storage_type: int
    failed: bool
    capacity_bytes: int
    used_bytes: int
    remaining_bytes: int
    pool_used_bytes: int
    non_dfs_used_bytes: int


@dataclass(frozen=True, slots=True)
class CorruptReplica:
    """A replica that does not count: of an old generation stamp or another length, or
    one whose data a reader found corrupt."""

    generation_stamp: int
    found_by_reader: bool = False


class Totals(NamedTuple):
    """Of the storages of a datanode."""

    capacity_bytes: int
    used_bytes: int
    remaining_bytes: int
    pool_used_bytes: int
    non_dfs_used_bytes: int
    blocks: int
    unreported: int
    """Storages that work and have not reported in full since the datanode registered."""


class Storage:
    """One volume of one datanode.

    `block_ids` are the blocks of which it has a good replica, `corrupt` those of which it
    has a corrupt one. `reported`: a whole full report was processed since its node
    registered, and since this namenode has become active. (Hadoop calls the contents of a
    storage stale until then.)
    """

    __slots__ = (
        "block_ids",
        "capacity_bytes",
        "corrupt",
        "failed",
        "node",
        "non_dfs_used_bytes",
        "pool_used_bytes",
        "remaining_bytes",
        "reported",
        "storage_id",
        "storage_type",
        "used_bytes",
    )

    def __init__(self, storage_id: str, storage_type: int, node: Datanode) -> None:
        self.storage_id = storage_id
        self.storage_type = storage_type
        self.node = node
        self.failed = False
        self.reported = False
        self.capacity_bytes = 0
        self.used_bytes = 0
        self.remaining_bytes = 0
        self.pool_used_bytes = 0
        self.non_dfs_used_bytes = 0
        self.block_ids = IdSet()
        self.corrupt: dict[int, CorruptReplica] = {}

    def update(self, report: StorageReport) -> None:
        self.storage_type = report.storage_type
        self.failed = report.failed
        self.capacity_bytes = report.capacity_bytes
        self.used_bytes = report.used_bytes
        self.remaining_bytes = report.remaining_bytes
        self.pool_used_bytes = report.pool_used_bytes
        self.non_dfs_used_bytes = report.non_dfs_used_bytes

    def __repr__(self) -> str:
        return f"<{self.storage_id} of {self.node.identity.transfer_address}>"


@dataclass(frozen=True, slots=True)
class VolumeFailures:
    """Volumes of a datanode that cannot be used (VolumeFailureSummary in Hadoop)."""

    locations: tuple[str, ...] = ()
    last_ms: int = 0
    """When the last one failed, in Unix milliseconds."""
    lost_bytes: int = 0
    """What they had room for, by the datanode's estimate."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """An order to copy a replica to other nodes' storages."""

    block_id: int
    targets: tuple[Storage, ...]


@dataclass(frozen=True, slots=True)
class GroupReconstruction:
    """An order to make internal blocks of a group from others of it. Sources are indices with
    the storages that hold them; `excluded` are indices that are not read and not lost: busy
    datanodes hold them, or such as rest, or that have yet to report them."""

    group_id: int
    sources: tuple[tuple[int, Storage], ...]
    targets: tuple[Storage, ...]
    excluded: tuple[int, ...] = ()


@dataclass(slots=True)
class Invalidated:
    """An order to delete a replica of a block that belongs to a file: where the replica
    was, and its generation stamp.

    `is_excess`: the replica is good, but one too many. `is_sent`: the order was sent; the
    datanode may carry it out at any time. `is_queued`: the order is to be sent (again).
    """

    storage: Storage
    generation_stamp: int
    is_excess: bool
    is_sent: bool
    is_queued: bool = True


@dataclass(frozen=True, slots=True)
class LeavingFigures:
    """What keeps a datanode from leaving, as of the last look: `low_redundancy` blocks have
    too few replicas elsewhere; of them `only_leaving` have none in service, and `open_files`
    belong to files that are being written."""

    low_redundancy: int = 0
    only_leaving: int = 0
    open_files: int = 0


class Datanode:
    """One datanode.

    `invalidated` are the orders to delete replicas, by block id: the datanode deletes the
    block's replica on whichever volume it finds it. `to_invalidate` are those block ids in
    the order in which they will be sent; a few may have been revoked since. `orphaned` are
    replicas to delete whose blocks belong to no file: (block id, generation stamp).
    `maybe_invalidated` are blocks whose replica counts again, though the datanode may still
    delete it (see `invalidation`).

    `admin_state` is changed by `membership` alone.
    """

    __slots__ = (
        "admin_state",
        "alive",
        "cache_capacity_bytes",
        "cache_used_bytes",
        "identity",
        "invalidated",
        "last_heartbeat_ms",
        "last_report_ms",
        "leaving",
        "location",
        "maintenance_until_ms",
        "maybe_invalidated",
        "must_report",
        "new_bandwidth",
        "orphaned",
        "registered_ms",
        "registrations",
        "reported_registration",
        "shown",
        "storages",
        "to_invalidate",
        "to_reconstruct",
        "to_transfer",
        "told_keys",
        "transfers_running",
        "upgrade_domain",
        "volume_failures",
        "xceivers",
    )

    def __init__(self, identity: DatanodeIdentity, location: str, now_ms: int) -> None:
        self.identity = identity
        self.location = location
        self.alive = True
        self.admin_state = AdminState.NORMAL
        self.maintenance_until_ms = 0
        """By the wall clock; it means something during maintenance only."""
        self.upgrade_domain = ""
        self.leaving = LeavingFigures()
        self.last_heartbeat_ms = now_ms
        self.last_report_ms: int | None = None
        """When it last reported all that it has."""
        self.new_bandwidth: int | None = None
        """Bytes a second for balancing that the next heartbeat's answer sets."""
        self.told_keys = 0
        """The generation of the keys of block tokens that it has."""
        self.storages: dict[str, Storage] = {}
        self.volume_failures = VolumeFailures()
        self.xceivers = 0
        self.transfers_running = 0
        self.cache_capacity_bytes = 0
        self.cache_used_bytes = 0
        self.invalidated: dict[int, Invalidated] = {}
        self.to_invalidate: deque[int] = deque()
        self.orphaned = PairQueue()
        self.maybe_invalidated: set[int] = set()
        self.registrations = 0
        """How often it has registered."""
        self.reported_registration = 0
        """The latest of its registrations, by number, that a full report has followed."""
        self.registered_ms = now_ms
        self.must_report = False
        """It is to be told to report in full, though it has done so."""
        self.to_transfer: deque[Transfer] = deque()
        self.to_reconstruct: deque[GroupReconstruction] = deque()
        self.shown: tuple[tuple[object, ...], object, bytes] | None = None
        """What clients are shown of it, kept by `messages` from heartbeat to heartbeat."""

    def storage(self, storage_id: str, storage_type: int) -> Storage:
        """Return the storage of that id, made known if it is new."""
        storage = self.storages.get(storage_id)
        if storage is None:
            storage = self.storages[storage_id] = Storage(storage_id, storage_type, self)
        return storage

    @property
    def name(self) -> str:
        return self.identity.transfer_address

    @property
    def in_service(self) -> bool:
        """Whether its replicas count in full, and it gets new ones."""
        return self.admin_state is AdminState.NORMAL

    @property
    def capacity_bytes(self) -> int:
        return sum(s.capacity_bytes for s in self.storages.values())

    @property
    def used_bytes(self) -> int:
        return sum(s.used_bytes for s in self.storages.values())

    @property
    def remaining_bytes(self) -> int:
        return sum(s.remaining_bytes for s in self.storages.values() if not s.failed)

    @property
    def pool_used_bytes(self) -> int:
        return sum(s.pool_used_bytes for s in self.storages.values())

    @property
    def non_dfs_used_bytes(self) -> int:
        return sum(s.non_dfs_used_bytes for s in self.storages.values())

    def totals(self) -> Totals:
        """Make all sums over its storages in one pass: pages want them of a thousand datanodes."""
        capacity = used = remaining = pool_used = non_dfs_used = blocks = unreported = 0
        for storage in self.storages.values():
            capacity += storage.capacity_bytes
            used += storage.used_bytes
            pool_used += storage.pool_used_bytes
            non_dfs_used += storage.non_dfs_used_bytes
            blocks += len(storage.block_ids)
            if not storage.failed:
                remaining += storage.remaining_bytes
                unreported += not storage.reported
        return Totals(capacity, used, remaining, pool_used, non_dfs_used, blocks, unreported)

    @property
    def pending_deletions(self) -> int:
        """Orders to delete replicas that were not sent yet."""
        return len(self.to_invalidate) + len(self.orphaned)

    @property
    def block_count(self) -> int:
        return sum(len(s.block_ids) for s in self.storages.values())

    def __repr__(self) -> str:
        return f"<datanode {self.name} at {self.location}>"


class Watcher(Protocol):
    """Who hears of changes of datanodes: `network.Network`."""

    def note(self, node: Datanode) -> None:
        """The datanode has come, gone or changed."""

    def forget(self, node: Datanode) -> None:
        """The datanode belongs to the cluster no more."""


class DatanodeRegistry:
    """All datanodes that ever registered since the start, by uuid."""

    def __init__(self, watcher: Watcher, *, expiry_ms: int, stale_ms: int) -> None:
        self._watcher = watcher
        self.expiry_ms = expiry_ms
        self.expired = 0
        """How often a node was declared dead by `expire`."""
        self.stale_ms: Final = stale_ms
        self._by_uuid: dict[str, Datanode] = {}
        self._by_ip: dict[str, dict[Datanode, None]] = {}

    def __iter__(self) -> Iterator[Datanode]:
        return iter(self._by_uuid.values())

    def live(self) -> list[Datanode]:
        return [node for node in self._by_uuid.values() if node.alive]

    def dead(self) -> list[Datanode]:
        return [node for node in self._by_uuid.values() if not node.alive]

    @property
    def pending_deletions(self) -> int:
        """Orders to delete replicas that were not sent yet."""
        return sum(node.pending_deletions for node in self._by_uuid.values())

    def get(self, uuid: str) -> Datanode | None:
        return self._by_uuid.get(uuid)

    def by_ip(self, ip: str) -> Datanode | None:
        """A live node at that address, if there is one: each new block asks."""
        for node in self._by_ip.get(ip, ()):
            if node.alive:
                return node
        return None

    def named(self, name: str) -> Datanode | None:
        """The live node of a name such as a client gives: an address or host name, and the
        port for data, without which any node of that host will do."""
        for node in self._by_uuid.values():
            own = node.identity
            names = (own.ip, own.hostname)
            if node.alive and (
                name in names or name in [f"{n}:{own.transfer_port}" for n in names]
            ):
                return node
        return None

    def at(self, address: str) -> Datanode | None:
        """The live node that listens at an address and port, whichever of its ports that is: so
        datanodes name each other."""
        ip, _, port = address.rpartition(":")
        for node in self._by_ip.get(ip, ()):
            own = node.identity
            ports = (own.transfer_port, own.info_port, own.ipc_port, own.info_secure_port)
            if node.alive and port in map(str, ports):
                return node
        return None

    def register(
        self, identity: DatanodeIdentity, location: str, now_ms: int
    ) -> tuple[Datanode, list[Datanode]]:
        """A node came (back). Returns it, and nodes that it displaces: those that
        were known under the same address with another uuid."""
        displaced = [
            node
            for node in self._by_uuid.values()
            if node.identity.transfer_address == identity.transfer_address
            and node.identity.uuid != identity.uuid
        ]
        for old in displaced:
            self.lose(old)
            self._watcher.forget(old)
            del self._by_uuid[old.identity.uuid]
            self._leave_address(old)
        if identity.uuid not in self._by_uuid:
            self._by_uuid[identity.uuid] = Datanode(identity, location, now_ms)
        node = self._by_uuid[identity.uuid]
        if node.identity.ip != identity.ip:
            self._leave_address(node)
        self._by_ip.setdefault(identity.ip, {})[node] = None
        node.identity = identity
        node.location = location
        node.alive = True
        node.last_heartbeat_ms = now_ms
        node.registrations += 1
        node.registered_ms = now_ms
        node.to_transfer.clear()
        node.to_reconstruct.clear()
        for storage in node.storages.values():
            storage.reported = False
        self._watcher.note(node)
        return node, displaced

    def relocate(self, node: Datanode, location: str) -> bool:
        """The node is there. False if that was known, or nobody knows the node any more."""
        if node.location == location or self._by_uuid.get(node.identity.uuid) is not node:
            return False
        node.location = location
        self._watcher.note(node)
        return True

    def _leave_address(self, node: Datanode) -> None:
        ip = node.identity.ip
        there = self._by_ip.get(ip, {})
        there.pop(node, None)
        if not there:
            self._by_ip.pop(ip, None)

    def heartbeat(
        self, node: Datanode, reports: Iterable[StorageReport], xceivers: int, now_ms: int
    ) -> list[Storage]:
        """The node lives, and these are its storages.

        Returns those that are out of reach: failed, or taken out of the node while it
        was down; the latter are forgotten.
        """
        node.last_heartbeat_ms = now_ms
        node.xceivers = xceivers
        named = set()
        for report in reports:
            named.add(report.storage_id)
            node.storage(report.storage_id, report.storage_type).update(report)
        gone = [storage for storage in node.storages.values() if storage.failed]
        if named:
            for storage_id in node.storages.keys() - named:
                gone.append(node.storages.pop(storage_id))
        self._watcher.note(node)
        return gone

    def note_alive(self, uuid: str, address: str, at_ms: int) -> int | None:
        """The datanode at this address was alive. Returns for how long it had said nothing; None
        if nobody is known there, or later news are. One that counts as dead has to register."""
        node = self._by_uuid.get(uuid)
        if node is None or not node.alive or node.name != address:
            return None
        late_ms = at_ms - node.last_heartbeat_ms
        if late_ms <= 0:
            return None
        node.last_heartbeat_ms = at_ms
        return late_ms

    def lose(self, node: Datanode) -> None:
        """The node does not take part any more, until it registers again."""
        node.alive = False
        self._watcher.note(node)

    def expire(self, now_ms: int) -> list[Datanode]:
        """Declare datanodes dead that were silent too long. Returns those that just died."""
        died = []
        for node in self._by_uuid.values():
            if node.alive and now_ms - node.last_heartbeat_ms > self.expiry_ms:
                self.lose(node)
                died.append(node)
        self.expired += len(died)
        return died

    def is_stale(self, node: Datanode, now_ms: int) -> bool:
        return now_ms - node.last_heartbeat_ms > self.stale_ms
