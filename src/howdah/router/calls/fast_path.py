"""The short way of a call that goes to one destination (shell).

Most calls are about one path in one nameservice whose active namenode is known and connected
to. Such a call is written to that connection when it comes, and its answer goes to the caller
when that comes: no task, no lock, no round over namenodes. Whatever else there is, several
destinations, no connection, or a namenode that turns out to be a standby or gone, is for the
long way (`howdah.router.calls.forwarding`), which then begins from the start: under the same
client id and call id, so that the namenode's retry cache knows a call that did get through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from google.protobuf.message import DecodeError, Message

from howdah import errors
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred, defect
from howdah.router.calls.core import Core, with_value
from howdah.router.calls.paths import translate
from howdah.router.state.methods import ANSWERS, EVERY, ONE
from howdah.router.state.namenodes.identity import identity_of
from howdah.router.state.table.mount_table import Location, normalised
from howdah.router.state.table.translation import translate_error
from howdah.router.state.table.virtual_directories import ANSWERED

_STATUS: Final = ("getFileInfo", "getFileLinkInfo")
FIELDS: Final[Mapping[str, str]] = {**ONE, **EVERY, **dict.fromkeys(_STATUS, "src")}
"""Methods that can go the short way, and the field of their request with the path."""
_OF_MOUNTS: Final = frozenset({*_STATUS, *ANSWERED})
"""Methods that have answers for directories that no namenode has."""

_FOR_THE_LONG_WAY: Final = (errors.StandbyError, errors.Unreachable, errors.CallTimeout)
"""Another namenode, or another connection, may serve the call."""

Outcome = bytes | errors.HowdahError


class Quick:
    """Begins calls. `under_way` are those without an answer, `held_bytes` their requests."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.under_way = 0
        self.held_bytes = 0

    def begin(
        self,
        method: str,
        request: Message,
        caller: Caller,
        answer: Deferred,
        size: int,
        long_way: Callable[[], None],
    ) -> bool:
        """True if the call, of `size` bytes, was sent: then `answer` is settled, or `long_way`
        called. Raises what resolving the path does."""
        core = self._core
        field = FIELDS[method]
        path: str = getattr(request, field)
        # What is there because of a mount point below is not the namenode's answer.
        if method in _OF_MOUNTS and core.table.children(normalised(path)) is not None:
            return False
        locations = core.resolve(path, caller, method).locations
        if len(locations) != 1:
            return False
        (location,) = locations
        if location.nth:
            return False
        if location.path != path:
            request = with_value(request, field, location.path)

        def done(outcome: Outcome) -> None:
            self.under_way -= 1
            self.held_bytes -= size
            if answer.withdrawn:
                return  # the caller is gone, or the router stops
            is_alone = core.nameservices.is_alone(location.nameservice)
            if isinstance(outcome, errors.CallTimeout) and is_alone:
                answer.settle(outcome)
            elif isinstance(outcome, _FOR_THE_LONG_WAY):
                long_way()
            else:
                answer.settle(self._made(method, location, outcome))

        nameservice = location.nameservice
        sent = core.nameservices.send(
            nameservice,
            method,
            request,
            identity_of(caller),
            done,
            seen=core.nameservices.required_txid(nameservice, method, caller),
        )
        if sent:
            self.under_way += 1
            self.held_bytes += size
        return sent

    def _made(
        self, method: str, location: Location, outcome: Outcome
    ) -> Message | errors.HowdahError:
        """The answer for the caller."""
        if isinstance(outcome, errors.HowdahError):
            return translate_error(outcome, location, self._core.table)
        try:
            message: Any = ANSWERS[method].FromString(outcome)
            translate(self._core, message, location)
        except DecodeError as error:
            return errors.ProtocolViolation(
                f"nameservice {location.nameservice} answered {method} by what is no "
                f"{ANSWERS[method].__name__}: {error}"
            )
        except errors.HowdahError as error:
            return error
        except Exception as error:  # noqa: BLE001 - a defect: its caller gets an error
            return defect(method, error)
        made: Message = message
        return made
