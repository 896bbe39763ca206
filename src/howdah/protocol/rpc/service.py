"""Which method of which protocol is answered by what (pure).

Mirrors Hadoop's RPC.Server with ProtobufRpcEngine2. A protocol's methods come from its
protobuf service; they are implemented by objects whose methods are named after them in
snake_case (`getFileInfo` is answered by `get_file_info(request, caller)`). A service is
composed of such objects, each a family of calls; methods that are not supported are named,
and refused by name. A call of a method that the protocol does not have is refused as Hadoop
words it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol, TypeVar

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from howdah import errors
from howdah.proto import rpc_pb2
from howdah.protocol.messages import texts_of
from howdah.protocol.rpc import protocol_info, wire
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.fast_path import Quick
from howdah.runtime import unexpected_errors

T = TypeVar("T")


class Deferred:
    """An answer that comes later. Two parties hold it:

    - the *owner*, who works on the call: it settles the answer once, with a message, an
      error or a defect (`fed_by` does all three)
    - the server, which waits for it: it withdraws when the caller is gone or the server
      stops. What the owner settles after that goes nowhere; an owner that has not begun
      yet asks `withdrawn` and may leave the work undone.
    """

    __slots__ = ("_listener", "_observer", "_outcome", "withdrawn")

    def __init__(self) -> None:
        self._observer: Callable[[Message | errors.HowdahError], None] | None = None
        self._outcome: Message | errors.HowdahError | None = None
        self._listener: Callable[[Message | errors.HowdahError], None] | None = None
        self.withdrawn = False

    @property
    def settled(self) -> bool:
        return self._outcome is not None

    def settle(self, outcome: Message | errors.HowdahError) -> None:
        """Answer, or fail with an error. A second time is a defect of the owner."""
        assert self._outcome is None, "a call is answered once"
        self._outcome = outcome
        if self._observer is not None:
            self._observer(outcome)
        if self._listener is not None:
            self._listener(outcome)

    def fed_by(
        self, what: str, work: Callable[[T], Message]
    ) -> Callable[[T | errors.HowdahError], None]:
        """A callback that settles the answer: with the error that it is given, and else
        with what `work` makes of its argument. What `work` raises is an answer, too."""

        def feed(found: T | errors.HowdahError) -> None:
            if isinstance(found, errors.HowdahError):
                self.settle(found)
            else:
                self.settle(attempt(what, lambda: work(found)))

        return feed

    def when_settled(self, listener: Callable[[Message | errors.HowdahError], None]) -> None:
        """Tell `listener` of the outcome, at once if it is there."""
        self._listener = listener
        if self._outcome is not None:
            listener(self._outcome)

    def observed_by(self, observer: Callable[[Message | errors.HowdahError], None]) -> None:
        """Tell `observer` of the outcome before anybody else, also if nobody waits any more."""
        self._observer = observer
        if self._outcome is not None:
            observer(self._outcome)

    def withdraw(self) -> None:
        """Nobody waits any more."""
        self.withdrawn = True
        self._listener = None


def defect(what: str, error: Exception) -> errors.RemoteError:
    """What the caller of `what` is told of an error that nobody foresaw. Others who wait for
    answers still get theirs (`howdah.runtime.unexpected_errors`, rules 2 and 4)."""
    unexpected_errors.note(what, error, "its caller gets an error")
    return errors.RemoteError(
        f"{what} failed on an internal error: {type(error).__name__}: {error}",
        java_class="java.lang.RuntimeException",
    )


def attempt(what: str, work: Callable[[], T]) -> T | errors.HowdahError:
    """What `work` returns, or the error that the caller of `what` gets in its place."""
    try:
        return work()
    except errors.HowdahError as error:
        return error
    except Exception as error:  # noqa: BLE001 - one call's defect must not end the server
        return defect(what, error)


Slices = Generator[None, None, Message]
"""An answer that takes long: each step computes a slice, the last returns the message."""


def next_slice(what: str, slices: Slices) -> Message | errors.HowdahError | None:
    """Compute the next slice of the answer to `what`; None unless it was the last one."""
    try:
        next(slices)
    except StopIteration as stop:
        message: Message = stop.value
        return message
    except errors.HowdahError as error:
        return error
    except Exception as error:  # noqa: BLE001 - as in `attempt`
        return defect(what, error)
    return None


@dataclass(slots=True)
class Early:
    """An answer that may leave before what its call changed is durable: who asked wants it to be
    seen, and does not count on it after a crash. Whoever sees it still waits until it is."""

    message: Message


class Encoded:
    """An answer as the bytes of its message: to make a message of protobuf's field by field, and
    to write it then, is the dearest part of a call whose answer is long. Who wants to see the
    message reads the bytes (`Service.message_of`)."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


TRUE: Final = Encoded(b"\x08\x01")
"""A message whose first field is a truth, and no other is set: it was done."""

Answer = Message | Deferred | Slices
"""Of a call, as `Registry.dispatch` gives it."""
WireAnswer = Answer | Early | Encoded
"""As a handler gives it, and `Registry.dispatch_to_wire`."""

