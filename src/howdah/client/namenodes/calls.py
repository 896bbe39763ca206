"""What is asked of a namespace, and the way to ask one namenode."""

from __future__ import annotations

import logging
import time
from typing import Protocol, TypeVar, runtime_checkable

from google.protobuf.message import Message

from howdah import errors
from howdah.config.value_types import Address
from howdah.protocol.rpc.retry import RetryPolicy
from howdah.rpc import wait_notices
from howdah.rpc.client import AnswerType, RpcClient
from howdah.rpc.connection import PreparedCall

M = TypeVar("M")

_log = logging.getLogger(__name__)


class NamenodeCalls(Protocol):
    """ClientProtocol of one namespace, whichever namenode answers. Thread-safe, fork-safe."""

    @property
    def user(self) -> str: ...

    @property
    def address(self) -> Address:
        """Of the namenode that the next call goes to, as far as is known."""

    def call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        """Call until there is an answer, or the policy gives up."""

    def close(self) -> None: ...


@runtime_checkable
class PreparesCalls(Protocol):
    """Calls that can be made by somebody else."""

    def prepare(self, method: str, request: Message) -> PreparedCall | None:
        """A call of the namenode that the next call goes to, which is not made again; None where
        it cannot be prepared."""


class ActiveCalls(NamenodeCalls, Protocol):
    """Calls of the active namenode of a nameservice."""

    def call(
        self,
        method: str,
        request: Message,
        response_type: AnswerType[M],
        *,
        call_id: int | None = None,
    ) -> M:
        """`call_id` is that of a call which was made elsewhere before."""


class SingleNamenode:
    """A namenode that is called again as `RetryPolicy` says, under one call id a call."""

    def __init__(self, rpc: RpcClient, policy: RetryPolicy | None = None) -> None:
        self._rpc = rpc
        self._policy = policy or RetryPolicy()
        self._has_answered = False
        """Whether it has done anything: then it is the right one."""

    @property
    def address(self) -> Address:
        return self._rpc.address

    @property
    def user(self) -> str:
        return self._rpc.user

    def call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        call_id = self._rpc.next_call_id()
        attempts = 0
        while True:
            try:
                answer = self._rpc.call(
                    method,
                    request,
                    response_type,
                    call_id=call_id,
                    retry_count=attempts if attempts else -1,
                )
            except (errors.Unreachable, errors.RetriableError, errors.StandbyError) as error:
                if isinstance(error, errors.StandbyError) and not self._has_answered:
                    raise
                attempts += 1
                pause_s = self._policy.pause_s(error, attempts)
                if pause_s is None:
                    raise
                longest_s = self._policy.longest_s(error)
                said = f"{error}; trying again, for up to {longest_s:.3g} s in all"
                say_again(method, said, pause_s, attempts)
                time.sleep(pause_s)
            else:
                self._has_answered = True
                return answer

    def prepare(self, method: str, request: Message) -> PreparedCall | None:
        return self._rpc.prepare(method, request)

    def close(self) -> None:
        self._rpc.close()


def say_again(method: str, notice: str, pause_s: float, attempts: int) -> None:
    """Tell log and terminal that a call is made once more after so many attempts, or rounds."""
    _log.info("%s: %s in %.3g s", method, notice, pause_s)
    # The first, and then fewer and fewer: 1, 2, 4, 8 …
    if attempts and not attempts & attempts - 1:
        wait_notices.show(notice)
