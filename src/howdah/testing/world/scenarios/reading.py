"""Files that are read in every way there is, by readers beside a datanode and by others, while
servers fail and some of the files change."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from howdah.testing.world.cluster import RPC_PORT, Cluster
from howdah.testing.world.faults import FaultPlan, Supervisor
from howdah.testing.world.processes import Process
from howdah.testing.world.scenarios.datanodes import build
from howdah.testing.world.workload.coding import use_coding
from howdah.testing.world.workload.console import Console
from howdah.testing.world.workload.reading import Changer, Reader, Texts
from howdah.testing.world.world import Unexpected, World

_URI: Final = f"hdfs://nn:{RPC_PORT}"
_DATANODES: Final = 5
_FAULTS: Final = 8
_CHANGES: Final = 40
_QUIET_S: Final = 60.0
_SOCKET: Final = "/var/datanode"
_BLOCK_BYTES: Final = 65_536
_SETTINGS: Final = {
    "dfs.blocksize": str(_BLOCK_BYTES),
    "dfs.client.read.shortcircuit": "true",
    "dfs.datanode.max.locked.memory": "1048576",
    "dfs.domain.socket.path": _SOCKET,
    "dfs.namenode.redundancy.interval.seconds": "1",
}
_LOCAL: Final = {"dfs.client.read.shortcircuit": "true"}
_REMOTE: Final = {
    "dfs.client.hedged.read.threadpool.size": "4",
    "dfs.client.hedged.read.threshold.millis": "5",
    "dfs.client.read.shortcircuit": "false",
}
_CHECKLESS: Final = {
    "dfs.client.read.shortcircuit": "true",
    "dfs.client.read.shortcircuit.skip.checksum": "true",
    "dfs.client.read.shortcircuit.streams.cache.size": "2",
}
_PLAIN: Final = {
    "dfs.client.read.shortcircuit": "false",
    "dfs.client.use.datanode.hostname": "true",
}
_READERS: Final = {
    "local": ("dn0", _LOCAL),
    "local without sums": ("dn1", _CHECKLESS),
    "hedging": ("clients", _REMOTE),
    "plain": ("clients", _PLAIN),
}
"""By their names: where they run, and their settings."""


def reads_in_every_way(world: World) -> Mapping[str, object]:
    """Read replicated and erasure-coded files by calls of every kind while servers fail; in the
    end, when all is healed, every way has to bring all bytes."""
    dice = world.dice("files")
    clients = world.machine("clients")
    cluster, watch = build(world, _SETTINGS, datanodes=_DATANODES)
    texts = Texts(world.seed)
    lengths = (1, 511, _BLOCK_BYTES, _BLOCK_BYTES + 1, dice.randrange(2, 4 * _BLOCK_BYTES))
    plain = {f"/plain/{number}": length for number, length in enumerate(lengths)}
    coded = {f"/coded/{number}": length for number, length in enumerate(lengths)}
    texts.begin(dice, {**plain, **coded}, ["/changing/a", "/changing/b"])

    def connect(process: Process, settings: Mapping[str, str] = _PLAIN) -> Any:
        return cluster.connect(process, _URI, settings=settings)

    def write(process: Process) -> None:
        fs = connect(process)
        for directory in ("/plain", "/coded", "/changing"):
            fs.mkdirs(directory)
        use_coding(process, fs, "/coded")
        for path, text in texts.fixed.items():
            fs.write_bytes(path, text)
        fs.add_cache_pool("kept")
        for path in plain:
            fs.add_cache_directive(path, "kept")

    world.call(clients, "writer", write)
    changer = Changer(world, texts, connect, _CHANGES)
    world.process(clients, "changer").start(changer)
    readers = []
    for name, (machine, settings) in _READERS.items():

        def connect_with(process: Process, settings: Mapping[str, str] = settings) -> Any:
            return connect(process, settings)

        def is_over() -> bool:
            return changer.is_done

        readers.append(Reader(world, name, texts, connect_with, is_over))
        cluster.world.process(world.machines[machine], name).start(readers[-1])
    supervisor = Supervisor(cluster)
    supervisor.follow(FaultPlan.draw(world.dice("faults"), cluster, _FAULTS))
    world.run(lambda: changer.is_done, timeout_s=1800.0)
    supervisor.heal()
    world.run_for(_QUIET_S)
    problems = list(texts.problems)
    for name, (machine, settings) in _READERS.items():

        def connect_again(process: Process, settings: Mapping[str, str] = settings) -> Any:
            return connect(process, settings)

        reader = Reader(world, f"{name} at last", texts, connect_again, lambda: True)
        problems += world.call(world.machines[machine], f"{name} at last", reader.check_all)
    if problems:
        raise Unexpected("\n".join(problems[:20]))
    for path in coded:
        world.call(clients, "verifier", partial(_verify, cluster, path))
    watch.check_at_rest()
    return {
        "counts": dict(sorted(texts.counts.items())),
        "faults": supervisor.count,
        "ended": supervisor.ended,
    }


def _verify(cluster: Cluster, path: str, process: Process) -> None:
    """The parity units of a file are those of its data."""
    console = Console(cluster, process)
    console.run("debug", "verifyEC", "-file", path, shows="Status: OK|OK")
    console.settle()
