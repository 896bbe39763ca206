"""Calls that were answered already (pure).

A client that lost the answer of a call that may not run twice repeats it with
the same client id and call id, and gets the first answer again. The edits carry
both ids, so the cache is as old as the log, not as the process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

from google.protobuf.message import Message

from howdah.rpc.service import Caller

REBUILT: Final = object()
"""Stands for an answer that is not kept and has to be made anew: the call is known
from the log only, or its answer was long."""

MAX_ENTRIES: Final = 300_000
"""Some 75 MB; beyond it the oldest are forgotten before their time."""

MAX_KEPT_BYTES: Final = 64
"""Longer answers (a new file's status) are made anew, so that an entry stays small."""


class RetryCache:
    """Answers by (client id, call id), forgotten after `expiry_ms`."""

    def __init__(self, expiry_ms: int = 600_000) -> None:
        self._expiry_ms = expiry_ms
        self._answers: OrderedDict[tuple[bytes, int], tuple[int, Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    @staticmethod
    def applies(caller: Caller) -> bool:
        """A call without an identity of 16 bytes cannot be remembered."""
        return len(caller.client_id) == 16 and caller.call_id >= 0

    def find(self, caller: Caller) -> Any | None:
        """The answer given before; `REBUILT` if it is not kept; None if it is new."""
        found = self._answers.get((caller.client_id, caller.call_id))
        return None if found is None else found[1]

    def remember(self, client_id: bytes, call_id: int, answer: Message | None, now_ms: int) -> None:
        """The call was answered; without the answer it will be `REBUILT`."""
        kept = answer if answer is not None and answer.ByteSize() <= MAX_KEPT_BYTES else REBUILT
        answers = self._answers
        answers[client_id, call_id] = (now_ms + self._expiry_ms, kept)
        answers.move_to_end((client_id, call_id))
        while answers:
            oldest = next(iter(answers))
            if answers[oldest][0] > now_ms and len(answers) <= MAX_ENTRIES:
                break
            del answers[oldest]

    def rebuild(self, calls: Iterable[tuple[bytes, int]], now_ms: int) -> None:
        """At start: the calls whose edits were in the log, as if answered now."""
        for client_id, call_id in calls:
            self.remember(client_id, call_id, None, now_ms)
