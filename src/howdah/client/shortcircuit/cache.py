"""Replicas of datanodes on this machine, read from their files: the cache of what is open.

Mirrors Hadoop's ShortCircuitCache. A replica is asked for once and shared by all who
read it. It is known by its datanode and its block: two datanodes of a machine may have the
same block, and each is asked for its own. `dfs.client.read.shortcircuit.streams.cache.size`
replicas stay open while nobody reads them, for `…expiry.ms` at most. One that its datanode
changes or deletes is let go within seconds, for its room on the disk comes back only then; a
thread that lives as long as there is anything idle sees to both.

After a fork, the child begins with an empty cache: slots and connections are the
parent's, and descriptors that the child has inherited are only closed there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from howdah.client.settings.short_circuit import ShortCircuitSettings
from howdah.client.shortcircuit.access import LocalAccess, UnixSockets
from howdah.client.shortcircuit.datanode import LocalDatanode
from howdah.client.shortcircuit.replica import LocalReplica, ReplicaKey, key_of
from howdah.client.state.blocks import LocatedBlock
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.runtime.fork_safety import PerProcess, process_id

_log = logging.getLogger(__name__)

_SWEEP_S = 5.0
_SHORTEST_SWEEP_S = 0.05
_REFUSED_S = 5.0
"""How long a block that its datanode did not pass is not asked for again."""
_MAX_REFUSED = 1024


class ShortCircuitCache:
    """Open local replicas of one client. Thread-safe; safe after a fork."""

    def __init__(
        self,
        settings: ShortCircuitSettings,
        client_name: Callable[[], str],
        timeout_s: float,
        way: LocalAccess | None = None,
    ) -> None:
        """`way` leads to the datanodes; None: the socket that `settings` name."""
        self.settings = settings
        self._way = UnixSockets(settings.socket_path) if way is None else way
        self._client_name = client_name
        self._timeout_s = timeout_s
        self._replicas: dict[ReplicaKey, LocalReplica] = {}
        self._resetting = PerProcess(threading.Lock)
        self._reset()

    def _reset(self) -> None:
        inherited = self._replicas
        self._changed = threading.Condition()
        self._replicas = {}
        # Those that nobody reads, the longest idle one in front.
        self._idle: OrderedDict[ReplicaKey, LocalReplica] = OrderedDict()
        self._datanodes: dict[str, LocalDatanode] = {}
        self._refused: OrderedDict[ReplicaKey, float] = OrderedDict()
        self._sweeping = False
        self._closed = False
        while inherited:
            inherited.popitem()[1].forget()
        # Last, for who sees it believes that all of the above is this process's.
        self._pid = process_id()

    def _own(self) -> None:
        """In a forked child: begin anew, for what there is belongs to the parent."""
        if self._pid != process_id():
            with self._resetting.get():
                if self._pid != process_id():
                    self._reset()

    # --- getting and giving back ---

    def acquire(self, block: LocatedBlock, node: DatanodeAddress) -> LocalReplica | None:
        """The replica at `node`, to be given back by `release`.

        None where it isn't on this machine, or its datanode does not pass it.
        """
        self._own()
        place = self._way.socket_path(node) if block.length_bytes else None
        if place is None:
            return None
        key = key_of(place, block.block)
        replica = self._find(key)
        if replica is None:
            if self._was_refused(key):
                return None
            replica = self._fetch(block, place)
            if replica is None:
                return None
        if replica.length_bytes < block.length_bytes:
            self.release(replica)
            return None
        return replica

    def _find(self, key: ReplicaKey) -> LocalReplica | None:
        gone = None
        with self._changed:
            replica = self._replicas.get(key)
            if replica is not None and replica.is_revoked:
                del self._replicas[key]
                gone = self._idle.pop(key, None)
                replica = None
            if replica is not None:
                self._idle.pop(key, None)
                replica.readers += 1
        if gone is not None:
            gone.let_go()
        return replica

    def _fetch(self, block: LocatedBlock, place: str) -> LocalReplica | None:
        datanode = self._datanode(place)
        if not datanode.is_usable:
            return None
        fetched = datanode.fetch(block.block, block.token)
        if fetched is None:
            self._note_refused(key_of(place, block.block))
            return None
        surplus: LocalReplica | None = None
        with self._changed:
            present = self._replicas.get(fetched.key)
            if present is not None and not present.is_revoked:
                # Somebody else was as fast.
                surplus, fetched = fetched, present
                self._idle.pop(present.key, None)
            elif not self._closed:
                if present is not None:
                    surplus = self._idle.pop(present.key, None)
                self._replicas[fetched.key] = fetched
            fetched.readers += 1
        if surplus is not None:
            surplus.let_go()
        return fetched

    def release(self, replica: LocalReplica, *, stale: bool = False, read_bytes: int = 0) -> None:
        """Whoever acquired it reads no more. `stale`: nobody else shall either."""
        if replica.pid != process_id():
            return
        if read_bytes:
            self._way.has_read(read_bytes)
        gone: list[LocalReplica] = []
        with self._changed:
            replica.readers -= 1
            shared = self._replicas.get(replica.key) is replica
            if shared and stale:
                del self._replicas[replica.key]
                shared = False
            if not replica.readers:
                if not shared:
                    gone.append(replica)
                else:
                    replica.idle_since_s = time.monotonic()
                    self._idle[replica.key] = replica
                    if len(self._idle) > self.settings.cache_size:
                        gone.append(self._forget_longest_idle())
                self._watch()
        for one in gone:
            one.let_go()

    def _forget_longest_idle(self) -> LocalReplica:
        key, replica = self._idle.popitem(last=False)
        del self._replicas[key]
        return replica

    # --- where ---

    def _datanode(self, place: str) -> LocalDatanode:
        with self._changed:
            datanode = self._datanodes.get(place)
            if datanode is None:
                datanode = self._datanodes[place] = LocalDatanode(
                    place,
                    self._way,
                    client_name=self._client_name,
                    timeout_s=self._timeout_s,
                    disable_s=self.settings.disable_interval_s,
                    check=not self.settings.skip_checksum,
                )
            return datanode

    def _was_refused(self, key: ReplicaKey) -> bool:
        until_s = self._refused.get(key)
        return until_s is not None and time.monotonic() < until_s

    def _note_refused(self, key: ReplicaKey) -> None:
        with self._changed:
            self._refused[key] = time.monotonic() + _REFUSED_S
            self._refused.move_to_end(key)
            while len(self._refused) > _MAX_REFUSED:
                self._refused.popitem(last=False)

    # --- what nobody reads ---

    def _watch(self) -> None:
        if not self._sweeping and not self._closed:
            self._sweeping = True
            sweeper = threading.Thread(target=self._sweep, name="short-circuit cache", daemon=True)
            try:
                sweeper.start()
            except RuntimeError as error:
                # Whoever gives a replica back next tries again.
                self._sweeping = False
                _log.info("nobody lets go of idle replicas now: %s", error)

    def _sweep(self) -> None:
        try:
            self._sweep_until_empty()
        except BaseException:
            with self._changed:
                self._sweeping = False
            raise

    def _sweep_until_empty(self) -> None:
        pause_s = min(max(self.settings.cache_expiry_s / 4, _SHORTEST_SWEEP_S), _SWEEP_S)
        while True:
            with self._changed:
                self._changed.wait(pause_s)
                gone = self._expired(time.monotonic() - self.settings.cache_expiry_s)
                done = not self._idle
                datanodes = list(self._datanodes.values())
                if done:
                    self._sweeping = False
            for one in gone:
                self._let_go(one)
            if done:
                for datanode in datanodes:
                    datanode.end_unused()
                return

    def _let_go(self, replica: LocalReplica) -> None:
        try:
            replica.let_go()
        except Exception:  # noqa: BLE001 - it is in the log
            # The only thread for these: a file that stays open keeps its room on the disk.
            _log.exception("letting go of %s failed on a defect", replica.key)

    def _expired(self, limit_s: float) -> list[LocalReplica]:
        gone = [
            replica
            for replica in self._idle.values()
            if replica.idle_since_s <= limit_s or replica.is_revoked
        ]
        for replica in gone:
            del self._idle[replica.key]
            del self._replicas[replica.key]
        return gone

    def close(self) -> None:
        """Let go of all that nobody reads, and of the rest as soon as nobody does."""
        self._own()
        with self._changed:
            self._closed = True
            idle = list(self._idle.values())
            datanodes = list(self._datanodes.values())
            self._idle.clear()
            self._replicas.clear()
            self._changed.notify_all()
        for replica in idle:
            replica.close()
        # Their segments end with them, and so do the slots.
        for datanode in datanodes:
            datanode.close()

    def __len__(self) -> int:
        """Replicas that are open and shared."""
        return len(self._replicas)
