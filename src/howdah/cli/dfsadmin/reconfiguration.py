"""`dfsadmin -reconfig`: have running servers read their configuration anew."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from howdah import errors
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfsadmin.command import Cluster, Command, Failed
from howdah.cli.dfsadmin.datanodes import address_at, datanode_at
from howdah.fs.hdfs.administration import Reconfigurable
from howdah.runtime.units import java_date

_KINDS: Final = {"livenodes": "LIVE", "decomnodes": "DECOMMISSIONING"}
Ask = Callable[[Reconfigurable, str], None]


def _start(server: Reconfigurable, place: str) -> None:
    server.start_reconfiguration()
    print(f"Started reconfiguration task on node [{place}].")


def _status(server: Reconfigurable, place: str) -> None:
    status = server.reconfiguration_status()
    said = f"Reconfiguring status for node [{place}]: "
    if not status.startTime:
        print(f"{said}no task was found.")
        return
    said += f"started at {java_date(status.startTime)}"
    if not status.HasField("endTime"):
        print(f"{said} and is still running.")
        return
    print(f"{said} and finished at {java_date(status.endTime)}.")
    for change in status.changes:
        outcome = "FAILED: Change" if change.errorMessage else "SUCCESS: Changed"
        print(
            f"{outcome} property {change.name}\n"
            f'\tFrom: "{change.oldValue}"\n\tTo: "{change.newValue}"'
        )
        if change.errorMessage:
            print(f"\tError: {change.errorMessage}")


def _properties(server: Reconfigurable, place: str) -> None:
    names = server.reconfigurable_properties()
    print(f"Node [{place}] Reconfigurable properties:")
    for name in names:
        print(name)


_OPERATIONS: Final[dict[str, tuple[Ask, str, str]]] = {
    "start": (_start, "reconfiguring", "Starting of reconfiguration task"),
    "status": (_status, "reloading configuration", "Retrieval of reconfiguration status"),
    "properties": (_properties, "reconfiguration", ""),
}


@contextmanager
def namenode_at(place: str, cluster: Cluster) -> Iterator[Reconfigurable]:
    namenode = Reconfigurable(address_at(place), cluster.fs.user)
    try:
        yield namenode
    finally:
        namenode.close()


def _reconfigure(words: list[str], cluster: Cluster) -> None:
    kind, place, operation = words
    if kind not in ("namenode", "datanode") or operation not in _OPERATIONS:
        raise UsageError
    ask, failing, several = _OPERATIONS[operation]
    if kind == "namenode" or place not in _KINDS:
        opened = namenode_at if kind == "namenode" else datanode_at
        with opened(place, cluster) as server:
            try:
                ask(server, place)
            except errors.HowdahError as error:
                raise Failed(f"Node [{place}] {failing}: {error}.", 1) from error
        return
    if operation == "properties":
        # Hadoop's program asks one node only, too.
        raise UsageError(f"Does not contain a valid host:port authority: {place}")
    failed = 0
    nodes = cluster.administration.datanodes(_KINDS[place])
    for node in nodes:
        address = f"{node.id.ipAddr}:{node.id.ipcPort}"
        with datanode_at(address, cluster) as datanode:
            try:
                ask(datanode, address)
            except errors.HowdahError as error:
                failed += 1
                print(f"Node [{address}] {failing}: {error}.", file=sys.stderr)
    print(f"{several} successful on {len(nodes) - failed} nodes, failed on {failed} nodes.")
    if failed:
        raise Failed(f"{failed} of {len(nodes)} nodes could not be asked", 1)


COMMANDS: Final = {
    "-reconfig": Command(
        "<namenode|datanode> <host:ipc_port|livenodes|decomnodes> <start|status|properties>",
        "Reload changed settings of a running server, or of all datanodes, from its files: start\n"
        "that, show its status, or list the keys. A datanode adds and removes volumes in this way\n"
        "(`dfs.datanode.data.dir`). A namenode, at its RPC port, changes how fast it copies and\n"
        "deletes, when datanodes are dead, and where replicas are placed.",
        _reconfigure,
        3,
        3,
    ),
}
