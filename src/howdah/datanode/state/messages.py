"""What control process and data process say to each other (pure).

The two are one program, forked, and the channel is a socket pair that nobody
else can open. So messages are pickled dataclasses with their length in front:
there is no stranger to defend against and no other version to understand.
`decode` still refuses what isn't one of these types.
"""

from __future__ import annotations

import enum
import pickle
import struct
from dataclasses import dataclass

from howdah import errors
from howdah.formats.tokens.block_keys import ExportedKeys
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType
from howdah.protocol.striping.policies import Policy

_LENGTH = struct.Struct(">I")
LENGTH_BYTES = _LENGTH.size


# --- from the data process ---


@dataclass(frozen=True, slots=True)
class ReplicaOpened:
    """A replica is being written, or was, and is `left_over` (RECEIVING)."""

    block: ExtendedBlock
    storage_id: str
    left_over: bool = False
    """It waits for recovery (RWR), and `block` has its length."""


@dataclass(frozen=True, slots=True)
class ReplicaReceived:
    """A replica is finalized; `block` has its length (RECEIVED)."""

    block: ExtendedBlock
    storage_id: str
    delete_hint: str = ""
    """The datanode, by its uuid, that is to lose its replica: this one was moved from there."""


@dataclass(frozen=True, slots=True)
class ReplicaDeleted:
    """A replica is gone from the disk."""

    block: ExtendedBlock
    storage_id: str


@dataclass(frozen=True, slots=True)
class CopiesCounted:
    """Copies of replicas in memory take so many bytes more on this volume, or fewer."""

    pool_id: str
    storage_id: str
    change_bytes: int


@dataclass(frozen=True, slots=True)
class DeletionEnded:
    """An order to delete this replica was carried out, or could not be; it does nothing more."""

    block: ExtendedBlock


@dataclass(frozen=True, slots=True)
class CorruptFound:
    """A replica does not fit its checksums: at `node`, or here at `storage_id`."""

    block: ExtendedBlock
    storage_id: str
    node: DatanodeAddress | None
    reason: str


@dataclass(frozen=True, slots=True)
class ReplicaSuspect:
    """Somebody met an error at this replica, which may be its fault: it is to be verified."""

    block: ExtendedBlock
    storage_id: str


@dataclass(frozen=True, slots=True)
class VolumeFailed:
    """The volume can't be used any more, nor the replicas on it."""

    storage_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReportAsked:
    """An administrator asks for a block report now."""

    incremental: bool
    namenode: str = ""
    """Its address, if only that one is to have it."""


@dataclass(frozen=True, slots=True)
class ShutdownAsked:
    """An administrator asks the datanode to stop."""

    for_upgrade: bool


@dataclass(frozen=True, slots=True)
class ReconfigurationAsked:
    """An administrator asks for a new look at the configuration."""


@dataclass(frozen=True, slots=True)
class NamenodesAsked:
    """An administrator asks which namenodes the configuration names by now."""

    number: int = 0
    """The answer has it, too: one that comes too late is not taken for that of the next."""


@dataclass(frozen=True, slots=True)
class PoolDeleted:
    """An administrator had what this datanode held of a block pool deleted."""

    pool_id: str


@dataclass(frozen=True, slots=True)
class VolumeRemoved:
    """The volume is used no more, as it was ordered; nothing of it is left in memory."""

    storage_id: str
    number: int = -1
    """Of the order: the same directory may be a volume again, and be removed again."""


@dataclass(frozen=True, slots=True)
class PoolServed:
    """Blocks of the pool can be read and written from now on."""

    pool_id: str


@dataclass(frozen=True, slots=True)
class BlockSynchronized:
    """A recovery has come to its end: what the namenode `ordered_by` is to be told.

    `block` is the block as it was ordered. Its replicas at `nodes`, on `storage_ids`, have
    `new_length_bytes` and the stamp `new_stamp` now; or nobody has a byte of it, and it is
    to be dropped from its file (`delete`).
    """

    block: ExtendedBlock
    new_stamp: int
    new_length_bytes: int
    delete: bool
    nodes: tuple[DatanodeAddress, ...]
    storage_ids: tuple[str, ...]
    ordered_by: str


@dataclass(frozen=True, slots=True)
class SlowPeer:
    """A datanode that takes packets much slower than others do; all in milliseconds."""

    name: str
    """`ip:port`."""
    mean_ms: float
    median_ms: float
    deviation_ms: float
    limit_ms: float


