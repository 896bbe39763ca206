"""What a server asks before it serves a call, and before it lets an answer go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from howdah import errors
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.negotiation import Evaluate, ServerMethods
from howdah.protocol.sasl.auth_to_local import UserOf, simple_user
from howdah.runtime.users.service_policy import Speaker

if TYPE_CHECKING:
    from howdah.native._kernel import Outlet

GoOn = Callable[[errors.HowdahError | None], None]
"""Goes on with what waited: with the reason why that may not be, or None."""


IsWanted = Callable[[], bool]
"""Whether somebody still waits for an answer."""

Evaluated = Callable[[bytes | errors.HowdahError | None], None]
"""Takes what a mechanism answers, or the reason why it does not believe."""


class Authentication(ServerMethods, Protocol):
    """How clients prove who they are."""

    def evaluate(self, step: Evaluate, done: Evaluated, is_wanted: IsWanted) -> None:
        """Have a response evaluated, and call `done` with what came of it, now or later. What is
        no longer wanted when its turn comes need not be evaluated, nor `done` be called."""


class Barrier(Protocol):
    """What stands between an answer and the wire."""

    def must_wait(self, *, early: bool = False) -> bool:
        """Whether an answer that is ready has to wait. An `early` one need not wait for what
        happened so far to be durable."""

    def left_early(self) -> None:
        """An early answer did not have to wait, and leaves."""

    def when_clear(
        self, send: Callable[[], None], give_up: Callable[[], None] | None = None
    ) -> None:
        """Call `send` once everything that happened so far is durable; or `give_up`, when the
        caller does better to ask elsewhere."""


class SendingBarrier(Barrier, Protocol):
    """One that may send answers by itself."""

    @property
    def sends(self) -> bool:
        """Whether `send_when_durable` may succeed."""

    def send_when_durable(
        self, outlet: Outlet, data: bytes, back: Callable[[bytes], object]
    ) -> bool:
        """Send an answer when it may leave. What cannot be sent goes to `back`, on the loop.
        False if it is not kept."""


class Admission(Protocol):
    """What has to be known of a user before a call is served."""

    def is_known(self, user: str) -> bool: ...

    def when_known(self, user: str, go_on: GoOn) -> None:
        """Call `go_on` once it is, or with the reason why it cannot be."""


class Impersonation(Protocol):
    """Whether a connection may act for another user (`howdah.runtime.users.impersonation`)."""

    def authorize(
        self,
        real_user: str,
        user: str,
        address: str,
        done: GoOn,
    ) -> None:
        """Call `done`, now or later: with the reason why it may not, or None."""


class ServiceAuthorization(Protocol):
    """Who may speak which protocol (`howdah.runtime.users.service_authorization`)."""

    def authorize_protocol(self, speaker: Speaker, done: GoOn) -> None:
        """Call `done`, now or later: with the reason why a connection may not, or None."""


class Alignment(Protocol):
    """What callers have seen, and what this server's answers show.

    A caller tells the last transaction of which it has seen the effect, and learns the last
    one that its answer may show. A server that lags behind its caller makes the call wait.
    """

    def state_id(self) -> int:
        """The last transaction that an answer which is made now may show."""

    def holds_nobody(self) -> bool:
        """Whether no call has to wait now, whatever its caller has seen."""

    def must_wait(self, call: Call) -> bool:
        """Whether the call asks for a state that this server has not reached.

        Raises what the caller is told where such a call is not to be served.
        """

    def when_reached(self, call: Call, go_on: GoOn) -> None:
        """Call `go_on` once the state is reached, or with the reason why the call ends."""


class OpenBarrier:
    """Nothing to wait for."""

    def must_wait(self, *, early: bool = False) -> bool:
        return False

    def left_early(self) -> None:
        """Nobody keeps anything back."""

    def when_clear(
        self, send: Callable[[], None], give_up: Callable[[], None] | None = None
    ) -> None:
        send()

    sends = False
    """It keeps nothing."""

    def send_when_durable(
        self, outlet: Outlet, data: bytes, back: Callable[[bytes], object]
    ) -> bool:
        return False


@dataclass(slots=True)
class ServerHooks:
    """All that a server asks. None where there is nothing to ask, but for `impersonation`: then
    nobody may act for another user. Without `authentication` everybody is believed."""

    barrier: SendingBarrier = field(default_factory=OpenBarrier)
    admission: Admission | None = None
    alignment: Alignment | None = None
    impersonation: Impersonation | None = None
    authentication: Authentication | None = None
    authorization: ServiceAuthorization | None = None
    federated_state: Callable[[], bytes] | None = None
    """What goes along with each answer about the nameservices behind a router."""
    user_of: UserOf = simple_user
    """The user of a name that a connection's context gives."""
