"""What an election says of the active namenode: the content of its znodes (pure).

Mirrors Hadoop's ActiveNodeInfo and DFSZKFailoverController.dataToTarget, byte for byte, so that
Hadoop's controllers and ours can stand against each other. Whoever can write to the election can
write anything there: what does not agree with the configuration is refused, and nothing is sent
to an address that the configuration does not have. A host may have two names: Hadoop's
controller writes the one that a look-up of the address gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.failover.state.service import Target
from howdah.proto import failover_pb2
from howdah.protocol.messages import parse

MAX_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class ActiveNode:
    """A namenode, as an election names it."""

    nameservice: str
    namenode: str
    host: str
    port: int
    controller_port: int


def encode(target: Target) -> bytes:
    """The content with which the controller of `target` joins."""
    host, port = target.address
    return failover_pb2.ActiveNodeInfo(
        nameserviceId=target.nameservice,
        namenodeId=target.namenode,
        hostname=host,
        port=port,
        zkfcPort=target.controller_port,
    ).SerializeToString()


def decode(data: bytes) -> ActiveNode:
    """What the content says. Raises ServiceFailed where it says nothing."""
    try:
        if len(data) > MAX_BYTES:
            raise DecodeError(f"{len(data)} bytes")
        message = parse(failover_pb2.ActiveNodeInfo, data)
        texts = (message.nameserviceId, message.namenodeId, message.hostname)
        if not all(text.isprintable() for text in texts):
            raise DecodeError("a name is not printable")
    except DecodeError as error:
        raise errors.ServiceFailed(
            f"the election names no namenode, but {data[:64].hex() or 'nothing'}: {error}"
        ) from error
    return ActiveNode(
        message.nameserviceId,
        message.namenodeId,
        message.hostname,
        message.port,
        message.zkfcPort,
    )


def target_of(
    data: bytes, targets: Mapping[str, Target], is_same_host: Callable[[str, str], bool]
) -> Target:
    """The namenode that a content names, one of `targets` (by its id). Raises ServiceFailed.

    `is_same_host` says of two names whether they stand for one host.
    """
    node = decode(data)
    target = targets.get(node.namenode)
    if target is None or target.nameservice != node.nameservice:
        raise errors.ServiceFailed(
            f"the election names namenode {node.namenode} of {node.nameservice}, which is not in "
            "the configuration: is another nameservice's election mixed up with this one?"
        )
    host, port = target.address
    if node.port != port or not (node.host == host or is_same_host(node.host, host)):
        raise errors.ServiceFailed(
            f"the election says that namenode {node.namenode} is at {node.host}:{node.port}, and "
            f"the configuration that it is at {host}:{port}. Both must "
            "agree before anything is done to it"
        )
    # Where the election names no port for the controller, the configuration does.
    is_port = 0 < node.controller_port < 65536
    return replace(target, controller_port=node.controller_port) if is_port else target