@dataclass(frozen=True, slots=True)
class SlowDisk:
    """A volume whose disk is much slower than others of its type: milliseconds an operation;
    None for what is not slow."""

    path: str
    metadata_ms: float | None
    read_ms: float | None
    write_ms: float | None

    def means(self) -> tuple[tuple[str, float], ...]:
        """Return the means of what is slow, by name."""
        operations = (
            ("metadata", self.metadata_ms),
            ("read", self.read_ms),
            ("write", self.write_ms),
        )
        return tuple((name, mean) for name, mean in operations if mean is not None)


@dataclass(frozen=True, slots=True)
class CacheChanged:
    """Blocks that are kept in memory from now on, and such that are not any more."""

    pool_id: str
    cached: tuple[int, ...]
    uncached: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OutliersFound:
    """What is slow, for the next heartbeat."""

    peers: tuple[SlowPeer, ...]
    disks: tuple[SlowDisk, ...]


class Subject(enum.Enum):
    """What a process can be asked about itself."""

    STACKS = "where its threads are"
    LOG = "its last lines"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a `Question`, with its number."""

    number: int
    text: str


Event = (
    Answer
    | ReplicaOpened
    | ReplicaReceived
    | CopiesCounted
    | ReplicaDeleted
    | DeletionEnded
    | CorruptFound
    | ReplicaSuspect
    | VolumeFailed
    | ReportAsked
    | ShutdownAsked
    | ReconfigurationAsked
    | NamenodesAsked
    | PoolDeleted
    | VolumeRemoved
    | PoolServed
    | BlockSynchronized
    | OutliersFound
    | CacheChanged
)


# --- to the data process ---


@dataclass(frozen=True, slots=True)
class ServePool:
    """The directories of a block pool are ready; its blocks may be read and written."""

    pool_id: str


@dataclass(frozen=True, slots=True)
class LeavePool:
    """Its nameservice was taken out of the configuration: its blocks are not read or written
    any more. Their files stay."""

    pool_id: str


@dataclass(frozen=True, slots=True)
class NameservicesAwaited:
    """Those whose namenodes have yet to say which block pool is theirs, by name."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NamenodesRefreshed:
    """The namenodes are those of the configuration, or `problem` says why not."""

    problem: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Identity:
    """How this datanode is registered for a block pool: the source that its copies name."""

    pool_id: str
    node: DatanodeAddress


@dataclass(frozen=True, slots=True)
class KeysTold:
    """A namenode tells by which keys its block tokens are made."""

    pool_id: str
    keys: ExportedKeys


@dataclass(frozen=True, slots=True)
class Invalidate:
    """Delete these replicas."""

    blocks: tuple[ExtendedBlock, ...]


@dataclass(frozen=True, slots=True)
class KeepDeleted:
    """Whether replicas of this pool that are to be deleted from now on go to the trash."""

    pool_id: str
    keeps: bool


@dataclass(frozen=True, slots=True)
class Cache:
    """Keep these blocks in memory; or, with `is_over`, do so no more."""

    pool_id: str
    block_ids: tuple[int, ...]
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Transfer:
    """Copy a finalized replica to `targets`, which form a pipeline."""

    block: ExtendedBlock
    targets: tuple[DatanodeAddress, ...]
    storage_types: tuple[StorageType, ...]
    storage_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecoverBlock:
    """Be the primary of a recovery: bring the block's replicas at `nodes` to one length, under
    `recovery_id` as their stamp.

    For a truncate `target` is the block that is to come out, with its length: the same one,
    or another that the replicas are copied into.
    """

    block: ExtendedBlock
    recovery_id: int
    nodes: tuple[DatanodeAddress, ...]
    target: ExtendedBlock | None = None
    ordered_by: str = ""
    """The namenode that gave the order, by its address."""


