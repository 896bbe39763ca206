"""`dfsadmin`: what was kept of the time before an upgrade, and rolling upgrades."""

from __future__ import annotations

from typing import Final

from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfsadmin.command import Cluster, Command
from howdah.errors import RemoteError
from howdah.fs.hdfs.administration import Administration, active_of, each_namenode
from howdah.runtime.units import java_date

_ROLLING: Final = ("query", "prepare", "finalize")


def _finalize(words: list[str], cluster: Cluster) -> None:
    _check_one_is_active(cluster)

    def finalize(namenode: Administration) -> str:
        namenode.finalize_upgrade()
        return "Finalize upgrade successful"

    cluster.print_answers(finalize, "Finalize upgrade failed")


def _check_one_is_active(cluster: Cluster) -> None:
    """Raises RemoteError where all of several namenodes stand by."""
    with each_namenode(cluster.authority, cluster.conf, cluster.fs.user) as namenodes:
        if namenodes and active_of(namenodes) is None:
            raise RemoteError("Cannot finalize with no NameNode active")


def _status(namenode: Administration) -> str:
    return "Upgrade finalized" if namenode.is_upgrade_finalized() else "Upgrade not finalized"


def _upgrade(words: list[str], cluster: Cluster) -> None:
    if words == ["finalize"]:
        _finalize(words, cluster)
    elif words == ["query"]:
        cluster.print_answers(_status, "Getting upgrade status failed")
    else:
        raise UsageError


def _rolling_upgrade(words: list[str], cluster: Cluster) -> None:
    action = words[0].lower() if words else "query"
    if action not in _ROLLING:
        raise UsageError(f'Failed to convert "{words[0]}" to RollingUpgradeAction')
    print(f"{action.upper()} rolling upgrade ...")
    upgrade = cluster.administration.rolling_upgrade(action)
    if upgrade is None:
        print(
            "There is no rolling upgrade in progress or rolling upgrade has already been finalized."
        )
        return
    if upgrade.finalize_ms is not None:
        print("Rolling upgrade is finalized.")
    elif upgrade.has_rollback_image:
        print("Proceed with rolling upgrade:")
    else:
        print(
            "Preparing for upgrade. Data is being saved for rollback.\n"
            'Run "dfsadmin -rollingUpgrade query" to check the status\n'
            "for proceeding with rolling upgrade"
        )
    finalized = "<NOT FINALIZED>"
    if upgrade.finalize_ms is not None:
        finalized = _time(upgrade.finalize_ms)
    print(f"  Block Pool ID: {upgrade.block_pool_id}")
    print(f"     Start Time: {_time(upgrade.start_ms)}")
    print(f"  Finalize Time: {finalized}")


def _time(time_ms: int) -> str:
    return f"{java_date(time_ms)} (={time_ms})"


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
        "Whether a rolling upgrade is under way; prepare one, which makes an image to go back to\n"
        "(a namenode that is alone has to be in safe mode); or finalize it: there is no way back\n"
        "then.",
        _rolling_upgrade,
        0,
        1,
    ),
}
