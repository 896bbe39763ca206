"""Answers of calls that must not run twice (pure).

Hadoop's `RetryCache`. A client that lost the answer of such a call repeats it with the
same client id and call id, and gets the first answer. The edits have both ids, so the
cache survives a restart. Of an answer that is not kept the file is known that the call made
(Hadoop keeps the whole status): another one may have its path by now. And how many edits the log
has of the call: as many renames were made of those that were to be made in one turn.

An entry is two short byte strings, key and answer. A protobuf message would take a
kilobyte, since each has an arena of its own.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable
from typing import Final

from google.protobuf.message import Message

from howdah.protocol.rpc.call import Caller

LoggedCall = tuple[bytes, int, int | None]
"""Client id and call id, and the inode id of the file that the call made."""


class _Rebuilt:
    """The type of `REBUILT`."""


REBUILT: Final = _Rebuilt()
"""Stands for an answer that is not kept and has to be made anew: the call is known
from the log only, or its answer was long."""

MAX_BYTES: Final = 75_000_000
"""Beyond it the oldest are forgotten before their time; some 390,000 short answers."""

MAX_KEPT_BYTES: Final = 64
"""Longer answers (a new file's status) are made anew, so that an entry stays small."""

ENTRY_BYTES: Final = 190
"""What an entry takes without the answer itself: two objects, a slot of the dictionary
at its emptiest, and a place in the queue. Measured: 150 to 180."""

_HEAD: Final = struct.Struct(">qB")
_MADE: Final = struct.Struct(">q")
_EDITS: Final = struct.Struct(">I")
_NOT_KEPT: Final = 0


class RetryCache:
    """Answers by (client id, call id), forgotten after `expiry_ms`."""

    def __init__(self, expiry_ms: int = 600_000, max_bytes: int = MAX_BYTES) -> None:
        self._expiry_ms = expiry_ms
        self._max_bytes = max_bytes
        self._answers: dict[bytes, bytes] = {}
        self._order: deque[bytes] = deque()
        self._kinds: list[type[Message] | None] = [None]
        self._numbers: dict[type[Message], int] = {}
        self.size_bytes = 0
        """What the entries take, about."""
        self._none_expires_before_ms = 0
        self.hits = self.updates = self.cleared = 0
        """Since the start: calls that were known, answers that came, and those that left."""

    def __len__(self) -> int:
        return len(self._answers)

    @staticmethod
    def applies(caller: Caller) -> bool:
        """A call without an identity cannot be remembered."""
        return caller.is_identified

    def knows(self, caller: Caller) -> bool:
        """Whether the call was made. Nobody is answered by that: it is no hit."""
        return _key(caller.client_id, caller.call_id) in self._answers

    def find(self, caller: Caller) -> Message | _Rebuilt | None:
        """The answer given before; `REBUILT` if it is not kept; None if it is new."""
        entry = self._answers.get(_key(caller.client_id, caller.call_id))
        if entry is None:
            return None
        self.hits += 1
        _, number = _HEAD.unpack_from(entry)
        kind = self._kinds[number]
        return REBUILT if kind is None else kind.FromString(entry[_HEAD.size :])

    def made_by(self, caller: Caller) -> int | None:
        """The inode id of the file that the call made, where its answer is not kept."""
        entry = self._answers.get(_key(caller.client_id, caller.call_id), b"")
        if len(entry) != _HEAD.size + _MADE.size or entry[_HEAD.size - 1] != _NOT_KEPT:
            return None
        inode_id: int = _MADE.unpack_from(entry, _HEAD.size)[0]
        return inode_id

    def edits_of(self, caller: Caller) -> int:
        """How many edits brought the call, where its answer is not kept."""
        entry = self._answers.get(_key(caller.client_id, caller.call_id))
        return 0 if entry is None else _edits_in(entry)

    def remember(
        self,
        client_id: bytes,
        call_id: int,
        answer: Message | None,
        now_ms: int,
        made_id: int | None = None,
    ) -> None:
        """The call was answered; without the answer it will be `REBUILT`. `made_id` is the inode
        id of the file that it made."""
        number, data = _NOT_KEPT, b"" if made_id is None else _MADE.pack(made_id)
        key = _key(client_id, call_id)
        known = self._answers.get(key)
        if answer is not None:
            if answer.ByteSize() <= MAX_KEPT_BYTES:
                number, data = self._number(type(answer)), answer.SerializeToString()
            elif known is not None:
                return  # It stands there as one whose answer is not kept, and as just made.
        elif known is not None and made_id is None:
            data = _EDITS.pack(_edits_in(known) + 1)
        if known is None:
            self._order.append(key)
            self.size_bytes += ENTRY_BYTES
        else:  # Its edit was applied just now, and here is the answer.
            self.size_bytes -= len(known) - _HEAD.size
        self._answers[key] = _HEAD.pack(now_ms + self._expiry_ms, number) + data
        self.size_bytes += len(data)
        self.updates += 1
        self._forget_old(now_ms)

    def _number(self, kind: type[Message]) -> int:
        number = self._numbers.get(kind)
        if number is None:
            number = self._numbers[kind] = len(self._kinds)
            self._kinds.append(kind)
        return number

    def _forget_old(self, now_ms: int) -> None:
        if now_ms < self._none_expires_before_ms and self.size_bytes <= self._max_bytes:
            return
        order = self._order
        while order:
            entry = self._answers.get(order[0])
            if entry is not None:
                expires_ms, _ = _HEAD.unpack_from(entry)
                if expires_ms > now_ms and self.size_bytes <= self._max_bytes:
                    self._none_expires_before_ms = expires_ms
                    return
                self._forget(order[0])
            order.popleft()

    def _forget(self, key: bytes) -> None:
        entry = self._answers.pop(key, None)
        if entry is not None:
            self.cleared += 1
            self.size_bytes -= ENTRY_BYTES + len(entry) - _HEAD.size

    def rebuild(self, calls: Iterable[LoggedCall], now_ms: int) -> None:
        """At start: the calls whose edits were in the log, as if answered now."""
        for client_id, call_id, made_id in calls:
            self.remember(client_id, call_id, None, now_ms, made_id)


def _edits_in(entry: bytes) -> int:
    if len(entry) != _HEAD.size + _EDITS.size or entry[_HEAD.size - 1] != _NOT_KEPT:
        return 1
    count: int = _EDITS.unpack_from(entry, _HEAD.size)[0]
    return count


def _key(client_id: bytes, call_id: int) -> bytes:
    return client_id + call_id.to_bytes(4, "big", signed=True)
