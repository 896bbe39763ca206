"""What must hold of namenodes at all times: checked while a world runs, and not only at its end.

- An answer that leaves an active was computed before any later active answered. So nobody hears
  of two actives, though two may believe to be active.
- Whoever has read the log up to a transaction has the same namespace: the active, its standbys and
  observers, and each namenode that starts from an image and the log behind it.
- The parts of a namespace say the same (`fingerprint.check_consistent`), when nobody changes it.
- The replicas that a namenode counts are those on the disks of its datanodes, when nobody changes
  them (`replicas`).
- No order to delete a replica leaves while the namenode knows of no other one, or of too few if
  that one is in excess.

`Watch` sees the objects of a namenode's process, and asks nothing of it: what it does changes
nothing in the world.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

from howdah.testing.world import replicas
from howdah.testing.world.cluster import NAMENODE, Cluster, Server
from howdah.testing.world.processes import Process

_SERVER: Final = "howdah.namenode.server.process.server"
_BARRIER: Final = "howdah.namenode.service.ha.durability_barrier"
_INVALIDATION: Final = "howdah.namenode.state.blocks.invalidation"
_FINGERPRINT: Final = "howdah.testing.fingerprint"
_EACH_S: Final = 1.7
_SHOWN_DIFFERENCES: Final = 8


class Watch:
    """Watches the namenodes of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """The servers are made, and none runs yet."""
        self._cluster = cluster
        self._world = cluster.world
        self._namenodes: dict[str, tuple[Process, Any]] = {}
        self._namespaces: dict[str, int] = {}
        """Which namespace each namenode has: a federation has several."""
        self._pools: dict[str, str] = {}
        """And which block pool."""
        self._seen: dict[tuple[int, int], tuple[str, str, dict[str, Any]]] = {}
        """By namespace and transaction: who had read so far, the digest of its namespace, and all
        of that."""
        self._answered_ns: dict[int, tuple[int, str]] = {}
        """By epoch: when its writer answered for the first time, and who that is."""
        self.compared = 0
        """How often two namespaces of one transaction were compared."""
        self.answers = 0
        for server in cluster.servers.values():
            if server.role is NAMENODE:
                self._attach(server)
        self._look_later()

    def _attach(self, server: Server) -> None:
        adjust_before = server.adjust

        def adjust(process: Process) -> None:
            adjust_before(process)
            self._note_namenodes(server.name, process)
            self._hear_answers(server.name, process)
            self._hear_orders(server.name, process)

        server.adjust = adjust

    def _note_namenodes(self, name: str, process: Process) -> None:
        made = process.modules.load(_SERVER).Namenode
        initialize = made.__init__

        def __init__(namenode: Any, *arguments: Any, **named: Any) -> None:
            initialize(namenode, *arguments, **named)
            self._namenodes[name] = process, namenode
            self._namespaces[name] = arguments[1].version.namespace_id
            self._pools[name] = arguments[1].version.block_pool_id
            self._compare(name, process, namenode)

        made.__init__ = __init__

    def namenodes(self) -> list[tuple[Process, Any]]:
        """Return the namenodes that have started, with their processes, which may be dead."""
        return list(self._namenodes.values())

    # -- answers

    def _hear_answers(self, name: str, process: Process) -> None:
        barrier = process.modules.load(_BARRIER).DurableBarrier
        must_wait, when_clear = barrier.must_wait, barrier.when_clear

        def must_wait_and_note(self_: Any, *, early: bool = False) -> bool:
            waits: bool = must_wait(self_, early=early)
            if not waits:
                self._answers(name, self_, self._world.scheduler.now_ns)
            return waits

        def when_clear_and_note(
            self_: Any, send: Callable[[], None], give_up: Callable[[], None] | None = None
        ) -> None:
            computed_ns = self._world.scheduler.now_ns
            epoch = getattr(self_.lease, "epoch", None)

            def send_and_note() -> None:
                self._answers(name, self_, computed_ns, epoch)
                send()

            when_clear(self_, send_and_note, give_up)

        barrier.must_wait = must_wait_and_note
        barrier.when_clear = when_clear_and_note

    def _answers(self, name: str, barrier: Any, computed_ns: int, epoch: int | None = None) -> None:
        """An answer leaves."""
        if epoch is None:
            epoch = getattr(barrier.lease, "epoch", None)
        if epoch is None or barrier.log is None:
            return
        self.answers += 1
        now_ns = self._world.scheduler.now_ns
        self._answered_ns.setdefault(epoch, (now_ns, name))
        for later, (first_ns, other) in self._answered_ns.items():
            if later > epoch and first_ns < computed_ns:
                self._world.fail(
                    f"{name}, the active of epoch {epoch}, gives an answer that it computed "
                    f"{(computed_ns - first_ns) / 1e9:.6f} s after {other} answered for the first "
                    f"time as the active of epoch {later}"
                )

    # -- orders

    def _hear_orders(self, name: str, process: Process) -> None:
        invalidation = process.modules.load(_INVALIDATION).Invalidation
        pop_orders = invalidation.pop_orders

        def pop_and_note(self_: Any, node: Any, limit: int) -> Any:
            orders = pop_orders(self_, node, limit)
            for block_id, _ in orders:
                block = self_._blocks.reported_as(block_id)
                if block is None or block_id < 0 or not block.is_settled:
                    continue
                left = sum(storage.node.alive for storage in block.replicas)
                order = node.invalidated.get(block_id)
                is_excess = order is not None and order.is_excess
                wanted = self_._redundancy.expected_replication(block) if is_excess else 1
                if left < wanted:
                    self._world.fail(
                        f"{name} orders {node.identity.hostname} to delete its replica of "
                        f"blk_{block_id}, and knows of {left} others, not {wanted}"
                    )
            return orders

        invalidation.pop_orders = pop_and_note

    # -- namespaces

    def _look_later(self) -> None:
        self._world.scheduler.after(_EACH_S, self._look)

    def _look(self) -> None:
        self.look()
        self._look_later()

    def look(self) -> None:
        """Compare the namespaces of those that run."""
        for name, (process, namenode) in self._namenodes.items():
            if not process.is_dead:
                self._compare(name, process, namenode)

    def _compare(self, name: str, process: Process, namenode: Any) -> None:
        namesystem, writer = namenode.namesystem, namenode.log_writer
        txid: int = namesystem.last_txid
        if writer.is_open and writer.durable_txid < txid:
            return  # A crash may take it back.
        fingerprint = process.modules.find(_FINGERPRINT)
        if fingerprint is None:
            fingerprint = process.modules.load(_FINGERPRINT)
        found: dict[str, Any] = fingerprint.fingerprint(namesystem.namespace)
        found = {key: _in_order(value) for key, value in found.items()}
        digest = hashlib.sha256(repr(_in_order(found)).encode()).hexdigest()
        key = self._namespaces[name], txid
        known = self._seen.get(key)
        if known is None:
            self._seen[key] = name, digest, found
            return
        self.compared += 1
        other, theirs, all_of_theirs = known
        if theirs != digest:
            parts = sorted(
                key
                for key in found.keys() | all_of_theirs.keys()
                if repr(found.get(key)) != repr(all_of_theirs.get(key))
            )
            lines = [
                f"{key}: {found.get(key)!r}, was {all_of_theirs.get(key)!r}"
                for key in parts[:_SHOWN_DIFFERENCES]
            ]
            self._world.fail(
                f"{name} and {other} differ at transaction {txid}\n" + "\n".join(lines)
            )

    def forget(self) -> None:
        """Forget what namespaces and epochs were: they go back, and are given anew."""
        self._seen.clear()
        self._answered_ns.clear()

    def restart_all(self) -> None:
        """Start each namenode anew, one after the other: it has to be what it was."""
        self.look()
        for server in self._cluster.servers.values():
            if server.role is NAMENODE:
                server.kill()
                server.start()
                self._cluster.wait_ready(server.name)
        self.look()
        self._world.check()

    def check_at_rest(self) -> None:
        """Look whether the parts of each namespace fit. Nobody may change anything."""
        self.look()
        for name, (process, namenode) in self._namenodes.items():
            if process.is_dead:
                continue
            fingerprint = process.modules.load(_FINGERPRINT)
            try:
                fingerprint.check_consistent(namenode.namesystem.namespace)
            except AssertionError as error:
                self._world.fail(f"the namespace of {name} is not consistent: {error!r}")
            for problem in replicas.differences(namenode, self._pools[name], self._world):
                self._world.fail(f"{name} {problem}")
        self._world.check()


def _in_order(value: Any) -> Any:
    """Return the same with the keys of each dict in order: what is read from an image comes in
    another one."""
    if isinstance(value, dict):
        return {
            key: _in_order(value[key])
            for key in sorted(value, key=lambda key: (str(type(key)), key))
        }
    if isinstance(value, list | tuple):
        return [_in_order(each) for each in value]
    return value
