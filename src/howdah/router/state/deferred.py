"""Pending answers are settled, whatever the work for them raises
(`howdah.runtime.unexpected_errors`, rule 4)."""

from __future__ import annotations

from collections.abc import Awaitable

from google.protobuf.message import Message

from howdah import errors
from howdah.protocol.rpc.service import Deferred, defect


async def settle(method: str, work: Awaitable[Message], answer: Deferred) -> None:
    """Give the caller of `method` the result of `work`, or the error that it ended with."""
    outcome: Message | errors.HowdahError
    try:
        outcome = await work
    except errors.HowdahError as error:
        outcome = error
    except Exception as error:  # noqa: BLE001 - a defect: its caller gets an error
        outcome = defect(method, error)
    answer.settle(outcome)
