"""Scenarios: functions that take a `World`, let things happen in it, and raise where something is
wrong. Each returns what it has to say for itself, figures by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from howdah.testing.world.scenarios import (
    datanodes,
    federation,
    highly_available,
    namenode,
    operating,
    placing,
    reading,
    recoveries,
    replication,
    resources,
    rpc,
    secured,
    striped,
    takeovers,
    upgrading,
)
from howdah.testing.world.world import World

Scenario = Callable[[World], Mapping[str, object]]

SCENARIOS: Final[dict[str, Scenario]] = {
    "datanodes": datanodes.writes_under_faults,
    "administered": datanodes.writes_administered,
    "failovers": highly_available.failovers,
    "late-journal-nodes": highly_available.failovers_without_a_journal_node,
    "webhdfs": datanodes.writes_over_http,
    "federation": federation.writes_through_routers,
    "datanodes-all-faults": datanodes.writes_under_all_faults,
    "highly-available-all-faults": highly_available.writes_under_all_faults,
    "observers": highly_available.reads_from_observers,
    "highly-available": highly_available.writes_under_faults,
    "rivals": highly_available.writes_beside_rivals,
    "namenode": namenode.power_losses,
    "recoveries": recoveries.recovered_files_keep_what_was_promised,
    "replication": replication.replicas_follow_the_replication,
    "lost-messages": replication.replicas_follow_though_messages_are_lost,
    "operated": operating.operated,
    "operated-by-hand": operating.operated_by_hand,
    "placing": placing.places_replicas,
    "upgrades": upgrading.upgrades,
    "reading": reading.reads_in_every_way,
    "resources": resources.returns_what_it_held,
    "routed": federation.routed,
    "rpc": rpc.calls,
    "nothing-fails": datanodes.nothing_fails,
    "takeovers": takeovers.take_over,
    "secured": secured.writes_secured,
    "striped": striped.striped_files_survive_losses,
    "striped-losses": striped.any_losses_between_steps,
    "striped-kills": striped.closed_files_survive_kills,
}
