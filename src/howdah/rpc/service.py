"""Which method of which protocol is answered by what (pure).

A protocol's methods come from its protobuf service; the implementation is an
object whose methods are named after them in snake_case (`getFileInfo` is
answered by `get_file_info(request, caller)`). A method of the service that the
object does not have is refused as not supported, by name; one that the service
does not have is refused as Hadoop words it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf.descriptor import FieldDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from howdah import errors
from howdah.rpc import wire
from howdah.rpc.session import Call

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Caller:
    """Who calls, from where, and the call's identity for the retry cache.

    Not frozen, for the reason that `Call` gives.
    """

    user: str
    client_id: bytes
    call_id: int
    retry_count: int
    address: str


class Deferred:
    """An answer that comes later: the handler keeps it and settles it once."""

    __slots__ = ("_listener", "_outcome")

    def __init__(self) -> None:
        self._outcome: Message | errors.HowdahError | None = None
        self._listener: Callable[[Message | errors.HowdahError], None] | None = None

    @property
    def settled(self) -> bool:
        return self._outcome is not None

    def settle(self, outcome: Message | errors.HowdahError) -> None:
        """Answer, or fail with an error. A second time is a defect of the caller."""
        assert self._outcome is None, "a call is answered once"
        self._outcome = outcome
        if self._listener is not None:
            self._listener(outcome)

    def when_settled(self, listener: Callable[[Message | errors.HowdahError], None]) -> None:
        """Tell `listener` of the outcome, at once if it is there."""
        self._listener = listener
        if self._outcome is not None:
            listener(self._outcome)


def defect(what: str, error: Exception) -> errors.RemoteError:
    """What the caller of `what` is told of an error that nobody foresaw; the log has its
    trace. Others who wait for answers still get theirs."""
    log.error("%s failed on a defect", what, exc_info=error)
    return errors.RemoteError(
        f"{what} failed on an internal error: {type(error).__name__}: {error}",
        java_class="java.lang.RuntimeException",
    )


Slices = Generator[None, None, Message]
"""An answer that takes long: each step computes a slice, the last returns the message."""

Answer = Message | Deferred | Slices
Handler = Callable[[Any, Caller], Answer]


@cache
def snake_case(name: str) -> str:
    """`getFileInfo` -> `get_file_info`, `renewDelegationToken` -> `renew_delegation_token`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda m: "_" + m.group(1), name).lower()


def _refuse(protocol: str, method: str) -> Handler:
    def refuse(request: Message, caller: Caller) -> Message:
        raise errors.UnsupportedOperation(f"{method} of {protocol} is not supported by this server")

    return refuse


def undecodable(message: Message) -> str | None:
    """The name of the first text in `message` that is no UTF-8, if there is one.

    The parser takes any bytes for a string of a proto2 message and hands those
    that are no UTF-8 out as bytes, which nobody behind it expects.
    """
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_STRING:
            texts = (value,) if isinstance(value, str | bytes) else value
            if any(isinstance(text, bytes) for text in texts):
                return field.full_name
        elif field.message_type is not None:
            for part in (value,) if isinstance(value, Message) else value:
                found = undecodable(part)
                if found is not None:
                    return found
    return None


class Service:
    """One protocol: its name, its version, and a handler for every method."""

    def __init__(
        self, protocol: str, version: int, descriptor: ServiceDescriptor, implementation: object
    ) -> None:
        self.protocol = protocol
        self.version = version
        self.methods: dict[str, tuple[type[Message], Handler]] = {}
        for method in descriptor.methods:
            handler = getattr(implementation, snake_case(method.name), None)
            if handler is None:
                handler = _refuse(protocol, method.name)
            self.methods[method.name] = (GetMessageClass(method.input_type), handler)


class Registry:
    """The protocols that a server answers."""

    def __init__(self, services: Iterable[Service]) -> None:
        self._services = {service.protocol: service for service in services}

    def dispatch(self, call: Call, address: str) -> Answer:
        """Run the call's handler.

        Raises RpcNoSuchProtocol, RpcNoSuchMethod, ProtocolViolation for a request
        that cannot be parsed, and whatever the handler raises.
        """
        service = self._services.get(call.protocol)
        if service is None:
            raise errors.RpcNoSuchProtocol(f"Unknown protocol: {call.protocol}")
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
        request_type, handler = found
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
            field = undecodable(request)
            if field is not None:
                raise errors.RpcServerError(
                    f"the field {field} of the request of {call.method} is not UTF-8"
                )
        return handler(
            request, Caller(call.user, call.client_id, call.call_id, call.retry_count, address)
        )
