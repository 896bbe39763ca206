"""What the namenodes of one nameservice share: its namespace, its block pool, its active.

The state of BPOfferService in Hadoop. The actors of a nameservice (`namenode_actor`) are
threads; each asks here before it serves its namenode and before it obeys it:

1. The first namenode that answers versionRequest says which namespace this is. A namenode
   of the same nameservice that names another one is refused for as long as it does.
2. The data directories join the namespace, and the data process serves its block pool,
   before any namenode of it is registered with: clients may come as soon as one is.
3. An order is obeyed if it comes from the active (`active_tracker`) and is about blocks of
   this pool. A namenode has no say about the blocks of another nameservice.
4. The replicas of an order to delete are left out of full reports from the same moment on:
   whoever is heard as the next active sees none of them (`replica_index`).
5. A namenode that was taken out of the nameservice is not heard any more. An answer that it
   owed is dropped, and counts neither for it, should it come again, nor for another one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from howdah import errors
from howdah.datanode.control.active_tracker import ActiveTracker, Change
from howdah.datanode.control.directories import DataDirectories
from howdah.datanode.control.reports import Namespace
from howdah.datanode.state.commands import FinalizeUpgrade, Order
from howdah.datanode.state.messages import (
    Cache,
    Command,
    Identity,
    Invalidate,
    KeepDeleted,
    LeaveVolume,
    Reconstruct,
    RecoverBlock,
    RecoverGroup,
    ServePool,
    Transfer,
)
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock, signed64

log = logging.getLogger(__name__)

_SERVING_TIMEOUT_S = 60.0


@dataclass(slots=True, eq=False)
class Member:
    """A namenode of a nameservice, from its coming to its leaving. The same namenode may come
    again as another member, while it still owes an answer as this one."""

    name: str
    has_left: bool = False


class BlockPool:
    """Keeps the block pool of one nameservice. Any thread may call any method."""

    def __init__(
        self,
        nameservice: str,
        directories: DataDirectories,
        command: Callable[[Command], None],
        will_delete: Callable[[Iterable[ExtendedBlock]], None],
        known: Callable[[], None] = lambda: None,
    ) -> None:
        """`will_delete` is told of replicas to be deleted before an order to do so counts as
        obeyed. `known` is called when a namenode has said which block pool it is."""
        self.nameservice = nameservice
        self._directories = directories
        self._command = command
        self._will_delete = will_delete
        self._on_known = known
        self._joining = threading.Lock()
        self._changed = threading.Condition()
        self._namespace: Namespace | None = None
        self._claim = ActiveTracker()
        self._is_served = False
        self._stopping = False
        self._keeps_deleted: bool | None = None

    @property
    def pool_id(self) -> str | None:
        """None until a namenode has said it."""
        namespace = self._namespace
        return None if namespace is None else namespace.pool_id

    @property
    def namespace(self) -> Namespace | None:
        """None until a namenode has said it."""
        return self._namespace

    @property
    def active(self) -> str | None:
        """The active namenode."""
        return self._claim.active

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def close(self) -> str | None:
        """The nameservice was taken out of the configuration: from now on nobody joins, and
        nobody is obeyed. Returns the block pool, if it is known."""
        self.stop()
        with self._joining:
            pool_id = self.pool_id
            if pool_id is not None:
                self._directories.release_pool(pool_id)
            return pool_id

    def namenode_left(self, namenode: Member) -> None:
        """This namenode was taken out of the nameservice: nothing that it says counts from now
        on."""
        with self._changed:
            namenode.has_left = True
            self._claim.note_heartbeat(namenode.name, claims=False, txid=self._claim.txid)
            self._changed.notify_all()

    def _is_dropped(self, namenode: Member, subject: str) -> bool:
        """Return whether nobody listens to `namenode` any more, which is logged. Call it with the
        lock."""
        if not (self._stopping or namenode.has_left):
            return False
        log.info("namenode %s is left, and %s is dropped", namenode.name, subject)
        return True

    # --- joining ---

    def join(self, member: Member, namespace: Namespace, node: DatanodeAddress) -> None:
        """Have the block pool served; `node` is this datanode as the namenode shall know it.

        Raises InconsistentStorage for a namespace that is not this one, and whatever
        `DataDirectories.join` raises; RetriableError when the datanode or this nameservice
        ends, or the namenode has left it.
        """
        with self._joining:
            self._check_member(member)
            self._check(namespace)
            for volume, reason in self._directories.join(namespace):
                self._command(LeaveVolume(volume.storage_id, reason))
            self._command(Identity(namespace.pool_id, node))
            self._namespace = namespace
            self._command(ServePool(namespace.pool_id))
            self._on_known()
            self._wait_until_served(member, namespace.pool_id)

    def _check_member(self, member: Member) -> None:
        with self._changed:
            if self._stopping:
                raise errors.RetriableError(f"nameservice {self.nameservice} is left")
            if member.has_left:
                raise errors.RetriableError(f"namenode {member.name} is left")

    def _check(self, namespace: Namespace) -> None:
        known = self._namespace
        if known is None:
            self._directories.claim_pool(namespace.pool_id, self.nameservice)
            return
        if known.pool_id != namespace.pool_id:
            raise errors.InconsistentStorage(
                f"its block pool was {known.pool_id} and is now {namespace.pool_id}"
            )
        if (known.namespace_id, known.cluster_id) != (namespace.namespace_id, namespace.cluster_id):
            raise errors.InconsistentStorage(
                f"block pool {known.pool_id} was of namespace {known.namespace_id} in cluster "
                f"{known.cluster_id} and is now of namespace {namespace.namespace_id} in cluster "
                f"{namespace.cluster_id}"
            )
        if known.ctime_ms != namespace.ctime_ms:
            raise errors.InconsistentStorage(
                "it was upgraded or rolled back: this datanode has to be started anew"
            )

    def served(self, pool_id: str) -> None:
        """The data process serves this block pool now."""
        with self._changed:
            if pool_id == self.pool_id:
                self._is_served = True
                self._changed.notify_all()

    def _wait_until_served(self, member: Member, pool_id: str) -> None:
        with self._changed:
            if not self._changed.wait_for(
                lambda: self._stopping or member.has_left or self._is_served, _SERVING_TIMEOUT_S
            ):
                raise errors.RemoteError(
                    f"the data process does not serve {pool_id} within {_SERVING_TIMEOUT_S:g} s"
                )

    # --- obeying ---

    def note_heartbeat(self, member: Member, status: pb.NNHAStatusHeartbeatProto) -> None:
        """What a namenode says of itself in the answer of a heartbeat."""
        namenode = member.name
        claims = status.state == pb.NNHAStatusHeartbeatProto.ACTIVE
        txid = signed64(status.txid)
        with self._changed:
            if self._is_dropped(member, "the answer to its last heartbeat"):
                return
            before, newest = self._claim.active, self._claim.txid
            change = self._claim.note_heartbeat(namenode, claims=claims, txid=txid)
        where = f"{self.pool_id}: namenode {namenode}"
        match change:
            case Change.TAKEN_OVER if before is None:
                log.info("%s is active, at transaction %d", where, txid)
            case Change.TAKEN_OVER:
                log.warning("%s takes over from %s, at transaction %d", where, before, txid)
            case Change.GIVEN_UP:
                log.warning("%s is no longer active, at transaction %d", where, txid)
            case Change.STALE:
                log.warning(
                    "%s claims to be active at transaction %d; its orders are not obeyed, since "
                    "%s has claimed it at transaction %d",
                    where,
                    txid,
                    before or "another one",
                    newest,
                )

    def heard_of_upgrade(self, member: Member, status: types_pb2.RollingUpgradeStatusProto) -> None:
        """What a namenode says of a rolling upgrade of its own; only the active counts. It
        comes before the orders of the same answer, and so do its consequences."""
        pool_id, namenode = self.pool_id, member.name
        if pool_id is None or status.blockPoolId != pool_id:
            return
        keeps = not status.finalized
        with self._changed:
            if self._stopping or member.has_left or self.active != namenode:
                return
            is_news = keeps != self._keeps_deleted
            self._keeps_deleted = keeps
        if is_news:
            self._command(KeepDeleted(pool_id, keeps))
            log.warning(
                "%s: namenode %s %s",
                pool_id,
                namenode,
                "is in a rolling upgrade: what it deletes is kept in the trash"
                if keeps
                else "has finalized its rolling upgrade: the trash is deleted",
            )

    def obeys(self, member: Member, order: Order) -> bool:
        """Whether this order of this namenode is to be obeyed; logged where it is not."""
        strange = sorted(_pools_of(order) - {self.pool_id})
        with self._changed:
            if self._is_dropped(member, f"its order {type(order).__name__}"):
                return False
            namenode = member.name
            is_from_active = self._claim.obeys(namenode, order)
            if is_from_active and not strange and isinstance(order, Invalidate):
                self._will_delete(order.blocks)
        if not is_from_active:
            log.warning(
                "%s: an order of namenode %s, which is not active, is not obeyed: %s",
                self.pool_id,
                namenode,
                type(order).__name__,
            )
            return False
        if strange:
            log.error(
                "%s: an order of namenode %s is about the block pool of another nameservice "
                "and is not obeyed: %s of %s",
                self.pool_id,
                namenode,
                type(order).__name__,
                ", ".join(strange),
            )
        return not strange


def _pools_of(order: Order) -> set[str]:
    match order:
        case Invalidate(blocks):
            return {block.pool_id for block in blocks}
        case Transfer(block) | RecoverBlock(block) | RecoverGroup(block) | Reconstruct(block):
            return {block.pool_id}
        case FinalizeUpgrade(pool_id) | Cache(pool_id):
            return {pool_id}
        case _:
            return set()
