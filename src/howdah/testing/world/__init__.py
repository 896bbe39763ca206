"""The production servers themselves, simulated from a seed.

Namenodes, datanodes, journal nodes, failover controllers and clients run here as they run in
production, line by line, in one interpreter and one thread: what is simulated lies below them. Each
simulated process has a private copy of howdah's modules and of those of Python's that touch the
system (`loader`). Their threads are greenlets (`scheduler`), their time is virtual (`clock`), and
their sockets, files and signals are of this package (`network`, `disk`, `processes`). So a seed
decides everything that happens, and the same seed makes it happen again.

    python -m howdah.testing.world SCENARIO SEED…

runs a scenario of `scenarios` for some seeds; with `--story` it tells what happens.
docs/simulation.md says what it finds and how to write a scenario. It needs greenlet
(`pip install 'howdah[simulation]'`) and Python 3.11 or 3.12.
"""

from howdah.testing.world.processes import Machine, Process
from howdah.testing.world.world import Unexpected, World

__all__ = ["Machine", "Process", "Unexpected", "World"]