Handler = Callable[[Any, Caller], WireAnswer]
Guard = Callable[[str, str, Any], None]
Reader = Callable[[bytes], Any]
"""What a handler takes in the place of a request's message, from its bytes; None for a request
that is not plain. It does not raise."""


@cache
def snake_case(name: str) -> str:
    """`getFileInfo` -> `get_file_info`, `renewDelegationToken` -> `renew_delegation_token`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda m: "_" + m.group(1), name).lower()


def _refuse(protocol: str, method: str) -> Handler:
    def refuse(request: Message, caller: Caller) -> Message:
        raise errors.UnsupportedOperation(f"{method} of {protocol} is not supported by this server")

    return refuse


_AT_ONCE: Final = (Message, Deferred, Early, Encoded)
"""Of `WireAnswer`: all but one in slices. A union would be made in every call."""


class Service:
    """One protocol: its name, its version, and a handler for every method.

    Several objects share the methods of a protocol, each a family of calls. Every method
    has one home: one of the objects, or the methods that the service refuses.
    """

    def __init__(
        self,
        protocol: str,
        version: int,
        descriptor: ServiceDescriptor,
        *implementations: object,
        refused: Collection[str] = (),
        quick: Mapping[str, Quick] | None = None,
        readers: Mapping[str, Reader] | None = None,
        shows_state: bool = True,
    ) -> None:
        """`refused` are methods, as the protocol spells them, that are not supported; `quick` has
        what answers some by their bytes (`howdah.protocol.rpc.fast_path`), and `readers` what
        reads the requests of some without a message. Without `shows_state` no answer tells
        anything that the server keeps, and none has to wait until that is certain.

        Raises TypeError for a method that has no home or more than one.
        """
        self.protocol = protocol
        self.version = version
        self.descriptor: Final = descriptor
        self.shows_state: Final = shows_state
        self.methods: dict[str, tuple[type[Message], Handler]] = {}
        self._responses = {each.name: each.output_type for each in descriptor.methods}
        self.quick: Final[Mapping[str, Quick]] = quick or {}
        self.readers: Final[Mapping[str, Reader]] = readers or {}
        self.served: Final[list[MethodDescriptor]] = [
            method for method in descriptor.methods if method.name not in refused
        ]
        """Its methods but for those that are refused by name."""
        unknown = set(refused) - {method.name for method in descriptor.methods}
        if unknown:
            raise TypeError(f"{protocol} has no method {', '.join(sorted(unknown))} to refuse")
        for method in descriptor.methods:
            name = snake_case(method.name)
            homes = [getattr(one, name) for one in implementations if hasattr(one, name)]
            if method.name in refused:
                homes.append(_refuse(protocol, method.name))
            if len(homes) != 1:
                owners = ", ".join(type(one).__name__ for one in implementations)
                count = "no" if not homes else str(len(homes))
                raise TypeError(
                    f"{method.name} of {protocol} has {count} implementations ({name} in {owners}, "
                    "or refused): it must have one"
                )
            self.methods[method.name] = (GetMessageClass(method.input_type), homes[0])

    def message_of(self, method: str, answer: Encoded) -> Message:
        """The message of a method's answer that was given as bytes."""
        return GetMessageClass(self._responses[method]).FromString(answer.data)


def unanswered(descriptor: ServiceDescriptor, *implementations: object) -> list[str]:
    """Methods that none of the objects has, for servers that do not mean to have them all."""
    return [
        method.name
        for method in descriptor.methods
        if not any(hasattr(one, snake_case(method.name)) for one in implementations)
    ]


class Observer(Protocol):
    """Sees what calls were answered, in the order in which they were."""

    def watches(self, protocol: str, method: str) -> bool:
        """Whether it wants to see the calls of a method."""

    def answered(
        self,
        method: str,
        request: Message,
        caller: Caller,
        outcome: Message | errors.HowdahError,
    ) -> None:
        """A call that it watches has its answer, which nobody has been told yet."""


