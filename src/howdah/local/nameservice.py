"""The highly available part of a layout: namenodes of one nameservice, and their helpers.

The names of servers are the names in the configuration: `namenode1` is the namenode's id in
`dfs.ha.namenodes`. `zkfc1` is the failover controller of `namenode1`. There are three
journal nodes, so that one may be away. This module knows values of configuration keys and
no files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from howdah.errors import InvalidConfiguration
from howdah.local.ports import Ports

NAMESERVICE = "howdah"
JOURNAL_NODES = 3
MOST_NAMENODES = 9

# Quick reactions on one machine, as for datanodes: the defaults are for whole networks.
QUICK = {
    "dfs.ha.tail-edits.in-progress": "true",
    "dfs.ha.tail-edits.period": "200ms",
    "ha.health-monitor.check-interval.ms": "200",
    "ha.health-monitor.connect-retry-interval.ms": "100",
    "ha.health-monitor.sleep-after-disconnect.ms": "100",
    "ha.health-monitor.rpc-timeout.ms": "3000",
    "ha.failover-controller.graceful-fence.rpc-timeout.ms": "1000",
    "ha.zookeeper.session-timeout.ms": "2000",
    "howdah.ha.election.lease.ms": "1000",
}
# A failover is soon over, and a client asks again soon.
QUICK_CLIENT = {
    "dfs.client.failover.sleep.base.millis": "50",
    "dfs.client.failover.sleep.max.millis": "500",
    "dfs.client.failover.max.attempts": "100",
    # For `haadmin`. A namenode that has lost the journal quorum writes nothing and answers
    # nothing, so there is nothing to fence.
    "dfs.ha.fencing.methods": "shell(/bin/true)",
}
_PROVIDER = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
ZOOKEEPER = "zookeeper"
"""The name of the server."""
AUTOMATIC_KEY = "dfs.ha.automatic-failover.enabled"


@dataclass(frozen=True, slots=True)
class Namenode:
    """One namenode of a layout; `zkfc_port` is its failover controller's, if it has one."""

    name: str
    rpc: str
    http: str
    zkfc_port: int | None = None

    @property
    def controller(self) -> str | None:
        return None if self.zkfc_port is None else self.name.replace("namenode", "zkfc")


@dataclass(frozen=True, slots=True)
class JournalNode:
    """One journal node of a layout."""

    name: str
    rpc: str
    http: str


