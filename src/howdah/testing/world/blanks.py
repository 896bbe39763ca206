"""Processes that have loaded their modules before their world begins.

To load a server's modules takes longer than what the server does in a minute of a world. So a
process that runs many worlds, each in a forked child, first makes blank processes: they have loaded
what a kind of process needs, and nothing of them has run. The world of a child goes on with the
scheduler and the network of these, and each new process of a kind is a blank one as long as there
is one. What happens in a world is the same with and without: to load a module takes no virtual
time and draws nothing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final

from howdah.testing.world.loader import ModuleTree
from howdah.testing.world.network import Network
from howdah.testing.world.processes import Machine, Process
from howdah.testing.world.scheduler import Scheduler

CLIENT: Final = "howdah.fs.registry"
_MORE: Final = {
    CLIENT: (
        "howdah.fs.hdfs.filesystem",
        "howdah.client.writing.output",
        "howdah.client.reading.input",
    ),
}
"""What a kind of process loads soon, beside the module that it needs first."""
_ADDRESS: Final = "0.0.0.0"


class BlankProcesses:
    """Holds them, by the module that their kind needs first."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(0)
        self.network = Network(self.scheduler, random.Random(0))
        self._blank: dict[str, list[Process]] = {}

    def provide(self, kinds: Mapping[str, int]) -> None:
        """Make as many of each kind as are wanted, but for those that are there."""
        for kind, count in kinds.items():
            there = self._blank.setdefault(kind, [])
            while len(there) < count:
                machine = Machine(self.scheduler, self.network, "blank", _ADDRESS)
                made = Process(machine, "blank", make_modules=ModuleTree)
                for name in (kind, *_MORE.get(kind, ())):
                    made.modules.load(name)
                there.append(made)

    def take(self, kind: str) -> Process | None:
        """Return one of a kind, which is not blank any more."""
        there = self._blank.get(kind)
        return there.pop(0) if there else None

    def refresh(self, name: str) -> None:
        """Give those that have loaded a module the code that has replaced it since."""
        for there in self._blank.values():
            for process in there:
                process.modules.refresh(name)
