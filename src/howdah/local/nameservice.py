"""The nameservices of a layout: their namenodes, and what helps these.

The names of servers are the names in the configuration: `namenode1` is the namenode's id in
`dfs.ha.namenodes`. `zkfc1` is the failover controller of `namenode1`. There are three
journal nodes, so that one may be away. Several nameservices share journal nodes and
ZooKeeper, and number their namenodes through. A nameservice of one namenode has neither, and
its namenode has no id. This module knows values of configuration keys and no files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from howdah.errors import InvalidConfiguration
from howdah.local.ports import Ports

NAMESERVICE = "howdah"
JOURNAL_NODES = 3
MOST_NAMENODES = 9
MOST_NAMESERVICES = 9

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
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?")


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
    """One namespace by its name. `zookeeper` is an address, None where none is wanted."""

    name: str
    namenodes: tuple[Namenode, ...]
    journalnodes: tuple[JournalNode, ...]
    zookeeper: str | None

    @classmethod
    def plan(
        cls, ports: Ports, namenodes: int, *, zookeeper: bool, settings: Mapping[str, str]
    ) -> Nameservice:
        """Several namenodes that take each other's place; choose addresses.

        `dfs.nameservices` in `settings` names it; with `dfs.ha.automatic-failover.enabled` =
        false there are no failover controllers."""
        name = settings.get("dfs.nameservices") or NAMESERVICE
        if "," in name:
            raise InvalidConfiguration(
                f"dfs.nameservices = {name}: a cluster here has one, unless several are asked "
                "for (MiniCluster(nameservices=[…]), howdah up --nameservices …)"
            )
        if namenodes < 2:
            raise InvalidConfiguration(
                f"{namenodes} namenodes: a nameservice has 2 to {MOST_NAMENODES}"
            )
        (only,) = cls.plan_all(ports, (name,), namenodes, zookeeper=zookeeper, settings=settings)
        return only

    @classmethod
    def plan_all(
        cls,
        ports: Ports,
        names: Sequence[str],
        namenodes: int,
        *,
        zookeeper: bool,
        settings: Mapping[str, str],
    ) -> tuple[Nameservice, ...]:
        """Several namespaces, each with so many namenodes; choose addresses."""
        if not 1 <= namenodes <= MOST_NAMENODES:
            raise InvalidConfiguration(
                f"{namenodes} namenodes: a nameservice has 2 to {MOST_NAMENODES}"
            )
        available = namenodes > 1
        automatic = available and settings.get(AUTOMATIC_KEY, "true") == "true"
        if zookeeper and not available:
            raise InvalidConfiguration("one namenode holds no election: no ZooKeeper is wanted")
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

        groups = [
            tuple(namenode(place * namenodes + number) for number in range(namenodes))
            for place in range(len(names))
        ]
        journalnodes = tuple(
            JournalNode(f"journalnode{number}", ports.address(), ports.address())
            for number in range(JOURNAL_NODES if available else 0)
        )
        election = ports.address() if zookeeper else None
        return tuple(
            cls(name, group, journalnodes, election)
            for name, group in zip(names, groups, strict=True)
        )

    def check_same(self, values: Mapping[str, str]) -> None:
        """Raises InvalidConfiguration for values that would make it another nameservice."""
        here = {"dfs.nameservices": self.name}
        if self.is_highly_available:
            here[AUTOMATIC_KEY] = str(bool(self.controllers)).lower()
        for name, value in here.items():
            if values.get(name, value) != value:
                raise InvalidConfiguration(
                    f"{name} is {value} since this cluster was made, and stays so"
                )

    # -- its servers ------------------------------------------------------------------

    @property
    def is_highly_available(self) -> bool:
        """Whether it has several namenodes."""
        return len(self.namenodes) > 1

    @property
    def uri(self) -> str:
        """What clients call it."""
        return f"hdfs://{self.name}"

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
            # Also of one namenode: Java's clients know no logical name without.
            f"dfs.client.failover.proxy.provider.{self.name}": _PROVIDER,
        }
        if self.is_highly_available:
            listed = ",".join(node.name for node in self.namenodes)
            values[f"dfs.ha.namenodes.{self.name}"] = listed
        for node in self.namenodes:
            suffix = self.suffix_of(node)
            values[f"dfs.namenode.rpc-address.{suffix}"] = node.rpc
            values[f"dfs.namenode.http-address.{suffix}"] = node.http
        return {**values, **self._controller_values()}

    def suffix_of(self, node: Namenode) -> str:
        """What stands behind the names of a namenode's keys."""
        return f"{self.name}.{node.name}" if self.is_highly_available else self.name

    def _controller_values(self) -> dict[str, str]:
        """What failover controllers, and `haadmin` of theirs, have to know."""
        if not self.is_highly_available:
            return {}
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
        values = {"dfs.nameservice.id": self.name}
        if self.is_highly_available:
            values["dfs.ha.namenode.id"] = name.replace("zkfc", "namenode")
        return values

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


@dataclass(frozen=True, slots=True)
class Federation:
    """Several namespaces over the same datanodes."""

    nameservices: tuple[Nameservice, ...]

    def check_same(self, values: Mapping[str, str]) -> None:
        """Raises InvalidConfiguration for values that would make it another federation."""
        listed = ",".join(nameservice.name for nameservice in self.nameservices)
        if values.get("dfs.nameservices", listed) != listed:
            raise InvalidConfiguration(
                f"dfs.nameservices is {listed} since this cluster was made, and stays so"
            )
        rest = {name: value for name, value in values.items() if name != "dfs.nameservices"}
        for nameservice in self.nameservices:
            nameservice.check_same(rest)

    @classmethod
    def from_saved(cls, saved: Sequence[Mapping[str, object]]) -> Federation:
        return cls(tuple(map(Nameservice.from_saved, saved)))


def parse_nameservices(text: str) -> tuple[str, ...]:
    """`2` are ns1 and ns2; `a,b` are a and b. Raises InvalidConfiguration."""
    if text.isascii() and text.isdigit():
        return tuple(f"ns{number + 1}" for number in range(int(text)))
    return tuple(name.strip() for name in text.split(","))


def check_names(names: Sequence[str]) -> None:
    """Raises InvalidConfiguration for names that no nameservices can have."""
    if not 1 <= len(names) <= MOST_NAMESERVICES:
        raise InvalidConfiguration(
            f"{len(names)} nameservices: a cluster here has 1 to {MOST_NAMESERVICES}"
        )
    for name in names:
        if not _NAME.fullmatch(name):
            raise InvalidConfiguration(
                f"nameservice {name!r}: a name is the host of a URI and has letters, digits and -"
            )
    if len(set(names)) < len(names):
        raise InvalidConfiguration(f"nameservices {', '.join(names)}: a name is there twice")


def _named(nodes: Sequence[JournalNode], name: str) -> JournalNode:
    for node in nodes:
        if node.name == name:
            return node
    raise InvalidConfiguration(f"there is no journal node {name!r}")