@dataclass(frozen=True, slots=True)
class RecoverGroup:
    """Be the primary of a recovery of a block group: bring its internal blocks, of which `nodes`
    have those of `indices`, to one number of whole stripes, under `recovery_id` as their stamp.

    `committed_bytes` is the length of a group that its writer has settled: internal blocks that
    are as long as they are in such a group get the stamp, and no other length will do.
    """

    group: ExtendedBlock
    recovery_id: int
    nodes: tuple[DatanodeAddress, ...]
    indices: tuple[int, ...]
    policy: Policy
    ordered_by: str = ""
    """The namenode that gave the order, by its address."""
    committed_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Reconstruct:
    """Make lost internal blocks of a group anew, from those that `sources` have, of the indices
    in `live`, and write them to `targets`, one to each.

    Indices of `excluded` are not to be made: their datanodes are busy, and not gone.
    """

    group: ExtendedBlock
    policy: Policy
    sources: tuple[DatanodeAddress, ...]
    live: tuple[int, ...]
    targets: tuple[DatanodeAddress, ...]
    storage_types: tuple[StorageType, ...]
    storage_ids: tuple[str, ...]
    excluded: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckVolumes:
    """A volume looks broken from outside: have them all prove themselves."""


@dataclass(frozen=True, slots=True)
class Recheck:
    """These bytes of a finalized replica look damaged from outside: look again, and tell."""

    block: ExtendedBlock
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Reconcile:
    """Disk and memory differ at these replicas of a volume: look again, and act.

    `differences` are (block id, files that lie in another directory than theirs).
    """

    pool_id: str
    storage_id: str
    differences: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class LeaveVolume:
    """The control process could not use the volume: nobody is to."""

    storage_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class FoundReplica:
    """A replica that lies on a volume; `state` is the number of a `ReplicaState`."""

    block: ExtendedBlock
    state: int
    last_sum: bytes


@dataclass(frozen=True, slots=True)
class AddVolume:
    """A volume that is ready to be used, and what was found on it."""

    path: str
    storage_id: str
    storage_type: StorageType
    reserve: tuple[int, int, str]
    """Bytes, percent, and which of them counts."""
    number: int
    """Where its gauge is."""
    used_bytes: tuple[tuple[str, int], ...]
    """By block pool."""
    replicas: tuple[FoundReplica, ...]


@dataclass(frozen=True, slots=True)
class RemoveVolume:
    """The volume is taken out of the configuration: nobody is to use it."""

    storage_id: str
    number: int = -1
    """The answer has it, too."""


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """What became of a changed setting; `error` is empty where it is in effect."""

    name: str
    old: str
    new: str
    error: str


@dataclass(frozen=True, slots=True)
class Reconfigured:
    """The new look at the configuration has come to its end."""

    changes: tuple[PropertyChange, ...]


@dataclass(frozen=True, slots=True)
class BalanceBandwidth:
    """So many bytes a second may be moved for balancing, until the datanode ends."""

    bytes_per_second: int


@dataclass(frozen=True, slots=True)
class PlansTaken:
    """Whether plans to even out the volumes are taken, and how old they may be."""

    enabled: bool
    valid_s: float


@dataclass(frozen=True, slots=True)
class LogLevel:
    """Log this and above, under this logger; empty is the root."""

    name: str
    level: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the data process about itself."""

    number: int
    subject: Subject


@dataclass(frozen=True, slots=True)
class Stop:
    """End all operations and the process; `for_restart` if clients may wait for its return."""

    for_restart: bool = False


Command = (
    ServePool
    | LeavePool
    | NameservicesAwaited
    | NamenodesRefreshed
    | Identity
    | KeysTold
    | Invalidate
    | KeepDeleted
    | Transfer
    | RecoverBlock
    | RecoverGroup
    | Reconstruct
    | CheckVolumes
    | Recheck
    | Reconcile
    | LeaveVolume
    | AddVolume
    | RemoveVolume
    | Reconfigured
    | BalanceBandwidth
    | PlansTaken
    | LogLevel
    | Question
    | Cache
    | Stop
)
Message = Event | Command


def encode(message: Message) -> bytes:
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


class MessageBuffer:
    """Bytes of the channel, cut into messages."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        self._pending += data
        messages: list[Message] = []
        start = 0
        while len(self._pending) - start >= LENGTH_BYTES:
            (length,) = _LENGTH.unpack_from(self._pending, start)
            end = start + LENGTH_BYTES + length
            if end > len(self._pending):
                break
            messages.append(_decode(bytes(self._pending[start + LENGTH_BYTES : end])))
            start = end
        del self._pending[:start]
        return messages


def _decode(body: bytes) -> Message:
    message = pickle.loads(body)
    if not isinstance(message, Message):
        raise errors.ProtocolViolation(
            f"control process and data process do not say {type(message).__name__} to each other"
        )
    return message
