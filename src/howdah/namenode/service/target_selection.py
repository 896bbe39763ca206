"""The datanode that is to take the bytes of a new block: Hadoop's chooseTarget4WebHDFS (pure).

One on the caller's machine, else one that placement would take. The choice binds nobody: when
the datanode writes, placement chooses again, with it as the writer.
"""

from __future__ import annotations

from howdah import errors
from howdah.namenode.service.calls.core import Core
from howdah.namenode.service.protocols import encoders
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.proto import types_pb2
from howdah.web.webhdfs.call_chain import Target


def choose(core: Core, target: Target, address: str) -> types_pb2.DatanodeIDProto:
    """`address` is the caller's. Raises RemoteError where there is none."""
    excluded = {uuid for name in target.excluded for uuid in _named(core, name)}
    found = core.placement.choose(
        1,
        block_size_bytes=target.block_size_bytes,
        writer=core.datanodes.by_ip(address),
        writer_location=core.racks.client_location(address),
        excluded=excluded,
        avoid=core.gets_blocks_last(core.clock.monotonic_ms()),
    )
    if found:
        return encoders.datanode_id(found[0].node)
    for node in core.datanodes.live():
        if node.in_service and node.identity.uuid not in excluded:
            # It has no room, and can write to others nevertheless.
            return encoders.datanode_id(node)
    names = ",".join(sorted(target.excluded)) or "null"
    raise errors.RemoteError(
        f"Failed to find datanode, suggest to check cluster health. excludeDatanodes={names}"
    )


def _named(core: Core, name: str) -> list[str]:
    """The uuids of datanodes by host, address, or either with the port for data."""

    def names(node: Datanode) -> set[str]:
        identity = node.identity
        hosts = {identity.ip, identity.hostname}
        return hosts | {f"{host}:{identity.transfer_port}" for host in hosts}

    return [node.identity.uuid for node in core.datanodes if name in names(node)]
