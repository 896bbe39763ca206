"""How often what may happen in a simulated cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Plan:
    """What may happen, and how often: per thousand steps, while there is somebody to hit."""

    nodes: int = 4
    replication: int = 3
    kill: int = 4
    restart: int = 12
    freeze: int = 4
    thaw: int = 12
    cut: int = 4
    mend: int = 12
    reset: int = 6
    power: int = 0
    storm: int = 2
    """Several datanodes at once are killed, and, where power fails, may lose it."""
    disaster: int = 0
    """A storm, and the writers die in it, and maybe the namenode."""
    disk: int = 2
    announce: int = 2
    kill_writer: int = 3
    kill_namenode: int = 1
    stop_namenode: int = 1
    start_namenode: int = 50
    namenodes: int = 1
    take_over: int = 0
    """The standby replaces an active that does not know it."""
    hand_over: int = 0
    elect: int = 0
    """One becomes active, where none is."""
    end_stale: int = 0
    freeze_namenode: int = 0
    thaw_namenode: int = 0
    replicate: int = 0
    """The file is to have more replicas, or fewer."""
    time: int = 10
    reader: int = 8
    opener: int = 6
    most_down: int = 2
    """So many datanodes are killed, frozen or cut off at a time."""
    most_harm: int = 1000
    """So often anything goes wrong at all."""
    most_writers: int = 3
    actions: int = 14
    """What one writer does at most before it closes."""


CALM = Plan(
    kill=0,
    freeze=0,
    cut=0,
    reset=0,
    storm=0,
    disk=0,
    announce=0,
    kill_writer=0,
    kill_namenode=0,
    stop_namenode=0,
    time=0,
    opener=0,
)
"""Nothing goes wrong, and there is one writer; the order of things is left to chance."""

ONE_FAILS = replace(CALM, kill=10, freeze=3, cut=3, disk=3, announce=3, most_harm=1)
"""One datanode dies, freezes, or fails otherwise, once; and maybe comes back."""

POWER = Plan(power=5, kill=2, freeze=2, cut=2, storm=4)
"""Also machines that lose their power, and with it what they have not synced."""

TAKEOVERS = replace(
    CALM, disaster=4, restart=40, freeze=2, thaw=4, reset=4, kill_namenode=1, start_namenode=100
)
"""Writers die with datanodes around them, in one moment, and others take the file over."""

AMNESIA = replace(TAKEOVERS, disaster=6, power=1, kill_namenode=4)
"""Power and the namenode fail as well, which forgets lengths: datanodes alone know them."""


FAILOVER = Plan(
    namenodes=2,
    take_over=4,
    hand_over=2,
    elect=40,
    end_stale=15,
    freeze_namenode=2,
    thaw_namenode=20,
    kill_namenode=2,
    stop_namenode=0,
    start_namenode=30,
    replicate=5,
    kill=2,
    freeze=2,
    cut=2,
    disk=1,
    storm=1,
)
"""Two namenodes take over from each other, with and without knowing, while all goes on."""
