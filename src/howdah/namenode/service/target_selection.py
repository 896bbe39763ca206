"""The datanode that is to take the bytes of a new block: Hadoop's chooseTarget4WebHDFS (pure).

One on the caller's machine, else one that placement would take. The choice binds nobody: when
the datanode writes, placement chooses again, with it as the writer.
"""

from __future__ import annotations

from howdah import errors
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import encoders
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeRegistry
from howdah.proto import types_pb2
from howdah.web.webhdfs.call_chain import Target


def choose(namesystem: Namesystem, target: Target, address: str) -> types_pb2.DatanodeIDProto:
    """`address` is the caller's. Raises RemoteError where there is none."""
    blocks, datanodes = namesystem.block_manager, namesystem.datanode_manager.datanodes
    excluded = {uuid for name in target.excluded for uuid in _named(datanodes, name)}
    chosen = blocks.placement.choose(
        1,
        block_size_bytes=target.block_size_bytes,
        writer=datanodes.by_ip(address),
        writer_location=namesystem.datanode_manager.racks.client_location(address),
        excluded=excluded,
        avoid=blocks.avoided_targets(namesystem.clock.monotonic_ms()),
    )
    if chosen:
        return encoders.datanode_id(chosen[0].node)
    for node in datanodes.live():
        if node.in_service and node.identity.uuid not in excluded:
            # It has no room, and can write to others nevertheless.
            return encoders.datanode_id(node)
    names = ",".join(sorted(target.excluded)) or "null"
    raise errors.RemoteError(
        f"Failed to find datanode, suggest to check cluster health. excludeDatanodes={names}"
    )


def _named(datanodes: DatanodeRegistry, name: str) -> list[str]:
    """The uuids of datanodes by host, address, or either with the port for data."""

    def names(node: Datanode) -> set[str]:
        identity = node.identity
        hosts = {identity.ip, identity.hostname}
        return hosts | {f"{host}:{identity.transfer_port}" for host in hosts}

    return [node.identity.uuid for node in datanodes if name in names(node)]
