"""A namenode that does not answer is left as soon as another one is active.

A namenode that hangs, or that the network has cut off, refuses nothing: a call to it waits for
`ipc.client.rpc-timeout.ms`, a minute or two, though another namenode became active after a
second. So while a call waits, the other namenodes are asked now and then for their state, every
`howdah.client.failover.probe.interval.ms`. When one of them says that it is active, the call is
made there, under the same call id: whether it happened before, the retry cache knows. An active
namenode that is only slow is waited for as ever. Hadoop's client waits.
"""

from __future__ import annotations

import logging

from howdah import errors
from howdah.client.namenodes.connections import Connections
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import ha_pb2
from howdah.rpc.connection import Meanwhile

_log = logging.getLogger(__name__)


class LeftForAnother(errors.CallTimeout):
    """The namenode was not waited for any longer: another one is active."""


def while_waiting(connections: Connections, namenode: str, every_s: float) -> Meanwhile | None:
    """What a call to `namenode` does while it waits; None if it only waits."""
    if not every_s:
        return None

    def check() -> None:
        for other in connections.names:
            if other != namenode and state_of(connections, other, every_s) == ha_pb2.ACTIVE:
                raise LeftForAnother(
                    f"it does not answer, and {connections.target.display_name(other)} is active"
                )

    return Meanwhile(every_s, check)


def state_of(connections: Connections, namenode: str, timeout_s: float) -> int | None:
    """What a namenode says that it is, an `HAServiceStateProto`; None if it says nothing."""
    try:
        answer = connections.rpc[namenode].call(
            "getHAServiceState",
            pb.HAServiceStateRequestProto(),
            pb.HAServiceStateResponseProto,
            timeout_s=timeout_s,
        )
    except errors.HowdahError as error:
        # As good as a standby: whoever asked goes on to wait, or asks the next one.
        _log.debug(
            "%s does not say its state: %s", connections.target.display_name(namenode), error
        )
        return None
    return answer.state
