"""`dfsadmin`: what was kept of the time before an upgrade, and rolling upgrades."""

from __future__ import annotations

from typing import Final

from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfsadmin.command import Cluster, Command

_ROLLING: Final = ("query", "prepare", "finalize")


def _finalize(words: list[str], cluster: Cluster) -> None:
    cluster.administration.finalize_upgrade()
    print("Finalize upgrade successful")


def _upgrade(words: list[str], cluster: Cluster) -> None:
    if words == ["finalize"]:
        _finalize(words, cluster)
    elif words == ["query"]:
        done = cluster.administration.is_upgrade_finalized()
        print("Upgrade finalized" if done else "Upgrade not finalized")
    else:
        raise UsageError


def _rolling_upgrade(words: list[str], cluster: Cluster) -> None:
    action = words[0].lower() if words else "query"
    if action not in _ROLLING:
        raise UsageError(f'Failed to convert "{words[0]}" to RollingUpgradeAction')
    print(f"{action.upper()} rolling upgrade ...")
    if not cluster.administration.rolling_upgrade(action):
        print(
            "There is no rolling upgrade in progress or rolling upgrade has already been finalized."
        )


COMMANDS: Final = {
    "-finalizeUpgrade": Command(
        "",
        "Give up what namenode and datanodes keep of the time before an upgrade. There is no\n"
        "way back then.",
        _finalize,
        0,
        0,
    ),
    "-upgrade": Command(
        "<query | finalize>",
        "Whether an upgrade waits for being finalized, or finalize it.",
        _upgrade,
        1,
        1,
    ),
    "-rollingUpgrade": Command(
        "[<query|prepare|finalize>]",
        "Whether a rolling upgrade is under way. None can be begun: stop the namenode, and start\n"
        "it with `howdah namenode -upgrade`.",
        _rolling_upgrade,
        0,
        1,
    ),
}
