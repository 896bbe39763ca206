"""The nameservices of a datanode, each with its block pool and an actor for each namenode.

`Nameservice` is BPOfferService in Hadoop, `Nameservices` BlockPoolManager. Nameservices are
served side by side, and one namenode's refusal never stops the others:

1. Everything that happens to a replica is told to all namenodes of its block pool, to the
   active and the standbys; the end of a recovery to the namenode that ordered it.
2. A nameservice is settled when one of its namenodes has taken a full report, or when all
   of them refuse this datanode. The datanode is ready when all nameservices are settled, or
   one is served and of the others nobody answers.
3. The datanode ends when all namenodes of all nameservices refuse it. A namenode that is
   away does not refuse: it is waited for.
4. When the configuration is read anew, nameservices and namenodes come and go
   (refreshNamenodes). One that goes is left first, so that its block pool may be served under
   another name. What is stored of its block pool stays.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from howdah import errors
from howdah.config.value_types import Address
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.control.block_pool import BlockPool
from howdah.datanode.control.cache_reports import CachedBlocks
from howdah.datanode.control.directories import DataDirectories
from howdah.datanode.control.incremental_reports import News
from howdah.datanode.control.namenode_actor import ActorSettings, NamenodeActor
from howdah.datanode.control.replica_index import ReplicaIndex
from howdah.datanode.control.reports import Namespace
from howdah.datanode.state.actor_status import ActorStatus
from howdah.datanode.state.messages import (
    BlockSynchronized,
    Command,
    NameservicesAwaited,
    OutliersFound,
)
from howdah.protocol.data_transfer.blocks import DatanodeAddress

log = logging.getLogger(__name__)

END_TIMEOUT_S: Final = 5.0


class Nameservice:
    """One namespace: its block pool, and who talks to its namenodes."""

    def __init__(self, pool: BlockPool, actors: tuple[NamenodeActor, ...]) -> None:
        self.name = pool.nameservice
        self.pool = pool
        self.actors = actors
        """Replaced as a whole."""

    @property
    def is_served(self) -> bool:
        return any(actor.is_served and actor.refusal is None for actor in self.actors)

    @property
    def is_refused(self) -> bool:
        """All of its namenodes refuse this datanode."""
        return all(actor.refusal is not None for actor in self.actors)

    @property
    def is_settled(self) -> bool:
        return self.is_served or self.is_refused

    @property
    def is_away(self) -> bool:
        """None of its namenodes answers, or has this datanode."""
        return all(actor.is_away or actor.refusal is not None for actor in self.actors)

    def enqueue(self, news: News) -> None:
        """Pass on what concerns this block pool."""
        if isinstance(news, BlockSynchronized):
            for actor in self.actors:
                if actor.name == news.ordered_by:
                    actor.enqueue(news)
        elif news.block.pool_id == self.pool.pool_id:
            for actor in self.actors:
                actor.enqueue(news)

    def stop(self) -> None:
        self.pool.stop()
        for actor in self.actors:
            actor.stop()


class Nameservices:
    """Keeps all nameservices of the datanode. Any thread may call any method."""

    def __init__(
        self,
        addresses: Mapping[str, tuple[Address, ...]],
        node: Callable[[Address], DatanodeAddress],
        directories: DataDirectories,
        inventory: ReplicaIndex,
        gauges: Gauges,
        cached: CachedBlocks,
        settings: ActorSettings,
        *,
        command: Callable[[Command], None],
        ready: Callable[[], None],
        stop: Callable[[str, int], None],
        left: Callable[[str], None] = lambda pool_id: None,
    ) -> None:
        """`node` says how a namenode shall know this datanode. `ready` is called once, by the
        rule above; `stop`, with the reason and an exit status, when all namenodes refuse this
        datanode; `left` with a block pool that is served no more."""
        self._node = node
        self._directories = directories
        self._inventory = inventory
        self._gauges = gauges
        self._cached = cached
        self._settings = settings
        self._command = command
        self._ready = ready
        self._stop_datanode = stop
        self._left = left
        self._judging = threading.Lock()
        self._refreshing = threading.Lock()
        self._telling = threading.Lock()
        self._is_ready = False
        self.all = tuple(self._nameservice(name, nodes) for name, nodes in addresses.items())

    def _nameservice(self, name: str, namenodes: tuple[Address, ...]) -> Nameservice:
        pool = BlockPool(
            name,
            self._directories,
            self._command,
            self._inventory.will_delete,
            self._tell_awaited,
        )
        return Nameservice(pool, tuple(self._actor(pool, namenode) for namenode in namenodes))

    def _actor(self, pool: BlockPool, namenode: Address) -> NamenodeActor:
        return NamenodeActor(
            namenode,
            partial(self._node, namenode),
            pool,
            self._directories,
            self._inventory,
            self._gauges,
            self._cached,
            self._settings,
            command=self._command,
            served=self._judge,
            refused=self._judge,
            away=self._judge,
        )

    def _actors(self) -> Iterator[NamenodeActor]:
        for nameservice in self.all:
            yield from nameservice.actors

    def _judge(self) -> bool:
        """A namenode is served, or away, or refuses this datanode: whether the datanode goes
        on."""
        with self._judging:
            refusals = [actor.refusal for actor in self._actors()]
            reasons = [refusal.reason for refusal in refusals if refusal is not None]
            # There are none for a moment, where all of them are replaced.
            if refusals and len(reasons) == len(refusals):
                log.error(
                    "every namenode refuses this datanode, which has nobody left to serve: %s",
                    "; ".join(reasons),
                )
                status = max(refusal.status for refusal in refusals if refusal is not None)
                self._stop_datanode("; ".join(reasons), status)
                return False
            if not self._is_ready and self._may_be_used():
                self._is_ready = True
                self._ready()
            return True

    def _may_be_used(self) -> bool:
        open_ones = [nameservice for nameservice in self.all if not nameservice.is_settled]
        if any(not nameservice.is_away for nameservice in open_ones):
            return False
        if open_ones and not any(nameservice.is_served for nameservice in self.all):
            return False
        for nameservice in open_ones:
            log.warning(
                "no namenode of nameservice %s answers. This datanode is ready without it, and "
                "serves it when one does; what it has of its block pool stays",
                nameservice.name,
            )
        return True

    # --- new namenodes ---

    def refresh(
        self, addresses: Mapping[str, tuple[Address, ...]], lifelines: Mapping[Address, Address]
    ) -> None:
        """From now on these are the namenodes: BlockPoolManager.refreshNamenodes in Hadoop."""
        with self._refreshing:
            log.info("refresh of the namenodes: nameservices %s", ", ".join(addresses) or "none")
            self._settings = replace(self._settings, lifelines=dict(lifelines))
            for nameservice in self.all:
                if nameservice.name not in addresses:
                    self._remove(nameservice)
            for nameservice in self.all:
                self._change(nameservice, addresses[nameservice.name])
            known = {nameservice.name: nameservice for nameservice in self.all}
            fresh = {
                name: self._nameservice(name, namenodes)
                for name, namenodes in addresses.items()
                if name not in known
            }
            with self._judging:
                self.all = tuple((known | fresh)[name] for name in addresses)
            self._tell_awaited()
            problems = []
            for nameservice in fresh.values():
                log.info("nameservice %s is served from now on", nameservice.name)
                try:
                    self._start(nameservice, nameservice.actors)
                except errors.RemoteError as error:
                    # The others are known by now, and a later refresh would not start them.
                    problems.append(str(error))
            if problems:
                raise errors.RemoteError("; ".join(problems))

    def _remove(self, nameservice: Nameservice) -> None:
        with self._judging:
            self.all = tuple(other for other in self.all if other is not nameservice)
        nameservice.stop()
        _wait_for_the_end(nameservice.actors)
        pool_id = nameservice.pool.close()
        log.warning(
            "nameservice %s is left; its block pool %s stays on the volumes, unless it is "
            "deleted (dfsadmin -deleteBlockPool)",
            nameservice.name,
            pool_id or "(which no namenode has named)",
        )
        if pool_id is not None:
            self._left(pool_id)

    def _change(self, nameservice: Nameservice, namenodes: tuple[Address, ...]) -> None:
        lifelines = self._settings.lifelines
        wanted = {f"{host}:{port}": (host, port) for host, port in namenodes}
        kept = {
            actor.name: actor
            for actor in nameservice.actors
            if actor.name in wanted and actor.lifeline_address == lifelines.get(wanted[actor.name])
        }
        gone = [actor for actor in nameservice.actors if actor.name not in kept]
        fresh = {
            name: self._actor(nameservice.pool, address)
            for name, address in wanted.items()
            if name not in kept
        }
        if not gone and not fresh:
            return
        with self._judging:
            nameservice.actors = tuple((kept | fresh)[name] for name in wanted)
        for actor in gone:
            actor.stop()
        _wait_for_the_end(gone)
        for actor in gone:
            log.warning("nameservice %s: namenode %s is left", nameservice.name, actor.name)
        for actor in fresh.values():
            log.info("nameservice %s: namenode %s is new", nameservice.name, actor.name)
        self._start(nameservice, tuple(fresh.values()))

    def _start(self, nameservice: Nameservice, actors: Iterable[NamenodeActor]) -> None:
        """Start the actors. Those that no thread could be started for are left: a later refresh
        begins anew. Raises `RemoteError` then."""
        failed: list[NamenodeActor] = []
        problem = ""
        for actor in actors:
            try:
                actor.start()
            except RuntimeError as error:
                failed.append(actor)
                problem = f"there is no thread for namenode {actor.name}: {error}"
        if not failed:
            return
        for actor in failed:
            actor.stop()
        with self._judging:
            nameservice.actors = tuple(actor for actor in nameservice.actors if actor not in failed)
            self.all = tuple(other for other in self.all if other.actors)
        raise errors.RemoteError(problem)

    def _tell_awaited(self) -> None:
        """Tell the data process which nameservices have a block pool that nobody knows yet."""
        with self._telling:
            names = tuple(
                nameservice.name for nameservice in self.all if nameservice.pool.pool_id is None
            )
            self._command(NameservicesAwaited(names))

    # --- from the control process ---

    def start(self) -> None:
        self._tell_awaited()
        for actor in self._actors():
            actor.start()

    def stop(self) -> None:
        for nameservice in self.all:
            nameservice.stop()

    def enqueue(self, news: News) -> None:
        """Have the namenodes that it concerns told of it."""
        for nameservice in self.all:
            nameservice.enqueue(news)

    def pool_served(self, pool_id: str) -> None:
        """The data process serves this block pool now."""
        for nameservice in self.all:
            nameservice.pool.served(pool_id)

    def namespaces(self) -> list[Namespace]:
        """Return the namespaces that are served."""
        namespaces = (nameservice.pool.namespace for nameservice in self.all)
        return [namespace for namespace in namespaces if namespace is not None]

    def states(self) -> list[tuple[str, str, bool]]:
        """The nameservice and the address of each namenode, and whether it has registered this
        datanode and had its first report."""
        return [
            (nameservice.name, actor.name, actor.is_served)
            for nameservice in self.all
            for actor in nameservice.actors
        ]

    def facts(self, now_s: float) -> list[ActorStatus]:
        """How it stands with each namenode."""
        return [actor.facts(now_s) for actor in self._actors()]

    def report_now(self, *, full: bool, namenode: str = "") -> None:
        """`namenode` is the address of the only one that is to have it."""
        for actor in self._actors():
            if namenode in ("", actor.name):
                actor.report_now(full=full)

    def found_slow(self, outliers: OutliersFound) -> None:
        """Pass slow peers and disks on to all namenodes."""
        for actor in self._actors():
            actor.found_slow(outliers)

    def volume_failed(self) -> None:
        for actor in self._actors():
            actor.volume_failed()


def _wait_for_the_end(actors: Iterable[NamenodeActor]) -> None:
    """A namenode that leaves a call without an answer is not waited for: whatever it says then
    is not obeyed."""
    deadline_s = time.monotonic() + END_TIMEOUT_S
    for actor in actors:
        if not actor.wait_until_ended(max(deadline_s - time.monotonic(), 0.0)):
            log.warning("namenode %s has yet to answer a call; its answer is dropped", actor.name)
