"""`dfsadmin -report`, `-printTopology` and `-listOpenFiles`: what there is."""

from __future__ import annotations

import socket
from typing import Final

import howdah
from howdah import errors
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfsadmin.command import Cluster, Command, Failed, first_line
from howdah.config import Configuration
from howdah.config.nameservices import nameservices
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.runtime.running_cluster import default_filesystem
from howdah.runtime.units import java_date, percent_text, sized

DEFAULT_RACK: Final = "/default-rack"
_LINE: Final = "-" * 49
_FILTERS: Final = {
    "-live": ("LIVE", "Live"),
    "-dead": ("DEAD", "Dead"),
    "-decommissioning": ("DECOMMISSIONING", "Decommissioning"),
    "-enteringmaintenance": ("ENTERING_MAINTENANCE", "Entering maintenance"),
    "-inmaintenance": ("IN_MAINTENANCE", "In maintenance"),
    "-slownodes": ("", "Slow"),
}
_STATES: Final = {
    types_pb2.DatanodeInfoProto.NORMAL: "Normal",
    types_pb2.DatanodeInfoProto.DECOMMISSION_INPROGRESS: "Decommission in progress",
    types_pb2.DatanodeInfoProto.DECOMMISSIONED: "Decommissioned",
    types_pb2.DatanodeInfoProto.ENTERING_MAINTENANCE: "Entering maintenance",
    types_pb2.DatanodeInfoProto.IN_MAINTENANCE: "In maintenance",
}
_SHORT_STATES: Final = {
    **_STATES,
    types_pb2.DatanodeInfoProto.NORMAL: "In Service",
    types_pb2.DatanodeInfoProto.DECOMMISSION_INPROGRESS: "Decommission In Progress",
    types_pb2.DatanodeInfoProto.ENTERING_MAINTENANCE: "Entering Maintenance",
    types_pb2.DatanodeInfoProto.IN_MAINTENANCE: "In Maintenance",
}


def _report(words: list[str], cluster: Cluster) -> None:
    administration = cluster.administration
    status = cluster.fs.get_status()
    present = status.used + status.remaining
    blocks = administration.replicated_block_stats()
    if cluster.fs.set_safe_mode("get", checked=True):
        print("Safe mode is ON")
        if blocks.blocks_in_future:
            _warn_of_future(blocks.blocks_in_future)
    print(f"Configured Capacity: {sized(status.capacity)}")
    print(f"Present Capacity: {sized(present)}")
    print(f"DFS Remaining: {sized(status.remaining)}")
    print(f"DFS Used: {sized(status.used)}")
    share = 100 * status.used / present if present else float("nan")
    print(f"DFS Used%: {percent_text(share)}")
    print("Replicated Blocks:")
    print(f"\tUnder replicated blocks: {blocks.low_redundancy}")
    print(f"\tBlocks with corrupt replicas: {blocks.corrupt_blocks}")
    print(f"\tMissing blocks: {blocks.missing_blocks}")
    print(f"\tMissing blocks (with replication factor 1): {blocks.missing_repl_one_blocks}")
    _print_other_counts(blocks)
    groups = administration.block_group_stats()
    print("Erasure Coded Block Groups: ")
    print(f"\tLow redundancy block groups: {groups.low_redundancy}")
    print(f"\tBlock groups with corrupt internal blocks: {groups.corrupt_blocks}")
    print(f"\tMissing block groups: {groups.missing_blocks}")
    _print_other_counts(groups)
    print()
    print(_LINE)
    wanted = [word for word in _FILTERS if word in words]
    for word in wanted or _FILTERS:
        kind, name = _FILTERS[word]
        nodes = administration.datanodes(kind) if kind else administration.slow_datanodes()
        if nodes or wanted:
            print(f"{name} datanodes ({len(nodes)}):\n")
        for node in nodes:
            print(node_report(node))
            print()


def _print_other_counts(
    counts: pb.GetFsReplicatedBlockStatsResponseProto | pb.GetFsECBlockGroupStatsResponseProto,
) -> None:
    if counts.HasField("badly_distributed_blocks"):
        print(f"\tBadly Distributed Blocks: {counts.badly_distributed_blocks}")
    if counts.HasField("highest_prio_low_redundancy_blocks"):
        print(
            "\tLow redundancy blocks with highest priority to recover: "
            f"{counts.highest_prio_low_redundancy_blocks}"
        )
    print(f"\tPending deletion blocks: {counts.pending_deletion_blocks}")


def _report_everywhere(words: list[str], conf: Configuration) -> None:
    """Report each nameservice of the configuration, including those that do not answer."""
    names = {f"hdfs://{name}": f"Nameservice {name}" for name in nameservices(conf)}
    names = names or {default_filesystem(conf): "The namespace"}
    silent = []
    for number, (uri, name) in enumerate(names.items()):
        print(f"\n{name}: {uri}" if number else f"{name}: {uri}")
        try:
            with howdah.connect(uri, conf=conf, laid_over=False) as fs:
                if not isinstance(fs, HdfsFileSystem):
                    raise errors.IllegalArgument(f"FileSystem {fs.uri} is not an HDFS file system")
                _report(words, Cluster(fs, conf))
        except errors.HowdahError as error:
            print(f"It does not answer: {first_line(error)}")
            silent.append(uri)
    if silent:
        raise Failed(
            f"report: {len(silent)} of {len(names)} nameservices did not answer: "
            f"{', '.join(silent)}"
        )


