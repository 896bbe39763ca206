"""The state of the namenode in one place, and the step from request to edit (pure).

Part of Hadoop's `FSNamesystem`. A call checks permissions and state, and raises where
they do not allow it; then it commits one or more edits. `commit` applies an edit to the
namespace and appends its record to the journal; every answer is held back until the edits
that it may show are durable. Nothing else changes the namespace (D4).

A standby makes no edits: it follows those of the active, record by record (`follow`).
`become_active` and `become_standby` are all that the change of a role means to the state;
who has a part in it subscribes to `on_role`.

Time and random numbers come from outside: `Clock` and `Dice`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator
from typing import Final, Protocol

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.namenode.service.calls.caching import Caching
from howdah.namenode.service.calls.checks import Checks
from howdah.namenode.service.calls.permissions import Identity, Permissions
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.service.calls.retry_cache import RetryCache
from howdah.namenode.service.calls.settings import Clock, Settings
from howdah.namenode.service.datanode_manager import DatanodeManager
from howdah.namenode.state.blocks.block_map import BlockMap
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeRegistry
from howdah.namenode.state.blocks.decommission import DecommissionMonitor, MembershipSettings
from howdah.namenode.state.blocks.host_lists import Hosts
from howdah.namenode.state.blocks.network import Dice, Network
from howdah.namenode.state.blocks.placement import Placement
from howdah.namenode.state.blocks.reconstruction import Reconstruction, Streams
from howdah.namenode.state.blocks.safe_mode import SafeMode
from howdah.namenode.state.blocks.slow_nodes import SlowPeers
from howdah.namenode.state.blocks.topology import RackMap
from howdah.namenode.state.caching.adaptive import Adaptive
from howdah.namenode.state.inodes import paths, storage_policies
from howdah.namenode.state.inodes.block_events import EditDoesNotFit, NamespaceBroken
from howdah.namenode.state.inodes.inodes import Block, Directory, INode
from howdah.namenode.state.tree.namespace import Namespace

log = logging.getLogger(__name__)

REAP_AT_ONCE: Final = 1000
"""Deleted inodes freed within the call that deleted them; the rest goes in slices."""


class EditSink(Protocol):
    """Takes the record of each edit, in order. A list does, where nobody reads a log."""

    def append(self, record: bytes, /) -> object: ...


class Namesystem(Checks):
    """Everything that the operations work on."""

    def __init__(
        self,
        namespace: Namespace,
        settings: Settings,
        permissions: Permissions,
        clock: Clock,
        dice: Dice,
        racks: RackMap,
    ) -> None:
        super().__init__(namespace, settings, permissions, clock)
        self.dice = dice
        self.racks = racks
        self.leases = namespace.leases
        self.leases.hard_limit_ms = settings.lease_hard_limit_ms
        self.leases.soft_limit_ms = settings.lease_soft_limit_ms
        network = Network()
        self.datanodes = DatanodeRegistry(
            network, expiry_ms=settings.heartbeat_expiry_ms, stale_ms=settings.stale_datanode_ms
        )
        self.placement = Placement(network, dice, settings.placement, settings.load)
        self.blocks = BlockMap(
            namespace.blocks,
            settings.min_replication,
            namespace.measuring.wanted_replication,
            namespace.may_come,
            lambda: namespace.generation_stamp,
            settings.maintenance_replication,
            self.placement,
        )
        self.hosts = Hosts()
        self.slow_peers = SlowPeers(settings.max_slow_nodes, settings.slow_holds_ms)
        self.reconstruction = Reconstruction(
            self.blocks,
            self.datanodes,
            self.placement,
            pending_timeout_ms=settings.pending_copy_ms,
            blocks_per_node=settings.copies_per_node,
            streams=Streams(settings.max_streams, max(settings.max_streams, settings.most_streams)),
            avoid=self.gets_blocks_last,
            kinds_of=lambda block, replicas: storage_policies.kinds_on_repair(
                namespace.file_of(block), replicas, namespace.snapshots.shown_in
            ),
        )
        self.membership = DecommissionMonitor(
            self.blocks,
            MembershipSettings(
                default_replication=settings.default_replication,
                interval_ms=settings.leaving_interval_ms,
                blocks_per_round=settings.leaving_blocks_per_round,
                max_tracked=settings.leaving_nodes_at_once,
            ),
            lacks_nothing=self._lacks_nothing,
            is_open=lambda block: namespace.file_of(block).under_construction,
            changed=network.note,
        )
        self.caching = Caching(
            namespace,
            self.blocks,
            self.datanodes,
            clock,
            dice,
            enabled=settings.caching_enabled,
            refresh_ms=settings.cache_refresh_ms,
            retry_ms=settings.cache_retry_ms,
            adaptive=Adaptive(settings.cache_half_life_ms, settings.cache_reads_per_replica)
            if settings.cache_adaptive
            else None,
        )
        self.datanode_manager = DatanodeManager(
            self.datanodes, self.blocks, self.membership, self.caching, self.slow_peers, clock
        )
        self.retry_cache = RetryCache(settings.retry_cache_expiry_ms)
        namespace.follow_blocks(self.blocks.follow)
        namespace.follow_calls(self._call_logged)
        self.last_txid = 0
        """Transaction id of the last edit that was made or followed; the shell sets it to the
        journal's at the start."""
        self.at_segment_end = True
        """Whether nothing was followed since a segment of the log ended, or since the start."""
        self.journal: EditSink = []
        """Who is active sets it before the first edit."""
        self.broken: str | None = None
        """Why nothing that the namespace says may leave this process any more: an edit
        failed halfway. Set once, and for good."""
        self.writable = True
        """Whether edits may be made: in an active namenode only."""
        self.on_role: list[Callable[[], None]] = [self.caching.role_changed]
        """Called after the role has changed to active, or from active or standby to standby."""
        self.when_broken: Callable[[str], None] = lambda why: None
        """Called when that happens: the shell stops."""
        self._active_since_ms = clock.monotonic_ms()
        self._started_ms = self._active_since_ms
        self._expected_of_txid = 0
        self._has_role = False
        total = self.blocks.count_all()
        self.safe_mode = SafeMode(
            total_blocks=total,
            threshold=settings.safe_mode_threshold,
            min_datanodes=settings.safe_mode_min_datanodes,
            extension_ms=settings.safe_mode_extension_ms,
            host=settings.host,
        )
        self.leases.renew_all(clock.monotonic_ms())
        self.safe_mode.update(0, 0, clock.monotonic_ms())

    # Changing.

    def commit(self, edit: edits.Edit) -> None:
        """Make a checked change: apply it, and append its record to the journal.

        Raises IllegalArgument, with nothing changed, for what no record can hold, and
        NamespaceBroken if the edit fails (see `broken`).
        """
        if self.broken is not None:
            raise NamespaceBroken(self.broken)
        assert self.writable, "only an active namenode makes edits"
        record = encode_record(self.last_txid + 1, edit)
        self.leases.advance(self.clock.monotonic_ms())
        was_reaping = self.namespace.must_reap
        try:
            self.namespace.apply(edit)
        except Exception as error:
            raise self._break(
                f"applying {edit.opcode.name} as transaction {self.last_txid + 1} failed on a "
                f"defect ({type(error).__name__}: {error})",
                "the record of this edit is not in the log, and this process ends. A start "
                "replays the log up to the last transaction that is durable",
                edit,
                error,
            ) from error
        self.last_txid += 1
        self.journal.append(record)
        if not was_reaping and self.namespace.must_reap:
            self.namespace.reap(REAP_AT_ONCE)

    def follow(self, logged: edits.LoggedEdit) -> None:
        """At a standby: the next edit of the active, as its log has it. Leases, the answers to
        repeated calls and the block map follow from it as they do at the active.

        Raises NamespaceBroken if it does not fit what was followed before (see `broken`).
        """
        if self.broken is not None:
            raise NamespaceBroken(self.broken)
        assert not self.writable, "an active namenode follows nobody"
        edit = logged.edit
        self.leases.advance(self.clock.monotonic_ms())
        was_reaping = self.namespace.must_reap
        try:
            if logged.txid != self.last_txid + 1:
                raise EditDoesNotFit(f"transaction {self.last_txid + 1} comes next")
            self.namespace.apply(edit)
        except Exception as error:
            raise self._break(
                f"following {edit.opcode.name}, transaction {logged.txid} of the shared log, "
                f"failed ({type(error).__name__}: {error})",
                "this process ends. If a start from the newest image fails as well, copy the "
                "metadata of the active with 'howdah namenode -bootstrapStandby'",
                edit,
                error,
            ) from error
        self.last_txid = logged.txid
        self.at_segment_end = isinstance(edit, edits.EndLogSegmentOp)
        if not was_reaping and self.namespace.must_reap:
            self.namespace.reap(REAP_AT_ONCE)

    def _call_logged(self, client_id: bytes, call_id: int, made_id: int | None) -> None:
        """An edit carries this call. Its answer, where it is given here, follows."""
        now_ms = self.clock.monotonic_ms()
        self.retry_cache.remember(client_id, call_id, None, now_ms, made_id)

    def _break(
        self, what: str, consequence: str, edit: edits.Edit, error: Exception
    ) -> NamespaceBroken:
        """The edit was checked before it was made: so this is a defect, not a refusal."""
        self.broken = (
            f"{what}. The namespace in memory cannot be trusted: no call is answered and no image "
            f"is written any more, {consequence}"
        )
        log.critical("%s. The edit: %s", self.broken, edit, exc_info=error)
        self.when_broken(self.broken)
        return NamespaceBroken(self.broken)

    def reap(self, max_inodes: int = REAP_AT_ONCE) -> bool:
        """Free deleted inodes and invalidate their replicas; True while there is more."""
        self.namespace.reap(max_inodes)
        return self.namespace.must_reap

    def unheard(self, block: Block) -> str | None:
        """Which datanode may have a replica of an open block and has not reported since this
        namenode is active, in words; None if there is none. The pipelines of an active before
        are not known. A live datanode comes back before it would be called stale, and
        reports."""
        if self.blocks.knows_pipeline(block):
            return None
        if self.return_left_ms > 0:
            return (
                f"datanodes have {self.return_left_ms / 1000:g} s more to come back since this "
                "namenode became active"
            )
        for node in self.datanodes.live():
            if not node.storages or not all(s.reported for s in node.storages.values()):
                return f"datanode {node.name} has not reported yet what it has"
        return None

    @property
    def keeps_replicas(self) -> bool:
        """Whether no replica is deleted yet: this namenode started a moment ago."""
        after_ms = self.settings.deletions_after_ms
        return after_ms > 0 and self.clock.monotonic_ms() < self._started_ms + after_ms

    @property
    def return_left_ms(self) -> int:
        """So long, since this namenode is active, datanodes that it does not know may still
        come back; 0 if they had the time."""
        until_ms = self._active_since_ms + self.settings.stale_datanode_ms
        return max(0, until_ms - self.clock.monotonic_ms())

    def new_block_id(self) -> int:
        """The next id; it counts as used once an edit carries it. Not one under which a datanode
        has a replica from the future: that would be taken for the new block's."""
        block_id = self.namespace.last_block_id + 1
        while block_id in self.blocks.postponed:
            block_id += 1
        return block_id

    # Roles.

    def become_standby(self) -> None:
        """This namenode follows the log of another one from now on, if it does not already."""
        self.writable = False
        self.at_segment_end = True
        if not self._has_role:
            self.safe_mode.begin()  # What the namespace has at the start may be very old.
        self.safe_mode.is_behind = True
        self.blocks.become_standby(self.datanodes)
        self.reconstruction.start_over()
        self.membership.start_over()
        self._role_changed()

    def caught_up(self) -> None:
        """A standby has followed everything that the log had when it looked."""
        self.safe_mode.is_behind = False
        self.update_safe_mode()

    @property
    def is_behind(self) -> bool:
        """Whether a standby has yet to read the log to its end for the first time."""
        return self.safe_mode.is_behind

    def become_active(self) -> None:
        """The whole log was followed, and nobody else writes it: this namenode makes edits."""
        self.writable = True
        self.safe_mode.is_behind = False
        now_ms = self._active_since_ms = self.clock.monotonic_ms()
        # Nobody could renew a lease while no namenode was active.
        self.leases.renew_all(now_ms)
        for replica in self.blocks.postponed.beyond(self.namespace.generation_stamp):
            self.safe_mode.found_future(replica.block_id, replica.length_bytes)
        self.blocks.become_active(self.datanodes)
        self.namespace.marks.start_over()
        self.reconstruction.start_over()
        self.membership.start_over()
        self._role_changed()
        self.update_safe_mode()

    def note_room(self, trouble: str) -> None:
        """`trouble` says where there is no room for the log, and is empty if there is enough.
        Hadoop: NameNodeResourceMonitor. Without it an active makes no edits: it ends when one
        cannot be written. Who writes no log needs no room."""
        safe_mode = self.safe_mode
        if trouble and self.writable:
            if not safe_mode.lacks_room:
                log.warning("safe mode is on, until there is room for the log: %s", trouble)
                safe_mode.lose_room()
        elif safe_mode.lacks_room:
            log.info("there is room for the log again, or another namenode writes it")
            safe_mode.find_room()
            self.update_safe_mode()

    def _role_changed(self) -> None:
        self._has_role = True
        for tell in self.on_role:
            tell()

    # Directories that are made on the way.

    def ensure_parent(
        self,
        who: Identity,
        found: Resolved,
        mode: int | None,
        now_ms: int,
        unmasked: int | None = None,
    ) -> Directory:
        """The directory of a path that is about to be made: it is there, or is made now, as
        `create_missing_parents` says."""
        parent = found.parent
        if isinstance(parent, Directory):
            return parent
        self.create_missing_parents(who, found, len(found.components) - 1, mode, now_ms, unmasked)
        way = self.namespace.way_to(paths.join(found.components[:-1]))
        assert way is not None, "it was just made"
        return way.end

    def create_missing_parents(
        self,
        who: Identity,
        found: Resolved,
        count: int,
        mode: int | None,
        now_ms: int,
        unmasked: int | None = None,
    ) -> None:
        """Commit one MkdirOp for each missing directory among the first `count`
        components. With `mode` None they inherit the mode of the nearest existing
        one; either way the owner may write and enter them."""
        parent: INode = self.namespace.root
        for depth, name in enumerate(found.components[:count]):
            if not isinstance(parent, Directory):
                raise errors.ParentNotDirectory(
                    f"Parent path is not a directory: {parent.path} {name}"
                )
            child = parent.child(name)
            if child is None:
                path = paths.join(found.components[: depth + 1])
                paths.check_new_name(
                    found.path, name, parent.path, self.settings.max_component_bytes
                )
                self.check_room(parent)
                wanted, acl = self.initial_acl(
                    parent,
                    (parent.mode if mode is None else mode) | 0o300,
                    None if unmasked is None else unmasked | 0o300,
                    is_directory=True,
                )
                self.commit(
                    edits.MkdirOp(
                        self.new_inode_id(),
                        path,
                        now_ms,
                        edits.Permission(who.user, parent.group, wanted),
                        acl,
                    )
                )
                child = parent.children[name]
            parent = child
        if not isinstance(parent, Directory):
            raise errors.ParentNotDirectory(f"Parent path is not a directory: {parent.path}")

    # Time passing.

    def tick(self) -> None:
        """Work that needs no call; the shell begins it every second or so."""
        self.datanode_manager.expire()
        self.update_safe_mode()

    def update_safe_mode(self) -> None:
        if not self.safe_mode.on:
            return
        if self._expected_of_txid != self.last_txid:
            # What is followed in safe mode changes how many blocks there are.
            self._expected_of_txid = self.last_txid
            self.safe_mode.expect(self.namespace.blocks.count_settled())
        self.safe_mode.update(
            self.blocks.safe_count, len(self.datanodes.live()), self.clock.monotonic_ms()
        )

    @property
    def pending_deletions(self) -> int:
        """Orders to delete replicas that were not sent yet."""
        return sum(node.pending_deletions for node in self.datanodes)

    def redundancy_round(self) -> Generator[None, None, None]:
        """Sort out which blocks need something, and give out copies and deletions, in
        slices; nothing is given out in safe mode, or by a standby."""
        if self.safe_mode.on or not self.writable:
            yield from self.reconstruction.sort()
            return
        for _ in self.reconstruction.work(self.clock.monotonic_ms()):
            yield
            if self.safe_mode.on or not self.writable:
                return

    def caching_round(self) -> Generator[None, None, None] | None:
        """What is to be cached where is planned anew, in slices, if that is due."""
        return self.caching.round() if self.writable and not self.safe_mode.on else None

    def gets_blocks_last(self, now_ms: int) -> Callable[[Datanode], bool]:
        """The question whether a datanode gets replicas only where there is no other: one that is
        stale, or one that others find slow, if these are to be avoided."""
        slow: Collection[Datanode] = ()
        if self.settings.avoid_slow_for_writing:
            slow = self.slow_peers.slow(now_ms)
        if not slow:
            # As `is_stale`, without a call for each of them.
            heard_before_ms = now_ms - self.datanodes.stale_ms
            return lambda node: node.last_heartbeat_ms < heard_before_ms
        return lambda node: node in slow or self.datanodes.is_stale(node, now_ms)

    def _lacks_nothing(self) -> bool:
        """Whether no block lacks a replica, and no copy is under way."""
        counts = self.reconstruction.counts()
        lacking = counts.too_few + counts.missing + self.reconstruction.pending_count
        return not lacking and not self.blocks.redundancy.changed

    def membership_round(self) -> Generator[None, None, None] | None:
        """Datanodes that leave the service, or come back; in slices, if it is time for a round.
        None leaves it by the word of a standby, or of a namenode that is in safe mode."""
        now_ms = self.clock.monotonic_ms()
        if not self.membership.is_due(now_ms):
            return None
        return self.membership.round(
            now_ms, self.clock.wall_ms(), lambda: self.writable and not self.safe_mode.on
        )
