"""Calls that are answered from their bytes to their answer's bytes (pure).

Nearly all calls of a busy namenode ask for a file's status or its blocks. A request that becomes
a message, a call that waits for its turn, an answer that is a message first: all that takes
longer than to find the file. So a service may have, beside the handler of a method, one that
takes the request as it came and returns the answer as it goes out (`Quick`). It is asked first,
and says None to whatever is not plain: another order of fields, a path that is not there, a
caller who may not, an error of any kind. Then the call goes its usual way, and comes to the
handler as if nobody had been asked; a quick answer has the same bytes as the handler's.

`answer_calls` is the twin of the kernel's function, which takes its place where it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from howdah.native.loader import kernel
from howdah.protocol.rpc import wire

Quick = Callable[[bytes, str, str], bytes | None]
"""Of a request, a user and the user's address the serialized answer; None where the method's
handler has to look. The address is "" where each call says for itself where its client is. It
changes nothing, and neither raises nor waits."""

Clock = Callable[[], int]
"""In nanoseconds."""

Answered = tuple[list[tuple[str, int]], bytes, int]
"""The method of each answered call and what it took, in nanoseconds; the answers' frames one
after the other; and where in the data the calls end."""

NOTHING_ANSWERED: Final[Answered] = ([], b"", 0)


def answer_calls_here(
    data: bytes,
    max_frame_bytes: int,
    most_calls: int,
    tails: Mapping[bytes, bytes],
    quicks: Mapping[bytes, tuple[str, Quick]],
    user: str,
    address: str,
    states: bytes,
    clock: Clock,
    began_ns: int,
) -> Answered:
    """Answer calls at the beginning of `data`, as long as that can be done by their bytes, and at
    most so many.

    `tails` has the end of the answers' header (`wire.answer_tail`) by what follows the id in a
    call's header; `quicks` has the method and what answers it by the method's header. `states` is
    put behind each tail (`wire.answer_states`). `clock` said `began_ns` when the data came.
    """
    answered: list[tuple[str, int]] = []
    answers: list[bytes] = []
    position = 0
    calls, _ = wire.split_calls_here(data, max_frame_bytes)
    for call_id, rest, method, request, _, end in calls[:most_calls]:
        tail, known = tails.get(rest), quicks.get(method)
        if tail is None or known is None:
            break
        name, quick = known
        answer = quick(request, user, address)
        if answer is None:
            break
        answers.append(wire.frame_answer(call_id, tail + states, answer))
        now_ns = clock()
        answered.append((name, now_ns - began_ns))
        began_ns = now_ns
        position = end
    return answered, b"".join(answers), position


answer_calls: Final[Callable[..., Answered]] = getattr(kernel(), "answer_calls", answer_calls_here)