class Registry:
    """The protocols that a server answers."""

    def __init__(
        self,
        services: Iterable[Service],
        guard: Guard | None = None,
        observer: Observer | None = None,
        *,
        is_open: Callable[[], bool] | None = None,
    ) -> None:
        """`guard` sees every call before its handler, with protocol, method and request; it
        raises what the caller is told where the call is not to be served. `is_open` tells when
        it would let any call pass: only then calls are answered by their bytes, which it does not
        see. `observer` sees the answers, and the errors that are one."""
        self.services = {service.protocol: service for service in services}
        self._info = Service(
            protocol_info.PROTOCOL,
            1,
            rpc_pb2.DESCRIPTOR.services_by_name["ProtocolInfoService"],
            protocol_info.ProtocolInfo(self.services),
            shows_state=False,
        )
        self.is_open: Final = is_open or (lambda: guard is None)
        """Whether any call would be served now."""
        self._guard = guard
        self._observer = observer
        self._stateless = frozenset(
            service.protocol
            for service in (*self.services.values(), self._info)
            if not service.shows_state
        )

    def shows_state(self, protocol: str, outcome: object) -> bool:
        """Whether an answer tells anything that the server keeps. A refusal because another
        server is to be asked does not: it leaves at once."""
        return protocol not in self._stateless and not isinstance(outcome, errors.StandbyError)

    def method_names(self) -> frozenset[str]:
        """Of all protocols together."""
        services = (*self.services.values(), self._info)
        return frozenset(name for each in services for name in each.methods)

    def fast_path(self, protocol: str, version: int, method: str) -> Quick | None:
        """What answers a method by its bytes; None where there is none, and where somebody wants
        to see the calls."""
        service = self.services.get(protocol)
        if service is None or version != service.version:
            return None
        if self._observer is not None and self._observer.watches(protocol, method):
            return None
        return service.quick.get(method)

    def dispatch(self, call: Call) -> Answer:
        """Run the call's handler; the answer is a message, now or later.

        Raises RpcNoSuchProtocol, RpcNoSuchMethod, ProtocolViolation for a request
        that cannot be parsed, and whatever the handler raises.
        """
        answer = self.dispatch_to_wire(call)
        if isinstance(answer, Encoded):
            return self.services[call.protocol].message_of(call.method, answer)
        return answer.message if isinstance(answer, Early) else answer

    def dispatch_to_wire(self, call: Call) -> WireAnswer:
        """As `dispatch`, for who takes the answer as its handler gives it."""
        service = self.services.get(call.protocol)
        if service is None:
            if call.protocol != protocol_info.PROTOCOL:
                raise errors.RpcNoSuchProtocol(f"Unknown protocol: {call.protocol}")
            service = self._info
        if call.protocol_version != service.version:
            raise errors.RemoteError(
                f"Protocol {call.protocol} version mismatch. "
                f"(client = {call.protocol_version}, server = {service.version})",
                java_class=wire.VERSION_MISMATCH,
            )
        found = service.methods.get(call.method)
        if found is None:
            raise errors.RpcNoSuchMethod(
                f"Unknown method {call.method} called on {call.protocol} protocol."
            )
        observer = self._observer
        if observer is not None and not observer.watches(call.protocol, call.method):
            observer = None
        request_type, handler = found
        request: Any = None
        if observer is None:
            reader = service.readers.get(call.method)
            if reader is not None:
                request = reader(call.body)
        if request is None:
            request = _parsed(request_type, call)
        if observer is None:
            return self._handle(call, handler, request)
        return _observed(
            lambda: self._handle(call, handler, request),
            lambda outcome: observer.answered(call.method, request, call.caller, outcome),
            lambda answer: service.message_of(call.method, answer),
        )

    def _handle(self, call: Call, handler: Handler, request: Any) -> WireAnswer:
        guard = self._guard
        if call.protocol == protocol_info.PROTOCOL:
            guard = None  # Anybody may ask, and of a standby, too.
        if guard is not None:
            guard(call.protocol, call.method, request)
        answer = handler(request, call.caller)
        if guard is None or isinstance(answer, _AT_ONCE):
            return answer
        return _guarded(answer, lambda: guard(call.protocol, call.method, request))


def _parsed(request_type: type[Message], call: Call) -> Message:
    try:
        request = request_type.FromString(call.body)
    except DecodeError as error:
        raise errors.RpcServerError(
            f"the request of {call.method} cannot be parsed: {error}"
        ) from error
    # The parser lets a message pass that lacks required fields.
    if not request.IsInitialized():
        raise errors.RpcServerError(
            f"the request of {call.method} cannot be parsed: it lacks required fields"
        )
    # A body of ASCII, as most are, cannot hold a text that is no UTF-8.
    if not call.body.isascii():
        field = texts_of(request_type).undecodable(request)
        if field is not None:
            raise errors.RpcServerError(
                f"the field {field} of the request of {call.method} is not UTF-8"
            )
    return request


def _observed(
    handle: Callable[[], WireAnswer],
    tell: Callable[[Message | errors.HowdahError], None],
    message_of: Callable[[Encoded], Message],
) -> WireAnswer:
    """The answer of a call; `tell` sees it as soon as it is one."""
    try:
        answer = handle()
    except errors.HowdahError as error:
        tell(error)
        raise
    if isinstance(answer, Message):
        tell(answer)
    elif isinstance(answer, Early):
        tell(answer.message)
    elif isinstance(answer, Encoded):
        tell(message_of(answer))
    elif isinstance(answer, Deferred):
        answer.observed_by(tell)
    else:
        return _observed_slices(answer, tell)
    return answer


def _observed_slices(
    slices: Slices, tell: Callable[[Message | errors.HowdahError], None]
) -> Slices:
    try:
        message = yield from slices
    except errors.HowdahError as error:
        tell(error)
        raise
    tell(message)
    return message


def _guarded(slices: Slices, check: Callable[[], None]) -> Slices:
    """Long work, which ends with an error once its call is not served any more."""
    try:
        while True:
            check()
            try:
                next(slices)
            except StopIteration as end:
                message: Message = end.value
                return message
            yield
    finally:
        slices.close()
