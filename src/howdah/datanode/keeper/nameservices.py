"""The nameservices of a datanode, each with its block pool and an actor for each namenode.

`Nameservice` is BPOfferService in Hadoop, `Nameservices` BlockPoolManager. Nameservices are
served side by side, and one namenode's refusal never stops the others:

1. Everything that happens to a replica is told to all namenodes of its block pool, to the
   active and the standbys; the end of a recovery to the namenode that ordered it.
2. A nameservice is settled when one of its namenodes has taken a full report, or when all
   of them refuse this datanode. The datanode is ready when all nameservices are settled.
3. The datanode ends when all namenodes of all nameservices refuse it. A namenode that is
   away does not refuse: it is waited for.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from howdah.datanode.channel.gauges import Gauges
from howdah.datanode.channel.messages import BlockSynchronized, Command, OutliersFound
from howdah.datanode.keeper.block_pool import BlockPool
from howdah.datanode.keeper.directories import DataDirectories
from howdah.datanode.keeper.incremental_reports import News
from howdah.datanode.keeper.inventory import Inventory
from howdah.datanode.keeper.namenode_actor import ActorSettings, NamenodeActor
from howdah.datanode.keeper.reports import Namespace
from howdah.kinds import Address
from howdah.transfer.blocks import DatanodeAddress

log = logging.getLogger(__name__)


class Nameservice:
    """One namespace: its block pool, and who talks to its namenodes."""

    def __init__(self, pool: BlockPool, actors: tuple[NamenodeActor, ...]) -> None:
        self.name = pool.nameservice
        self.pool = pool
        self.actors = actors

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

    def tell(self, news: News) -> None:
        """Pass on what concerns this block pool."""
        if isinstance(news, BlockSynchronized):
            for actor in self.actors:
                if actor.name == news.ordered_by:
                    actor.tell(news)
        elif news.block.pool_id == self.pool.pool_id:
            for actor in self.actors:
                actor.tell(news)

    def stop(self) -> None:
        self.pool.stop()
        for actor in self.actors:
            actor.stop()


class Nameservices:
    """All of them. Any thread may call any method."""

    def __init__(
        self,
        addresses: Mapping[str, tuple[Address, ...]],
        node: Callable[[Address], DatanodeAddress],
        directories: DataDirectories,
        inventory: Inventory,
        gauges: Gauges,
        settings: ActorSettings,
        *,
        command: Callable[[Command], None],
        ready: Callable[[], None],
        stop: Callable[[str, int], None],
    ) -> None:
        """`node` says how a namenode shall know this datanode. `ready` is called once, when all
        nameservices are settled; `stop`, with the reason and an exit status, when all
        namenodes refuse this datanode."""
        self._ready = ready
        self._stop_datanode = stop
        self._judging = threading.Lock()
        self._is_ready = False

        def nameservice(name: str, namenodes: tuple[Address, ...]) -> Nameservice:
            pool = BlockPool(name, directories, command, inventory.will_delete)
            actors = (
                NamenodeActor(
                    namenode,
                    partial(node, namenode),
                    pool,
                    directories,
                    inventory,
                    gauges,
                    settings,
                    command=command,
                    served=self._judge,
                    refused=self._judge,
                )
                for namenode in namenodes
            )
            return Nameservice(pool, tuple(actors))

        self.all = [nameservice(name, namenodes) for name, namenodes in addresses.items()]

    def _actors(self) -> Iterator[NamenodeActor]:
        for nameservice in self.all:
            yield from nameservice.actors

    def _judge(self) -> bool:
        """A namenode is served, or refuses this datanode: whether the datanode goes on."""
        with self._judging:
            refusals = [actor.refusal for actor in self._actors()]
            reasons = [refusal.reason for refusal in refusals if refusal is not None]
            if len(reasons) == len(refusals):
                log.error(
                    "every namenode refuses this datanode, which has nobody left to serve: %s",
                    "; ".join(reasons),
                )
                status = max(refusal.status for refusal in refusals if refusal is not None)
                self._stop_datanode("; ".join(reasons), status)
                return False
            if not self._is_ready and all(nameservice.is_settled for nameservice in self.all):
                self._is_ready = True
                self._ready()
            return True

    # --- from the keeper ---

    def start(self) -> None:
        for actor in self._actors():
            actor.start()

    def stop(self) -> None:
        for nameservice in self.all:
            nameservice.stop()

    def tell(self, news: News) -> None:
        """Have the namenodes that it concerns told of it."""
        for nameservice in self.all:
            nameservice.tell(news)

    def pool_served(self, pool_id: str) -> None:
        """The data process serves this block pool now."""
        for nameservice in self.all:
            nameservice.pool.served(pool_id)

    def namespaces(self) -> list[Namespace]:
        """Those that are served."""
        found = (nameservice.pool.namespace for nameservice in self.all)
        return [namespace for namespace in found if namespace is not None]

    def report_now(self, *, full: bool, namenode: str = "") -> None:
        """`namenode` is the address of the only one that is to have it."""
        for actor in self._actors():
            if namenode in ("", actor.name):
                actor.report_now(full=full)

    def found_slow(self, found: OutliersFound) -> None:
        """All namenodes hear of slow peers and disks."""
        for actor in self._actors():
            actor.found_slow(found)

    def volume_failed(self) -> None:
        for actor in self._actors():
            actor.volume_failed()
