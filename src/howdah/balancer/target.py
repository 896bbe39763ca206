"""Asks a datanode for a move, and waits for its end (REPLACE_BLOCK).

PendingMove.dispatch in Hadoop. The datanode says that it is at work twice in its socket time-out,
so that silence of five times that is the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.balancer.access import OPEN, MoveAccess
from howdah.balancer.state.iteration import Move
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.protocol.data_transfer.op_requests import ReplaceBlock, encode_request
from howdah.protocol.data_transfer.responses import read_response
from howdah.protocol.data_transfer.status import Status

_SILENCES: Final = 5


def move(
    move: Move,
    pool_id: str,
    *,
    socket_timeout_s: float,
    use_hostname: bool,
    access: MoveAccess = OPEN,
    move_timeout_s: float = 0.0,
    is_late: Callable[[], bool] = lambda: False,
) -> None:
    """Returns when the target has the replica. `access` has what proves the right to ask for that.

    Raises `RemoteError` with the datanode's words if it does not take it; `CallTimeout` when it
    took more than `move_timeout_s` (0 is no limit), or once `is_late` says so: the move may go on
    then, but nobody waits.
    """
    block = ExtendedBlock(
        pool_id, move.block.block_id, move.block.generation_stamp, move.block.length_bytes
    )
    token = access.token(block, move.target.storage_type)
    began_s = time.monotonic()
    with access.connect(
        move.target.node.connect_to(use_hostname=use_hostname),
        token,
        connect_timeout_s=socket_timeout_s,
        read_timeout_s=socket_timeout_s * _SILENCES,
        write_timeout_s=socket_timeout_s,
    ) as connection:
        request = ReplaceBlock(
            block, move.source.node.uuid, move.proxy, move.target.storage_type, token=token
        )
        connection.send_all(encode_request(request))
        while (answer := read_response(connection)).status is Status.IN_PROGRESS:
            took_s = time.monotonic() - began_s
            if is_late() or 0 < move_timeout_s < took_s:
                raise errors.CallTimeout(
                    f"the move of {block} to {move.target} was not done after {took_s:.0f} s"
                )
    if not answer.is_success:
        raise errors.RemoteError(
            f"{move.target} does not take {block} from {move.proxy}: "
            f"{answer.status.name} {answer.message}"
        )
