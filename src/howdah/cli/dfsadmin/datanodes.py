"""`dfsadmin`: what is asked of one datanode, at its IPC port."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from howdah import errors
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfsadmin.command import Cluster, Command
from howdah.fs.hdfs.administration import DatanodeAdministration
from howdah.proto import types_pb2
from howdah.runtime.units import byte_text

_PLACE: Final = "<datanode_host:ipc_port>"


def address_at(place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise UsageError(f"Not a host:port pair: {place}")
    return host.strip("[]"), int(port)


@contextlib.contextmanager
def datanode_at(place: str, cluster: Cluster) -> Iterator[DatanodeAdministration]:
    administration = DatanodeAdministration(address_at(place), cluster.fs.user)
    try:
        yield administration
    finally:
        administration.close()


@contextlib.contextmanager
def _named_unreachable() -> Iterator[None]:
    """Begin the error of a datanode that does not answer with Hadoop's words."""
    try:
        yield
    except errors.Unreachable as error:
        raise errors.Unreachable(f"Datanode unreachable. {error}") from error


def _info(words: list[str], cluster: Cluster) -> None:
    with datanode_at(words[0], cluster) as datanode, _named_unreachable():
        info = datanode.info()
    print(
        f"Uptime: {info.uptime}, Software version: {info.softwareVersion}, "
        f"Config version: {info.configVersion}"
    )


def _volumes(words: list[str], cluster: Cluster) -> None:
    with datanode_at(words[0], cluster) as datanode:
        volumes = datanode.volumes()
    print(f"Active Volumes : {len(volumes)}")
    for volume in volumes:
        print(
            f"\nDirectory: {volume.path}"
            f"\nStorageType: {types_pb2.StorageTypeProto.Name(volume.storageType)}"
            f"\nCapacity Used: {volume.usedSpace}({byte_text(volume.usedSpace)})"
            f"\nCapacity Left: {volume.freeSpace}({byte_text(volume.freeSpace)})"
            f"\nCapacity Reserved: {volume.reservedSpace}({byte_text(volume.reservedSpace)})"
            f"\nReserved Space for Replicas: {volume.reservedSpaceForReplicas}"
            f"({byte_text(volume.reservedSpaceForReplicas)})"
            f"\nBlocks: {volume.numBlocks}"
        )


def _shutdown(words: list[str], cluster: Cluster) -> None:
    if words[1:] not in ([], ["upgrade"]):
        raise UsageError
    with datanode_at(words[0], cluster) as datanode:
        datanode.shutdown(for_upgrade=len(words) > 1)
    print(f"Submitted a shutdown request to datanode {words[0]}")


def _evict_writers(words: list[str], cluster: Cluster) -> None:
    with datanode_at(words[0], cluster) as datanode:
        datanode.evict_writers()
    print(f"Requested writer eviction to datanode {words[0]}")


def _trigger_block_report(words: list[str], cluster: Cluster) -> None:
    rest = [word for word in words if word != "-incremental"]
    incremental = len(rest) != len(words)
    namenode = None
    if "-namenode" in rest[:-1]:
        place = rest.index("-namenode")
        namenode = rest[place + 1]
        del rest[place : place + 2]
    if not rest:
        raise UsageError("You must specify a host:port pair.")
    if len(rest) > 1:
        raise UsageError(f"Can't understand arguments: {' '.join(rest[1:])}")
    with datanode_at(rest[0], cluster) as datanode:
        datanode.trigger_block_report(incremental=incremental, namenode=namenode)
    kind = "an incremental" if incremental else "a full"
    to = f" to namenode {namenode}" if namenode else ""
    print(f"Triggering {kind} block report on {rest[0]}{to}.")


def _delete_block_pool(words: list[str], cluster: Cluster) -> None:
    if words[2:] not in ([], ["force"]):
        raise UsageError
    with datanode_at(words[0], cluster) as datanode:
        datanode.delete_block_pool(words[1], force=len(words) > 2)


def _refresh_namenodes(words: list[str], cluster: Cluster) -> None:
    with datanode_at(words[0], cluster) as datanode:
        datanode.refresh_namenodes()


def _balancer_bandwidth(words: list[str], cluster: Cluster) -> None:
    with datanode_at(words[0], cluster) as datanode, _named_unreachable():
        bandwidth = datanode.balancer_bandwidth()
    print(f"Balancer bandwidth is {bandwidth} bytes per second.")


def _refresh(words: list[str], cluster: Cluster) -> None:
    raise errors.UnsupportedOperation(
        f"no server here has anything to refresh under the name {words[1]}"
    )


COMMANDS: Final = {
    "-getDatanodeInfo": Command(_PLACE, "Whether a datanode runs, and since when.", _info, 1, 1),
    "-getVolumeReport": Command(
        "datanode_host:ipc_port", "A datanode's volumes, and their room.", _volumes, 1, 1
    ),
    "-triggerBlockReport": Command(
        f"[-incremental] {_PLACE} [-namenode <namenode_host:ipc_port>]",
        "Have a datanode report its blocks at once: all of them, or what is new.",
        _trigger_block_report,
        1,
        4,
    ),
    "-shutdownDatanode": Command(
        f"{_PLACE} [upgrade]",
        "Stop a datanode. With `upgrade` its clients wait for its return.",
        _shutdown,
        1,
        2,
    ),
    "-evictWriters": Command(
        _PLACE,
        "Have a datanode end every write; clients go on with their other datanodes.",
        _evict_writers,
        1,
        1,
    ),
    "-getBalancerBandwidth": Command(
        _PLACE, "How fast a datanode may move blocks for balancing.", _balancer_bandwidth, 1, 1
    ),
    "-deleteBlockPool": Command(
        "datanode_host:ipc_port blockpoolId [force]",
        "Delete the directories of a block pool that a datanode does not serve any more;\n"
        "with `force` even if there are blocks in it.",
        _delete_block_pool,
        2,
        3,
    ),
    "-refreshNamenodes": Command(
        "datanode_host:ipc_port",
        "Reload the files of a datanode, and serve the nameservices and namenodes in them.",
        _refresh_namenodes,
        1,
        1,
    ),
    "-refresh": Command(
        "<host:ipc_port> <key> [arg1..argn]",
        "Have a server refresh what it has under that name; none has anything.",
        _refresh,
        2,
    ),
}
