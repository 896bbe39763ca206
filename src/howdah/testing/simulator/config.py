"""Who plays in a simulated cluster, and by which rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from howdah.namenode.service.calls.settings import Settings
from howdah.testing.in_memory import ManualClock
from howdah.testing.simulator.checks import Checks
from howdah.testing.simulator.clients import Client
from howdah.testing.simulator.datanodes.datanode import Datanode
from howdah.testing.simulator.fault_rates import Plan
from howdah.testing.simulator.namenode import Namenode
from howdah.testing.simulator.nameservice import Nameservice
from howdah.testing.simulator.network import Network
from howdah.testing.simulator.tasks import Choices, World

PATH = "/file"
BLOCK_BYTES = 32
SOFT_LIMIT_S = 60
HARD_LIMIT_S = 240


@dataclass(slots=True)
class Counts:
    """What came of a run: to see that runs are not about nothing."""

    faults: dict[str, int] = field(default_factory=dict)
    flushes: int = 0
    syncs: int = 0
    closes: int = 0
    reads: int = 0
    failed_reads: int = 0
    failed_writers: int = 0
    takeovers: int = 0


class Stage:
    """A cluster and its clients, before anything happens."""

    def __init__(self, choices: Choices, plan: Plan) -> None:
        self.plan = plan
        self.choices = choices
        self.counts = Counts()
        clock = ManualClock()
        self.world = World(clock, choices)
        self.network = Network(self.world)
        kind = Namenode if plan.namenodes == 1 else Nameservice
        self.namenode: Namenode | Nameservice = kind(
            self.world,
            self.network,
            Settings(
                "",
                default_replication=plan.replication,
                block_size_bytes=BLOCK_BYTES,
                min_block_size_bytes=4,
                bytes_per_checksum=4,
                heartbeat_expiry_ms=120_000,
                stale_datanode_ms=30_000,
                lease_soft_limit_ms=SOFT_LIMIT_S * 1000,
                lease_hard_limit_ms=HARD_LIMIT_S * 1000,
                block_recovery_timeout_ms=20_000,
                safe_mode_extension_ms=3_000,
                pending_copy_ms=60_000,
            ),
            clock,
        )
        self.nodes = [
            Datanode(self.world, self.network, self.namenode, number)
            for number in range(plan.nodes)
        ]
        self.datanodes = {node.address.transfer_address: node for node in self.nodes}
        for node in self.nodes:
            node.peers = self.datanodes
        self.checks = Checks(self.namenode, self.nodes)
        self.writers: list[Client] = []
        self.readers: list[Client] = []
        self.healing = False
        """Everything works again, and nobody new comes."""
        self._clients = 0

    def client(self, kind: str) -> Client:
        """One who has not come before."""
        self._clients += 1
        return Client(
            self.world,
            self.network,
            self.namenode,
            self.datanodes,
            f"{kind}{self._clients}",
        )
