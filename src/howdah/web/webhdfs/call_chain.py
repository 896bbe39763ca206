"""How an operation is made of calls (pure).

An operation is a generator: it yields a `Rpc` and gets the response, or yields `Target` and
gets a datanode, and returns the answer. What a call raises is raised at its `yield`. A long
answer is yielded as one `Piece` after the other, and nothing is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf.message import Message

from howdah import errors
from howdah.web.http import Response, answer
from howdah.web.webhdfs.faults import JSON_TYPE
from howdah.web.webhdfs.json_values import dumped


@dataclass(frozen=True, slots=True)
class Rpc:
    """A call of ClientProtocol."""

    method: str
    request: Message


@dataclass(frozen=True, slots=True)
class Target:
    """A datanode that is to take a new block is wanted: Hadoop's chooseTarget4WebHDFS. The
    answer is a DatanodeIDProto. `excluded` are hosts, or `host:port` of their data ports."""

    block_size_bytes: int
    excluded: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a long answer in JSON. What comes back says whether more are wanted."""

    text: bytes


Step = Rpc | Target | Piece
Steps = Generator[Step, Any, Response | None]
EMPTY: Final = Response(200, {"Content-Type": "application/octet-stream"})


def driven(steps: Steps, one: Callable[[Step], object]) -> Response | None:
    """Run an operation, and return its answer: `one` does its steps, and what that raises is raised
    in it. Return None where its pieces were the answer."""
    try:
        step = next(steps)
        while True:
            try:
                result = one(step)
            except errors.HowdahError as error:
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as end:
        response: Response | None = end.value
        return response


def json_response(value: object) -> Response:
    return answer(200, dumped(value), JSON_TYPE)


def boolean(value: bool) -> Response:
    return json_response({"boolean": value})
