"""A client process in the simulation, and how it asks the namenode.

Requests and answers go through `howdah.client.namenode.NamenodeProxy`: each question is
asked twice, once to find out what the request is, and once with the answer at hand.
Calls are repeated under their id, as `RetryPolicy` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from google.protobuf.message import Message

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.protocol.rpc.retry import RetryPolicy
from howdah.rpc.client import AnswerType
from howdah.testing.simulator.datanodes.datanode import Datanode
from howdah.testing.simulator.namenode import Namenode
from howdah.testing.simulator.nameservice import Nameservice
from howdah.testing.simulator.network import Network
from howdah.testing.simulator.tasks import Process, Steps, World

T = TypeVar("T")
M = TypeVar("M")
POLICY = RetryPolicy()


class _Asked(Exception):
    def __init__(self, method: str, request: Message) -> None:
        super().__init__(method)
        self.method = method
        self.request = request


class _Question(NamenodeProxy):
    """A proxy whose one call is made by somebody else."""

    def __init__(self, answer: Message | Exception | None = None) -> None:
        self._answer = answer

    @property
    def user(self) -> str:
        return "root"

    def call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        if self._answer is None:
            raise _Asked(method, request)
        if isinstance(self._answer, Exception):
            raise self._answer
        # The message that its bytes would be read as.
        return cast("M", self._answer)


def _request(question: Callable[[NamenodeProxy], object]) -> _Asked:
    try:
        question(_Question())
    except _Asked as asked:
        return asked
    raise AssertionError("the question asks nothing")


class Client:
    """One process on a machine of its own."""

    def __init__(
        self,
        world: World,
        network: Network,
        namenode: Namenode | Nameservice,
        datanodes: dict[str, Datanode],
        name: str,
    ) -> None:
        self.world = world
        self.network = network
        self.namenode = namenode
        self.datanodes = datanodes
        """By transfer address."""
        self.name = name
        self.process = Process(name, name)
        process = self.process
        process.at_death.append(lambda: network.process_died(process))
        self._client_id = name.encode().ljust(16, b"\0")[:16]
        self._call_id = 0

    def call(self, question: Callable[[NamenodeProxy], T]) -> Steps[T]:
        """What the namenode answers to `question`."""
        asked = _request(question)
        self._call_id += 1
        call_id = self._call_id
        attempts = 0
        answer: Message | Exception
        while True:
            try:
                answer = yield from self.namenode.call(
                    self.process,
                    asked.method,
                    asked.request,
                    "10.1.0.1",
                    self._client_id,
                    call_id,
                )
            except (errors.Unreachable, errors.RetriableError) as error:
                attempts += 1
                pause_s = POLICY.pause_s(error, attempts)
                if pause_s is not None:
                    yield from self.world.sleep(pause_s)
                    continue
                answer = error
            except (errors.HowdahError, OSError) as error:
                answer = error
            return question(_Question(answer))
