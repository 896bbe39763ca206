"""Calls of ClientProtocol for WebHDFS (shell): the path of an RPC without its frames.

A call is made on the loop as one that came by RPC: the groups of its caller are looked up
first, the same registry serves it (with its guard for roles and its audit log), long work is
done in slices, and its answer waits until what it has seen is durable. The thread that asks
waits meanwhile; if its client goes away, so does the call.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Final

from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.server.webhdfs.impersonation import ProxyAuthorization
from howdah.protocol.call_ids import NO_CALL_ID, NO_CLIENT_ID
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.proven import Proven
from howdah.protocol.rpc.server_hooks import Admission, Barrier, Impersonation
from howdah.protocol.rpc.service import Deferred, Registry, Slices, attempt, next_slice
from howdah.runtime.users.names import real_user_of
from howdah.web.channel import Gone
from howdah.web.webhdfs.call_chain import Rpc

Post = Callable[[Callable[[], None]], object]
_VERSION: Final = 1
"""Calls over HTTP have no identity, and are not remembered."""
_LOOK_S: Final = 0.5


class RestCalls:
    """Makes calls of one protocol, from any thread."""

    def __init__(
        self,
        protocol: str,
        registry: Registry,
        admission: Admission,
        barrier: Barrier,
        post: Post,
        soon: Post,
        impersonation: Impersonation,
    ) -> None:
        """`post` calls back on the loop from any thread, `soon` from the loop."""
        self.protocol = protocol
        self.registry = registry
        self.admission = admission
        self.barrier = barrier
        self.post = post
        self.soon = soon
        self.impersonation = impersonation

    def check_may_act(
        self, real_user: str, user: str, address: str, has_left: Callable[[], bool]
    ) -> None:
        """Raises AuthorizationFailed unless `real_user`, at `address`, may act for `user`; Gone."""
        permit = ProxyAuthorization(self.impersonation, real_user, user, address)
        self.post(permit.request)
        permit.wait(has_left)

    def call(
        self,
        user: str,
        address: str,
        rpc: Rpc,
        has_left: Callable[[], bool],
        proven: Proven | None = None,
    ) -> Message:
        """The response. `has_left` says whether the client has gone, `proven` who has proven to
        ask. Raises what the call raises, and Gone."""
        caller = Caller(
            str(user),
            NO_CLIENT_ID,
            NO_CALL_ID,
            -1,
            address,
            proto="webhdfs",
            real_user=real_user_of(user),
            proven=proven,
        )
        body = rpc.request.SerializeToString()
        call = Call(caller, self.protocol, _VERSION, rpc.method, body)
        made = _Made(self, call)
        self.post(made.begin)
        return made.wait(has_left)


class _Made:
    """One call. All but `wait` is done on the loop."""

    def __init__(self, calls: RestCalls, call: Call) -> None:
        self._calls = calls
        self._call = call
        self._outcome: Future[Message] = Future()
        self._is_withdrawn = False
        self._deferred: Deferred | None = None

    def wait(self, has_left: Callable[[], bool]) -> Message:
        """On the thread that asks."""
        while True:
            try:
                return self._outcome.result(_LOOK_S)
            except TimeoutError:
                if has_left():
                    self._calls.post(self._withdraw)
                    raise Gone(f"nobody waits for {self._call.method} any more") from None

    def begin(self) -> None:
        admission = self._calls.admission
        if admission.is_known(self._call.caller.user):
            self._admitted(None)
        else:
            admission.when_known(self._call.caller.user, self._admitted)

    def _withdraw(self) -> None:
        self._is_withdrawn = True
        if self._deferred is not None:
            self._deferred.withdraw()

    def _admitted(self, error: errors.HowdahError | None) -> None:
        if self._is_withdrawn:
            return
        if error is not None:
            self._finish(error)
            return
        call = self._call
        answer = attempt(call.method, partial(self._calls.registry.dispatch, call))
        if isinstance(answer, Message | errors.HowdahError):
            self._finish(answer)
        elif isinstance(answer, Deferred):
            self._deferred = answer
            answer.when_settled(self._finish)
        else:
            self._step(answer)

    def _step(self, slices: Slices) -> None:
        if self._is_withdrawn:
            slices.close()
            return
        outcome = next_slice(self._call.method, slices)
        if outcome is None:
            self._calls.soon(partial(self._step, slices))
        else:
            self._finish(outcome)

    def _finish(self, outcome: Message | errors.HowdahError) -> None:
        barrier = self._calls.barrier
        if barrier.must_wait():
            barrier.when_clear(lambda: self._settle(outcome), self._give_up)
        else:
            self._settle(outcome)

    def _give_up(self) -> None:
        self._settle(errors.RetriableError("this namenode cannot answer in time: ask again"))

    def _settle(self, outcome: Message | errors.HowdahError) -> None:
        if isinstance(outcome, Message):
            self._outcome.set_result(outcome)
        else:
            self._outcome.set_exception(outcome)