def _warn_of_future(count_bytes: int) -> None:
    print("\nWARNING: ")
    print("Name node has detected blocks with generation stamps in future.")
    print(f"Forcing exit from safemode will cause {count_bytes} byte(s) to be deleted.")
    print(
        "If you are sure that the NameNode was started with the correct metadata files then "
        "you may proceed with '-safemode forceExit'\n"
    )


def node_report(node: types_pb2.DatanodeInfoProto) -> str:
    """What `-report` says about one datanode, with an empty line at the end."""
    cache_left = max(node.cacheCapacity - node.cacheUsed, 0)
    lines = [
        f"Name: {_name(node)}",
        f"Hostname: {node.id.hostName}",
    ]
    if node.location != DEFAULT_RACK:
        lines.append(f"Rack: {node.location}")
    if node.HasField("upgradeDomain"):
        lines.append(f"Upgrade domain: {node.upgradeDomain}")
    lines += [
        f"Decommission Status : {_STATES[node.adminState]}",
        f"Configured Capacity: {sized(node.capacity)}",
        f"DFS Used: {sized(node.dfsUsed)}",
        f"Non DFS Used: {sized(node.nonDfsUsed)}",
        f"DFS Remaining: {sized(node.remaining)}",
        f"DFS Used%: {_percent(node.dfsUsed, node.capacity, 100.0)}",
        f"DFS Remaining%: {_percent(node.remaining, node.capacity, 0.0)}",
        f"Configured Cache Capacity: {sized(node.cacheCapacity)}",
        f"Cache Used: {sized(node.cacheUsed)}",
        f"Cache Remaining: {sized(cache_left)}",
        f"Cache Used%: {_percent(node.cacheUsed, node.cacheCapacity, 100.0)}",
        f"Cache Remaining%: {_percent(cache_left, node.cacheCapacity, 0.0)}",
        f"Xceivers: {node.xceiverCount}",
        f"Last contact: {java_date(node.lastUpdate)}",
        "Last Block Report: "
        + (java_date(node.lastBlockReportTime) if node.lastBlockReportTime else "Never"),
        f"Num of Blocks: {node.numBlocks}",
    ]
    return "\n".join(lines) + "\n"


def _percent(part: int, whole: int, of_nothing: float) -> str:
    return percent_text(100 * part / whole if whole else of_nothing)


def _name(node: types_pb2.DatanodeInfoProto) -> str:
    """`10.0.0.1:9866 (worker1)`; an address without a name stands for itself."""
    try:
        host = socket.gethostbyaddr(node.id.ipAddr)[0]
    except (OSError, UnicodeError):
        host = node.id.ipAddr
    return f"{node.id.ipAddr}:{node.id.xferPort} ({host})"


def _print_topology(words: list[str], cluster: Cluster) -> None:
    racks: dict[str, list[types_pb2.DatanodeInfoProto]] = {}
    for node in cluster.administration.datanodes("ALL"):
        racks.setdefault(node.location, []).append(node)
    for rack in sorted(racks):
        print(f"Rack: {rack}")
        for node in sorted(racks[rack], key=lambda node: (node.id.ipAddr, node.id.xferPort)):
            print(f"   {_name(node)} {_SHORT_STATES[node.adminState]}")
        print()


def _list_open_files(words: list[str], cluster: Cluster) -> None:
    blocking = "-blockingDecommission" in words
    rest = [word for word in words if word != "-blockingDecommission"]
    path = "/"
    if rest[:1] == ["-path"] and len(rest) == 2:
        path = rest[1].strip() or "/"
    elif rest:
        raise UsageError
    print(f"{'Client Host':<20}\t{'Client Name':<20}\tOpen File Path")
    for entry in cluster.administration.open_files(path, blocking_decommission=blocking):
        print(f"{entry.client_machine:<20}\t{entry.client_name:<20}\t{entry.path:>20}")


COMMANDS: Final = {
    "-report": Command(
        " ".join(f"[{word}]" for word in (*_FILTERS, "-all")),
        "What the cluster has: room, blocks in trouble, and each datanode. With words, only\n"
        "the datanodes in those states. With -all a part for each nameservice of the\n"
        "configuration; of one that does not answer that is said, and the exit code is 255.",
        _report,
        most_words=len(_FILTERS) + 1,
        everywhere=_report_everywhere,
    ),
    "-printTopology": Command(
        "", "The racks, each with its datanodes.", _print_topology, most_words=0
    ),
    "-listOpenFiles": Command(
        "[-blockingDecommission] [-path <path>]",
        "The files that are being written, each with its client; those below <path> if there\n"
        "is one; with -blockingDecommission those that keep a datanode from being decommissioned.",
        _list_open_files,
        most_words=3,
    ),
}
