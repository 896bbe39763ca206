"""Observes the states of blocks and leases at a namenode, and which event changes them.

A `Recorder` wraps what may change a state: edits, the reports that complete a block,
attempts of recoveries, renewals, and removal. It holds every transition that it observes
against the tables in `block_states` and `lease_states`, so a test in which another one
happens fails there and then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from howdah.namenode.service.writing.block_recovery import BlockRecovery
from howdah.namenode.state.blocks import block_states
from howdah.namenode.state.blocks.block_map import BlockMap
from howdah.namenode.state.blocks.block_states import BLOCK_TRANSITIONS, BlockPhase
from howdah.namenode.state.inodes.block_rows import Beside
from howdah.namenode.state.inodes.block_table import Block, BlockState, BlockTable
from howdah.namenode.state.tree import lease_states
from howdah.namenode.state.tree.lease_states import LEASE_TRANSITIONS, LeasePhase
from howdah.namenode.state.tree.leases import LeaseRegistry
from howdah.namenode.state.tree.namespace import Namespace

BlockRow = tuple[BlockPhase, str, BlockPhase]
LeaseRow = tuple[LeasePhase, str, LeasePhase]

BLOCK_ROWS = frozenset((row.before, row.event, row.after) for row in BLOCK_TRANSITIONS)
LEASE_ROWS = frozenset((row.before, row.event, row.after) for row in LEASE_TRANSITIONS)


class Recorder:
    """`blocks` and `leases` are the rows of the tables that were observed so far."""

    def __init__(self) -> None:
        self.blocks: set[BlockRow] = set()
        self.leases: set[LeaseRow] = set()
        # The edit that is applied, or another event that is under way.
        self._events: list[str] = []
        # By the `id` of a table of blocks, or of leases.
        self._recovered: defaultdict[int, set[int]] = defaultdict(set)
        self._lease_phases: defaultdict[int, dict[int, LeasePhase]] = defaultdict(dict)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Observe all namenodes until `monkeypatch` is undone."""
        self._forget_predecessors(monkeypatch)
        self._observe_edits(monkeypatch)
        self._observe_blocks(monkeypatch)
        self._observe_recoveries(monkeypatch)
        self._observe_leases(monkeypatch)

    @contextmanager
    def _during(self, event: str) -> Iterator[None]:
        self._events.append(event)
        try:
            yield
        finally:
            self._events.pop()

    def _forget_predecessors(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A new table may have the `id` of one that is gone."""
        new_blocks, new_leases = Beside.__init__, LeaseRegistry.__init__

        def forgetful_blocks(beside: Beside, *args: Any, **how: Any) -> None:
            self._recovered.pop(id(beside), None)
            new_blocks(beside, *args, **how)

        def forgetful_leases(leases: LeaseRegistry, *args: Any, **how: Any) -> None:
            self._lease_phases.pop(id(leases), None)
            new_leases(leases, *args, **how)

        monkeypatch.setattr(Beside, "__init__", forgetful_blocks)
        monkeypatch.setattr(LeaseRegistry, "__init__", forgetful_leases)

    def _observe_edits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        apply = Namespace.apply

        def observed(namespace: Namespace, edit: Any, *args: Any, **how: Any) -> Any:
            with self._during(edit.opcode.name):
                return apply(namespace, edit, *args, **how)

        monkeypatch.setattr(Namespace, "apply", observed)

    # Blocks.

    def _phase(self, block: Block) -> BlockPhase:
        is_recovered = block.block_id in self._recovered[id(block._table)]
        return block_states.phase_of(block.state, is_recovered=is_recovered)

    def _note_block(self, before: BlockPhase, event: str, after: BlockPhase) -> None:
        row = (before, event, after)
        assert row in BLOCK_ROWS, f"{row} is not in the table of block states"
        self.blocks.add(row)

    def _observe_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        state_of_block = Block.__dict__["state"]
        assert isinstance(state_of_block, property)
        set_state = state_of_block.fset
        assert set_state is not None, "it can be set"
        new, pop, complete = BlockTable.new, BlockTable.pop, BlockMap._complete_if_safe

        def observed_state(block: Block, state: BlockState) -> None:
            before = self._phase(block)
            set_state(block, state)
            # Outside of all events an image is loaded, or a test prepares something.
            if self._events and block_states.phase_of(state, is_recovered=True) is not before:
                after = block_states.phase_of(state, is_recovered=False)
                if after is not before:
                    self._recovered[id(block._table)].discard(block.block_id)
                    self._note_block(before, self._events[-1], after)

        def observed_new(table: BlockTable, block_id: int, *args: Any, **how: Any) -> Block:
            self._recovered[id(table.beside)].discard(block_id)
            block = new(table, block_id, *args, **how)
            if self._events:
                self._note_block(BlockPhase.NONE, self._events[-1], self._phase(block))
            return block

        def observed_pop(table: BlockTable, block_id: int) -> Block | None:
            block = table.get(block_id)
            if block is not None:
                self._note_block(self._phase(block), block_states.REMOVED, BlockPhase.REMOVED)
                self._recovered[id(table.beside)].discard(block_id)
            return pop(table, block_id)

        def observed_complete(block_map: BlockMap, block: Block) -> None:
            with self._during(block_states.REPORTED):
                complete(block_map, block)

        monkeypatch.setattr(Block, "state", property(state_of_block.fget, observed_state))
        monkeypatch.setattr(BlockTable, "new", observed_new)
        monkeypatch.setattr(BlockTable, "pop", observed_pop)
        monkeypatch.setattr(BlockMap, "_complete_if_safe", observed_complete)

    def _observe_recoveries(self, monkeypatch: pytest.MonkeyPatch) -> None:
        go_on = BlockRecovery._go_on

        def attempts(recovery: BlockRecovery, block_id: int) -> int:
            found = recovery._recoveries.get(block_id)
            return 0 if found is None else found.attempts

        def observed(recovery: BlockRecovery, block_id: int) -> None:
            block = recovery._namesystem.namespace.blocks.get(block_id)
            earlier = attempts(recovery, block_id)
            go_on(recovery, block_id)
            if block is not None and attempts(recovery, block_id) > earlier:
                before = self._phase(block)
                self._recovered[id(block._table)].add(block_id)
                self._note_block(before, block_states.ATTEMPT, self._phase(block))

        monkeypatch.setattr(BlockRecovery, "_go_on", observed)

    # Leases.

    def _note_lease(
        self, leases: LeaseRegistry, inode_id: int, event: str, after: LeasePhase
    ) -> None:
        phases = self._lease_phases[id(leases)]
        before = phases.pop(inode_id, LeasePhase.NONE)
        if after is not LeasePhase.NONE:
            phases[inode_id] = after
        row = (before, event, after)
        assert row in LEASE_ROWS, f"{row} is not in the table of lease states"
        self.leases.add(row)

    def _let_time_pass(self, leases: LeaseRegistry) -> None:
        """The leases that expired until now, before something else happens."""
        for inode_id, known in list(self._lease_phases[id(leases)].items()):
            now = lease_states.phase_of(leases, inode_id, leases._clock_ms)
            if known is LeasePhase.HELD and now in (
                LeasePhase.SOFT_EXPIRED,
                LeasePhase.HARD_EXPIRED,
            ):
                known = LeasePhase.SOFT_EXPIRED
                self._note_lease(leases, inode_id, lease_states.SOFT_LIMIT, known)
            if known is LeasePhase.SOFT_EXPIRED and now is LeasePhase.HARD_EXPIRED:
                self._note_lease(leases, inode_id, lease_states.HARD_LIMIT, now)

    def _observe_leases(self, monkeypatch: pytest.MonkeyPatch) -> None:
        grant, release = LeaseRegistry.grant, LeaseRegistry.release
        advance, renew = LeaseRegistry.advance, LeaseRegistry.renew

        def observed_grant(leases: LeaseRegistry, holder: str, inode_id: int) -> None:
            grant(leases, holder, inode_id)
            # Whoever opens a file renews the lease in the same call.
            now_ms = leases._leases[holder].renewed_ms
            after = lease_states.phase_of(leases, inode_id, now_ms)
            if self._events:
                self._note_lease(leases, inode_id, self._events[-1], after)
            else:  # An image is loaded.
                self._lease_phases[id(leases)][inode_id] = after

        def observed_release(leases: LeaseRegistry, inode_id: int) -> None:
            event = self._events[-1] if self._events else ""
            if not event:
                self._lease_phases[id(leases)].pop(inode_id, None)
            elif inode_id in self._lease_phases[id(leases)] and event != "OP_REASSIGN_LEASE":
                closes = event == "OP_CLOSE"
                self._note_lease(
                    leases, inode_id, event if closes else lease_states.DELETED, LeasePhase.NONE
                )
            release(leases, inode_id)

        def observed_advance(leases: LeaseRegistry, now_ms: int) -> None:
            advance(leases, now_ms)
            self._let_time_pass(leases)

        def observed_renew(leases: LeaseRegistry, holder: str, now_ms: int) -> None:
            renew(leases, holder, now_ms)
            lease = leases._leases.get(holder)
            for inode_id in lease.inode_ids if lease is not None else ():
                known = self._lease_phases[id(leases)].get(inode_id)
                if known not in (None, LeasePhase.RECOVERING):
                    self._note_lease(leases, inode_id, lease_states.RENEWED, LeasePhase.HELD)

        monkeypatch.setattr(LeaseRegistry, "grant", observed_grant)
        monkeypatch.setattr(LeaseRegistry, "release", observed_release)
        monkeypatch.setattr(LeaseRegistry, "advance", observed_advance)
        monkeypatch.setattr(LeaseRegistry, "renew", observed_renew)
