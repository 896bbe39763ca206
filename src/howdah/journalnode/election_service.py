"""Elections at a journal node: ElectionProtocol, and the files that keep its promises (shell).

`election` decides. Here a promise is written before its answer leaves, one file an election:
`<directory>/<election id>`, replaced as a whole. A file that cannot be read is no promise, and
the node refuses to take part in that election until somebody has looked at it: a node that
forgot a promise could elect two.

A server registers `election_service(...)` beside its other protocols. Calls may come on any
thread.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.journalnode.state import election
from howdah.journalnode.state.election import Breadcrumb, Decision, Election, Promise
from howdah.proto import election_pb2
from howdah.protocol.messages import parse
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Service
from howdah.runtime import disk
from howdah.runtime.atomic_files import replace_file

PROTOCOL: Final = "org.howdah.journalnode.ElectionProtocol"
VERSION: Final = 1
MAX_ELECTIONS: Final = 64
"""At one node: one a nameservice is usual."""
_MAGIC: Final = b"howdah election 1\n"
_MAX_FILE_BYTES: Final = 64 * 1024


def boot_ms() -> int:
    """Milliseconds of a clock that nobody sets, and that goes on while the machine sleeps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class Elections:
    """The elections of one journal node: ElectionProtocol's methods."""

    def __init__(self, directory: Path, now_ms: Callable[[], int] = boot_ms) -> None:
        """`directory` is made when the first promise is. Raises OSError."""
        self._directory = directory
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._known: dict[str, Election] = {}
        self._started_ms = now_ms()

    def get_election(
        self, request: election_pb2.GetElectionRequestProto, _: Caller
    ) -> election_pb2.GetElectionResponseProto:
        with self._lock:
            known = self._load(request.electionId)
        return election_pb2.GetElectionResponseProto(state=self._state(known))

    def acquire(
        self, request: election_pb2.AcquireRequestProto, _: Caller
    ) -> election_pb2.AcquireResponseProto:
        def decide(known: Election) -> Decision:
            return election.acquire(
                known,
                request.holder,
                request.term,
                request.ttlMillis,
                request.content,
                self._now_ms(),
            )

        decision = self._decide(request.electionId, decide)
        return election_pb2.AcquireResponseProto(
            granted=decision.accepted, state=self._state(decision.after)
        )

    def release(
        self, request: election_pb2.ReleaseRequestProto, _: Caller
    ) -> election_pb2.ReleaseResponseProto:
        self._decide(
            request.electionId, lambda known: election.release(known, request.holder, request.term)
        )
        return election_pb2.ReleaseResponseProto()

    def set_breadcrumb(
        self, request: election_pb2.SetBreadcrumbRequestProto, _: Caller
    ) -> election_pb2.BreadcrumbResponseProto:
        return self._write_breadcrumb(request, request.content)

    def clear_breadcrumb(
        self, request: election_pb2.ClearBreadcrumbRequestProto, _: Caller
    ) -> election_pb2.BreadcrumbResponseProto:
        return self._write_breadcrumb(request, None)

    def _write_breadcrumb(
        self,
        request: election_pb2.SetBreadcrumbRequestProto | election_pb2.ClearBreadcrumbRequestProto,
        content: bytes | None,
    ) -> election_pb2.BreadcrumbResponseProto:
        decision = self._decide(
            request.electionId,
            lambda known: election.set_breadcrumb(known, request.holder, request.term, content),
        )
        return election_pb2.BreadcrumbResponseProto(
            accepted=decision.accepted, state=self._state(decision.after)
        )

    def _decide(self, election_id: str, decide: Callable[[Election], Decision]) -> Decision:
        with self._lock:
            known = self._load(election_id)
            decision = decide(known)
            if decision.after.promise != known.promise:
                self._write(election_id, decision.after.promise)
            self._known[election_id] = decision.after
        return decision

    def _write(self, election_id: str, promise: Promise) -> None:
        path = self._directory / election_id
        try:
            disk.make_directory(self._directory)
            replace_file(path, encode(promise))
        except OSError as error:
            raise errors.RemoteError(
                f"no promise was made in election {election_id}: {path} cannot be written: {error}"
            ) from error

    def _load(self, election_id: str) -> Election:
        known = self._known.get(election_id)
        if known is not None:
            return known
        path = self._directory / election.check_election_id(election_id)
        try:
            with path.open("rb") as file:
                data = file.read(_MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            if len(self._known) >= MAX_ELECTIONS:
                raise errors.IllegalArgument(
                    f"election {election_id} is refused: {MAX_ELECTIONS} are held here already"
                ) from None
            return Election()
        except OSError as error:
            raise errors.RemoteError(f"{path} cannot be read: {error}") from error
        known = election.restarted(decode(data, path), self._started_ms)
        self._known[election_id] = known
        return known

    def _state(self, known: Election) -> election_pb2.ElectionStateProto:
        now_ms = self._now_ms()
        state = election_pb2.ElectionStateProto(promisedTerm=known.promise.term)
        lease = known.lease_at(now_ms)
        if lease is not None:
            state.holder = lease.holder
            state.holderContent = lease.content
            state.millisLeft = lease.until_ms - now_ms
        if now_ms < known.silent_until_ms:
            state.millisSilent = known.silent_until_ms - now_ms
        _put_breadcrumb(state, known.promise.breadcrumb)
        return state


def election_service(elections: Elections) -> Service:
    """ElectionProtocol, for the registry of a server."""
    descriptor = election_pb2.DESCRIPTOR.services_by_name["ElectionProtocolService"]
    return Service(PROTOCOL, VERSION, descriptor, elections)


# -- the file ------------------------------------------------------------------------


def encode(promise: Promise) -> bytes:
    """A promise as its file has it: a line, a checksum of the rest, the rest."""
    message = election_pb2.PersistedElectionProto(promisedTerm=promise.term)
    if promise.holder is not None:
        message.holder = promise.holder
    message.ttlMillis = promise.ttl_ms
    _put_breadcrumb(message, promise.breadcrumb)
    body = message.SerializeToString()
    return _MAGIC + zlib.crc32(body).to_bytes(4, "big") + body


def decode(data: bytes, path: Path) -> Promise:
    """The promise in a file. Raises InconsistentStorage where it is none."""
    start = len(_MAGIC) + 4
    body = data[start:]
    checksum = zlib.crc32(body).to_bytes(4, "big")
    if len(data) > _MAX_FILE_BYTES or data[:start] != _MAGIC + checksum:
        raise _damaged(path)
    try:
        message = parse(election_pb2.PersistedElectionProto, body)
    except DecodeError as error:
        raise _damaged(path) from error
    breadcrumb = None
    if message.HasField("breadcrumb"):
        said = message.breadcrumb
        breadcrumb = Breadcrumb(said.term, said.content if said.HasField("content") else None)
    holder = message.holder if message.HasField("holder") else None
    return Promise(message.promisedTerm, holder, message.ttlMillis, breadcrumb)


def _damaged(path: Path) -> errors.InconsistentStorage:
    return errors.InconsistentStorage(
        f"{path} is damaged. It holds what this journal node promised in an election. Remove it "
        "only while no failover controller uses this election"
    )


def _put_breadcrumb(
    message: election_pb2.ElectionStateProto | election_pb2.PersistedElectionProto,
    breadcrumb: Breadcrumb | None,
) -> None:
    if breadcrumb is not None:
        message.breadcrumb.term = breadcrumb.term
        if breadcrumb.content is not None:
            message.breadcrumb.content = breadcrumb.content
