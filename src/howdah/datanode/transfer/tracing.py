"""Operations in a trace: their spans at a datanode.

The span of an operation is below that of whoever asked: the client's, or the one of the datanode
in front in the pipeline. What is sent on, to the next datanode or to the proxy of a move, bears
the context of this node's span; where traces are off here, that of the sender, so that a node
without traces is only missing from a trace and does not end it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from howdah.protocol.data_transfer.op_requests import (
    BlockChecksum,
    CopyBlock,
    Op,
    ReadBlock,
    ReplaceBlock,
    Request,
    TransferBlock,
    WriteBlock,
)
from howdah.runtime.tracing import spans
from howdah.runtime.tracing.span import NOTHING, Span

Traced = ReadBlock | WriteBlock | BlockChecksum | TransferBlock | CopyBlock | ReplaceBlock
_NAMES: Final[dict[type[Traced], str]] = {
    ReadBlock: Op.READ_BLOCK.name,
    WriteBlock: Op.WRITE_BLOCK.name,
    BlockChecksum: Op.BLOCK_CHECKSUM.name,
    TransferBlock: Op.TRANSFER_BLOCK.name,
    CopyBlock: Op.COPY_BLOCK.name,
    ReplaceBlock: Op.REPLACE_BLOCK.name,
}


def served(request: Request, here: str, peer: str) -> tuple[Request, Span]:
    """The span of what `peer` asked for at `here`, and the request as it is served below it."""
    if spans.tracer is None or not isinstance(request, Traced) or not request.trace:
        return request, NOTHING
    attributes: dict[str, str | int | float | bool] = {
        "howdah.block": request.block.name,
        "howdah.block_pool": request.block.pool_id,
        "howdah.datanode": here,
        "client.address": peer,
    }
    if isinstance(request, ReadBlock):
        attributes["howdah.offset"] = request.offset
        attributes["howdah.bytes"] = request.length_bytes
    elif isinstance(request, WriteBlock):
        attributes["howdah.stage"] = request.stage.name
        attributes["howdah.targets"] = ",".join(each.transfer_address for each in request.targets)
    span = spans.serve(_NAMES[type(request)], attributes, request.trace)
    context = span.wire()
    return (replace(request, trace=context) if context else request), span