@dataclass(frozen=True, slots=True)
class Nameservice:
    """What several namenodes share. `zookeeper` is an address, None where none is wanted."""

    name: str
    namenodes: tuple[Namenode, ...]
    journalnodes: tuple[JournalNode, ...]
    zookeeper: str | None

    @classmethod
    def plan(
        cls, ports: Ports, namenodes: int, *, zookeeper: bool, settings: Mapping[str, str]
    ) -> Nameservice:
        """Choose addresses. `dfs.nameservices` in `settings` names it; with
        `dfs.ha.automatic-failover.enabled` = false there are no failover controllers."""
        if not 2 <= namenodes <= MOST_NAMENODES:
            raise InvalidConfiguration(
                f"{namenodes} namenodes: a nameservice has 2 to {MOST_NAMENODES}"
            )
        name = settings.get("dfs.nameservices") or NAMESERVICE
        if "," in name:
            raise InvalidConfiguration(f"dfs.nameservices = {name}: a cluster here has one")
        automatic = settings.get(AUTOMATIC_KEY, "true") == "true"
        if zookeeper and not automatic:
            raise InvalidConfiguration(f"{AUTOMATIC_KEY} is false, so no ZooKeeper is wanted")

        def namenode(number: int) -> Namenode:
            rpc = ports.address()
            host = rpc.rpartition(":")[0]
            return Namenode(
                name=f"namenode{number}",
                rpc=rpc,
                http=ports.address(),
                zkfc_port=ports.free(host) if automatic else None,
            )

        return cls(
            name,
            tuple(namenode(number) for number in range(namenodes)),
            tuple(
                JournalNode(f"journalnode{number}", ports.address(), ports.address())
                for number in range(JOURNAL_NODES)
            ),
            ports.address() if zookeeper else None,
        )

    def check_same(self, values: Mapping[str, str]) -> None:
        """Raises InvalidConfiguration for values that would make it another nameservice."""
        here = {"dfs.nameservices": self.name, AUTOMATIC_KEY: str(bool(self.controllers)).lower()}
        for name, value in here.items():
            if values.get(name, value) != value:
                raise InvalidConfiguration(
                    f"{name} is {value} since this cluster was made, and stays so"
                )

    # -- its servers ------------------------------------------------------------------

    @property
    def controllers(self) -> list[str]:
        return [node.controller for node in self.namenodes if node.controller is not None]

    @property
    def shared_names(self) -> list[str]:
        """Servers that run before any namenode does."""
        names = [node.name for node in self.journalnodes]
        return names if self.zookeeper is None else [*names, ZOOKEEPER]

    # -- their configurations -----------------------------------------------------------

    def client_values(self) -> dict[str, str]:
        """The logical name and what is behind it: every client and server has these."""
        values = {
            "dfs.nameservices": self.name,
            f"dfs.ha.namenodes.{self.name}": ",".join(node.name for node in self.namenodes),
            f"dfs.client.failover.proxy.provider.{self.name}": _PROVIDER,
        }
        for node in self.namenodes:
            values[f"dfs.namenode.rpc-address.{self.name}.{node.name}"] = node.rpc
            values[f"dfs.namenode.http-address.{self.name}.{node.name}"] = node.http
        return {**values, **self._controller_values()}

    def _controller_values(self) -> dict[str, str]:
        """What failover controllers, and `haadmin` of theirs, have to know."""
        values = {AUTOMATIC_KEY: str(bool(self.controllers)).lower()}
        for node in self.namenodes:
            if node.zkfc_port is not None:
                values[f"dfs.ha.zkfc.port.{self.name}.{node.name}"] = str(node.zkfc_port)
        if self.zookeeper is not None:
            values["ha.zookeeper.quorum"] = self.zookeeper
        return values

    @property
    def shared_edits(self) -> str:
        """The journal of all journal nodes, as `dfs.namenode.shared.edits.dir` says it."""
        return f"qjournal://{';'.join(node.rpc for node in self.journalnodes)}/{self.name}"

    def namenode_values(self, name: str) -> dict[str, str]:
        """What tells namenode `name` and its failover controller which one they are."""
        namenode = name.replace("zkfc", "namenode")
        return {"dfs.nameservice.id": self.name, "dfs.ha.namenode.id": namenode}

    def journalnode_values(self, name: str, directory: Path) -> dict[str, str]:
        """`directory` is for the edits of all journals."""
        node = self.journalnode(name)
        return {
            "dfs.journalnode.edits.dir": str(directory),
            "dfs.journalnode.rpc-address": node.rpc,
            "dfs.journalnode.http-address": node.http,
        }

    def journalnode(self, name: str) -> JournalNode:
        return _named(self.journalnodes, name)

    @classmethod
    def from_saved(cls, saved: Mapping[str, object]) -> Nameservice:
        """What `dataclasses.asdict` made of one, after its way through JSON."""
        namenodes, journalnodes = saved["namenodes"], saved["journalnodes"]
        zookeeper = saved["zookeeper"]
        assert isinstance(namenodes, list)
        assert isinstance(journalnodes, list)
        return cls(
            str(saved["name"]),
            tuple(Namenode(**node) for node in namenodes),
            tuple(JournalNode(**node) for node in journalnodes),
            None if zookeeper is None else str(zookeeper),
        )


def _named(nodes: Sequence[JournalNode], name: str) -> JournalNode:
    for node in nodes:
        if node.name == name:
            return node
    raise InvalidConfiguration(f"there is no journal node {name!r}")
