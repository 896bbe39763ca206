"""The state of the namenode in one place, and the step from request to edit (pure).

Part of Hadoop's `FSNamesystem`. A call checks permissions and state, and raises where
they do not allow it; then it commits one or more edits. `commit` applies an edit to the
namespace and appends its record to the journal; every answer is held back until the edits
that it may show are durable. Nothing else changes the namespace (D4).

A standby makes no edits: it follows those of the active, record by record (`follow`).
`become_active` and `become_standby` are all that the change of a role means to the state;
who has a part in it subscribes to `on_role`.

What belongs to blocks is in `block_manager`, what belongs to datanodes in `datanode_manager`.
What stands before an edit: `resolver` for the path, `permissions`, `limits` and `safe_mode`.

Time and random numbers come from outside: `Clock` and `Dice`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Protocol

from howdah import errors
from howdah.config import keys
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.namenode.service.block_manager import BlockManager
from howdah.namenode.service.block_tokens import BlockTokens
from howdah.namenode.service.calls.caching import Caching
from howdah.namenode.service.calls.limits import Limits
from howdah.namenode.service.calls.path_resolver import PathResolver
from howdah.namenode.service.calls.permissions import Identities, Permissions
from howdah.namenode.service.calls.retry_cache import RetryCache
from howdah.namenode.service.calls.settings import Clock, Settings
from howdah.namenode.service.calls.zone_keys import ZoneKeys
from howdah.namenode.service.datanode_manager import DatanodeManager
from howdah.namenode.service.role import Role
from howdah.namenode.state.blocks.datanodes import DatanodeRegistry
from howdah.namenode.state.blocks.network import Dice, Network
from howdah.namenode.state.blocks.placement import Placement
from howdah.namenode.state.blocks.safe_mode import SafeMode
from howdah.namenode.state.blocks.slow_nodes import SlowPeers
from howdah.namenode.state.blocks.topology import RackMap
from howdah.namenode.state.caching.adaptive import Adaptive
from howdah.namenode.state.inodes.block_events import EditDoesNotFit, NamespaceBroken
from howdah.namenode.state.tree.namespace import Namespace

log = logging.getLogger(__name__)

REAP_AT_ONCE: Final = 1000
"""Deleted inodes freed within the call that deleted them; the rest goes in slices."""


class EditSink(Protocol):
    """Takes the record of each edit, in order. A list does, where nobody reads a log."""

    def append(self, record: bytes, /) -> object: ...


class Namesystem:
    """The namespace with all that belongs to it, and the edits that change it."""

    def __init__(
        self,
        namespace: Namespace,
        settings: Settings,
        permissions: Permissions,
        clock: Clock,
        dice: Dice,
        racks: RackMap,
    ) -> None:
        self.namespace: Final = namespace
        _set_default_coding_policy(namespace, settings.default_coding_policy)
        self.settings = settings
        """Some are changed while the namenode runs: see `protocols.refresh`."""
        self.clock: Final = clock
        self.dice = dice
        self.permissions: Final = permissions
        self.identities: Final = Identities(permissions, clock.monotonic_ms, settings.identity_ms)
        self.resolver: Final = PathResolver(namespace, permissions, self.identities)
        self.limits: Final = Limits(namespace, settings)
        self.leases: Final = namespace.leases
        self.leases.hard_limit_ms = settings.lease_hard_limit_ms
        self.leases.soft_limit_ms = settings.lease_soft_limit_ms
        now_ms = clock.monotonic_ms()
        self.safe_mode: Final = _safe_mode(settings)
        self.role: Final = Role(self.safe_mode, now_ms)
        network = Network()
        datanodes = DatanodeRegistry(
            network, expiry_ms=settings.heartbeat_expiry_ms, stale_ms=settings.stale_datanode_ms
        )
        slow_peers = SlowPeers(settings.max_slow_nodes, settings.slow_holds_ms)
        placement = Placement(network, dice, settings.placement, settings.load)
        self.block_manager: Final = BlockManager(
            namespace, datanodes, slow_peers, placement, settings, clock, self.role
        )
        self.caching: Final = _caching(
            namespace, self.block_manager, datanodes, settings, clock, dice, self.role
        )
        self.datanode_manager: Final = DatanodeManager(
            datanodes,
            slow_peers,
            racks,
            self.block_manager,
            self.caching,
            settings,
            clock,
            self.role,
        )
        self.retry_cache: Final = RetryCache(settings.retry_cache_expiry_ms)
        namespace.follow_calls(self._call_logged)
        self.block_tokens: BlockTokens | None = None
        """What signs blocks for clients; None where datanodes ask for no tokens. Who makes the
        namesystem sets it before the first call."""
        self.zone_keys: ZoneKeys | None = None
        """Keys for new files in encryption zones; None where no key server is configured. Set as
        that is."""
        self.key_provider_trouble = ""
        """Why the key servers that are configured are not asked."""
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
        self.on_role: Final[list[Callable[[], None]]] = [self.caching.role_changed]
        """Called after the role has changed to active, or from active or standby to standby."""
        self.when_broken: Callable[[str], None] = lambda why: None
        """Called when that happens: the shell stops."""
        self._expected_of_txid = 0
        self._has_role = False
        self.leases.renew_all(now_ms)
        self.safe_mode.expect(self.block_manager.blocks.count_all())
        self.safe_mode.update(0, 0, now_ms)

    # Changing.

    def commit(self, edit: edits.Edit) -> None:
        """Make a checked change: apply it, and append its record to the journal.

        Raises IllegalArgument, with nothing changed, for what no record can hold, and
        NamespaceBroken if the edit fails (see `broken`).
        """
        if self.broken is not None:
            raise NamespaceBroken(self.broken)
        assert self.role.writable, "only an active namenode makes edits"
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
        assert not self.role.writable, "an active namenode follows nobody"
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
        self, cause: str, consequence: str, edit: edits.Edit, error: Exception
    ) -> NamespaceBroken:
        """The edit was checked before it was made: so this is a defect, not a refusal."""
        self.broken = (
            f"{cause}. The namespace in memory cannot be trusted: no call is answered and no image "
            f"is written any more, {consequence}"
        )
        log.critical("%s. The edit: %s", self.broken, edit, exc_info=error)
        self.when_broken(self.broken)
        return NamespaceBroken(self.broken)

    def reap(self, max_inodes: int = REAP_AT_ONCE) -> bool:
        """Free deleted inodes and invalidate their replicas; True while there is more."""
        self.namespace.reap(max_inodes)
        return self.namespace.must_reap

    # Roles.

    def become_standby(self) -> None:
        """This namenode follows the log of another one from now on, if it does not already."""
        self.role.writable = False
        self.at_segment_end = True
        if not self._has_role:
            self.safe_mode.begin()  # What the namespace has at the start may be very old.
        self.safe_mode.is_behind = True
        self.block_manager.become_standby()
        self.datanode_manager.membership.start_over()
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
        self.role.writable = True
        self.safe_mode.is_behind = False
        now_ms = self.role.active_since_ms = self.clock.monotonic_ms()
        # Nobody could renew a lease while no namenode was active.
        self.leases.renew_all(now_ms)
        self.block_manager.become_active()
        self.namespace.marks.start_over()
        self.datanode_manager.membership.start_over()
        self._role_changed()
        self.update_safe_mode()

    def note_room(self, trouble: str) -> None:
        """`trouble` says where there is no room for the log, and is empty if there is enough.
        Hadoop: NameNodeResourceMonitor. Without it an active makes no edits: it ends when one
        cannot be written. Who writes no log needs no room."""
        safe_mode = self.safe_mode
        if trouble and self.role.writable:
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

    # Time passing.

    def tick(self) -> None:
        """Work that needs no call; the shell begins it every second or so."""
        self.datanode_manager.expire()
        if self.block_tokens is not None:
            self.block_tokens.turn()
        self.update_safe_mode()

    def update_safe_mode(self) -> None:
        if not self.safe_mode.on:
            return
        if self._expected_of_txid != self.last_txid:
            # What is followed in safe mode changes how many blocks there are.
            self._expected_of_txid = self.last_txid
            self.safe_mode.expect(self.namespace.blocks.count_settled())
        self.safe_mode.update(
            self.block_manager.blocks.safe_count,
            len(self.datanode_manager.datanodes.live()),
            self.clock.monotonic_ms(),
        )


def _set_default_coding_policy(namespace: Namespace, name: str) -> None:
    """Raises InvalidConfiguration for a name that no policy has."""
    policies = namespace.coding_policies
    if name and policies.named(name) is None:
        known = ", ".join(sorted(policy.name for policy, _ in policies.all()))
        raise errors.InvalidConfiguration(
            f"{keys.DFS_NAMENODE_EC_SYSTEM_DEFAULT_POLICY.name} = {name} is not the name of an "
            f"erasure coding policy; there are {known}"
        )
    policies.default_name = name


def _safe_mode(settings: Settings) -> SafeMode:
    """As at a start, before the blocks are counted."""
    return SafeMode(
        total_blocks=0,
        threshold=settings.safe_mode_threshold,
        min_datanodes=settings.safe_mode_min_datanodes,
        extension_ms=settings.safe_mode_extension_ms,
        host=settings.host,
    )


def _caching(
    namespace: Namespace,
    block_manager: BlockManager,
    datanodes: DatanodeRegistry,
    settings: Settings,
    clock: Clock,
    dice: Dice,
    role: Role,
) -> Caching:
    adaptive = None
    if settings.cache_adaptive:
        adaptive = Adaptive(settings.cache_half_life_ms, settings.cache_reads_per_replica)
    return Caching(
        namespace,
        block_manager.blocks,
        datanodes,
        clock,
        dice,
        role,
        enabled=settings.caching_enabled,
        refresh_ms=settings.cache_refresh_ms,
        retry_ms=settings.cache_retry_ms,
        adaptive=adaptive,
    )
