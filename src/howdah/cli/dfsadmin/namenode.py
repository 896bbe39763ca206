"""`dfsadmin`: safe mode, the name directories, and what the namenode reads anew."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfsadmin.command import Cluster, Command, Failed
from howdah.cli.dfsadmin.quotas import size
from howdah.config import keys
from howdah.config.nameservices import is_highly_available
from howdah.fs.hdfs.administration import Administration

_WAIT_S: Final = 0.5
_ACTIONS: Final = {"enter": "enter", "leave": "leave", "get": "get", "forceexit": "force_exit"}


def _safe_mode(words: list[str], cluster: Cluster) -> None:
    action = words[0].lower()
    if action != "wait" and action not in _ACTIONS:
        raise UsageError

    def question(namenode: Administration) -> str:
        on = namenode.safe_mode(_ACTIONS.get(action, "get"))
        while action == "wait" and on:
            time.sleep(_WAIT_S)
            on = namenode.safe_mode("get")
        return f"Safe mode is {'ON' if on else 'OFF'}"

    cluster.print_answers(question, "", of="in")


def _save_namespace(words: list[str], cluster: Cluster) -> None:
    if words not in ([], ["-beforeShutdown"]):
        raise UsageError(f"Can't understand arguments: {' '.join(words)}")
    window_s = gap = 0
    if words:
        periods = cluster.conf.get(keys.DFS_NAMENODE_MISSING_CHECKPOINT_PERIODS_BEFORE_SHUTDOWN)
        window_s = int(cluster.conf.get(keys.DFS_NAMENODE_CHECKPOINT_PERIOD)) * periods
        gap = cluster.conf.get(keys.DFS_NAMENODE_CHECKPOINT_TXNS) * periods
        print(
            "Do checkpoint if necessary before stopping namenode. The time window is "
            f"{window_s} seconds, and the transaction gap is {gap}"
        )

    def save(namenode: Administration) -> str:
        saved = namenode.save_namespace(window_s, gap)
        return "Save namespace successful" if saved else "No extra checkpoint has been made"

    cluster.print_answers(save, "Save namespace failed")


def _roll_edits(words: list[str], cluster: Cluster) -> None:
    first_txid = cluster.administration.roll_edits()
    print("Successfully rolled edit logs.")
    print(f"New segment starts at txid {first_txid}")


def _restore_failed_storage(words: list[str], cluster: Cluster) -> None:
    argument = words[0].lower()
    if argument not in ("true", "false", "check"):
        raise Failed("restoreFailedStorage valid args are true|false|check")

    def restore(namenode: Administration) -> str:
        restores = namenode.restore_failed_storage(argument)
        return f"restoreFailedStorage is set to {str(restores).lower()}"

    cluster.print_answers(restore, "restoreFailedStorage failed")


def _metasave(words: list[str], cluster: Cluster) -> None:
    name = words[0]
    created = f"Created metasave file {name} in the log directory"
    if not is_highly_available(cluster.conf, cluster.authority):
        cluster.administration.meta_save(name)
        print(f"{created} of namenode {cluster.fs.uri}")
        return

    def save(namenode: Administration) -> str:
        namenode.meta_save(name)
        return created

    skipped = "Skip Standby NameNode, since it cannot perform metasave operation"
    cluster.print_answers(save, created, of="of namenode", suffix=" failed", skipped=skipped)


def _refresh_nodes(words: list[str], cluster: Cluster) -> None:
    def refresh(namenode: Administration) -> str:
        namenode.refresh_nodes()
        return "Refresh nodes successful"

    cluster.print_answers(refresh, "Refresh nodes failed")


def _set_balancer_bandwidth(words: list[str], cluster: Cluster) -> None:
    if words[0].startswith("-"):
        raise Failed("Bandwidth should be a non-negative integer")
    try:
        bandwidth = size(words[0])
    except ValueError:
        raise UsageError(f'"{words[0]}" is no number of bytes, such as 1048576 or 10m') from None
    cluster.administration.set_balancer_bandwidth(bandwidth)
    print(f"Balancer bandwidth is set to {bandwidth}")


def _refresh(
    done: str, call: Callable[[Administration], None]
) -> Callable[[list[str], Cluster], None]:
    def question(namenode: Administration) -> str:
        call(namenode)
        return f"{done} successful"

    def run(words: list[str], cluster: Cluster) -> None:
        cluster.print_answers(question, f"{done} failed")

    return run


COMMANDS: Final = {
    "-safemode": Command(
        "enter | leave | get | wait | forceExit",
        "Safe mode is the time in which nothing changes: names are only looked at, and blocks\n"
        "neither copied nor deleted. A namenode starts in it and leaves it by itself; one that\n"
        "was told to enter it leaves when it is told to. `wait` ends when it is off.",
        _safe_mode,
        1,
        1,
    ),
    "-saveNamespace": Command(
        "[-beforeShutdown]",
        "Write an image of the namespace, in safe mode. With -beforeShutdown only if the newest\n"
        "one is old, or lacks many edits.",
        _save_namespace,
        0,
        1,
    ),
    "-rollEdits": Command(
        "", "End the segment of the edit log that is written.", _roll_edits, 0, 0
    ),
    "-restoreFailedStorage": Command(
        "true|false|check",
        "Whether metadata directories that failed are tried again when the log is rolled:\n"
        "switch it on or off, or ask.",
        _restore_failed_storage,
        1,
        1,
    ),
    "-refreshNodes": Command(
        "",
        "Reload the files of dfs.hosts and dfs.hosts.exclude. Datanodes that may not take\n"
        "part any more are turned away; those that are excluded are decommissioned; those that\n"
        "are to be in maintenance enter it; all others are in service again.",
        _refresh_nodes,
        0,
        0,
    ),
    "-metasave": Command(
        "filename",
        "Write what is known of datanodes and blocks to a file in the namenode's log directory\n"
        "(HADOOP_LOG_DIR, else hadoop.tmp.dir).",
        _metasave,
        1,
        1,
    ),
    "-setBalancerBandwidth": Command(
        "<bandwidth in bytes per second>",
        "How fast each datanode may move blocks for balancing, until it restarts.",
        _set_balancer_bandwidth,
        1,
        1,
    ),
    "-refreshServiceAcl": Command(
        "",
        "Reload who may speak which protocol (hadoop-policy.xml).",
        _refresh("Refresh service acl", Administration.refresh_service_acl),
        0,
        0,
    ),
    "-refreshUserToGroupsMappings": Command(
        "",
        "Reload the groups of users.",
        _refresh("Refresh user to groups mapping", Administration.refresh_user_to_groups_mappings),
        0,
        0,
    ),
    "-refreshSuperUserGroupsConfiguration": Command(
        "",
        "Reload the rules of impersonation (hadoop.proxyuser.*).",
        _refresh(
            "Refresh super user groups configuration",
            Administration.refresh_super_user_groups_configuration,
        ),
        0,
        0,
    ),
    "-refreshCallQueue": Command(
        "",
        "Reload the call queue; calls are served in the order in which they come.",
        _refresh("Refresh call queue", Administration.refresh_call_queue),
        0,
        0,
    ),
}
