"""Where the proofs of clients are evaluated (shell): in place, or beside a loop.

GSSAPI reads a keytab and computes for a millisecond, which a loop with thousands of clients has
no time for. The digests of tokens take a tenth of that, and are evaluated where they are, unless
their passwords are kept elsewhere. There they may be waited for: so they have threads of their own,
and tickets are taken while whoever keeps the passwords hangs. A token that proves a password by
what is known without asking has other threads and another queue than one that does not: strangers
can write as many of these as they like, and would have all places otherwise. Connections that end
while they wait leave the queue.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.protocol.rpc.negotiation import Evaluate, Offer, ServerMethods
from howdah.protocol.rpc.proven import Proven
from howdah.protocol.rpc.server_hooks import Evaluated, IsWanted
from howdah.protocol.sasl import digest_md5
from howdah.protocol.sasl.mechanism import ServerMechanism
from howdah.runtime import unexpected_errors

log = logging.getLogger(__name__)

THREADS: Final = 4
DOUBTFUL_THREADS: Final = 2
"""For tokens that may be anybody's."""
KnownPassword = Callable[[bytes], bytes | None]
"""The password of a token by its name, as far as it is known without asking; None where not."""
MOST_DIGESTS_WAITING: Final = 4096
"""Where more of them wait, clients are told to try again."""


class EvaluatedInPlace:
    """On the thread that asks, which waits."""

    def __init__(self, methods: ServerMethods) -> None:
        self._methods: Final = methods

    @property
    def offers(self) -> Sequence[Offer]:
        return self._methods.offers

    def begin(self, offer: Offer, address: str, port: int) -> ServerMechanism:
        return self._methods.begin(offer, address, port)

    def proven(self, offer: Offer, mechanism: ServerMechanism) -> Proven:
        return self._methods.proven(offer, mechanism)

    def admit(self, proven: Proven, protocol: str, address: str) -> None:
        self._methods.admit(proven, protocol, address)

    def believed(self, user: str, address: str) -> None:
        self._methods.believed(user, address)

    def speaker_of(self, protocol: str, address: str) -> str | None:
        return self._methods.speaker_of(protocol, address)

    def evaluate(self, step: Evaluate, done: Evaluated, is_wanted: IsWanted) -> None:
        done(_evaluate(step))


@dataclass(frozen=True, slots=True)
class _Job:
    step: Evaluate
    done: Evaluated
    is_wanted: IsWanted


class _Queue:
    """Jobs for some threads, on one loop."""

    def __init__(self, name: str, most_waiting: int | None = None, threads: int = THREADS) -> None:
        self._count: Final = threads
        self._threads: Final = ThreadPoolExecutor(threads, name)
        self._most_waiting: Final = most_waiting
        self._waiting: Final = deque[_Job]()
        self._running = 0

    def add(self, job: _Job) -> None:
        if self._running < self._count:
            self._begin(job)
            return
        if self._is_full():
            self._drop_unwanted()
        if self._is_full():
            job.done(errors.RetriableError("too many clients show tokens at once: try again"))
            return
        self._waiting.append(job)

    def close(self) -> None:
        self._waiting.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _is_full(self) -> bool:
        return self._most_waiting is not None and len(self._waiting) >= self._most_waiting

    def _drop_unwanted(self) -> None:
        wanted = [job for job in self._waiting if job.is_wanted()]
        self._waiting.clear()
        self._waiting.extend(wanted)

    def _begin(self, job: _Job) -> None:
        """Where there is no thread to be had, the client is told, and takes no place."""
        try:
            future = asyncio.get_running_loop().run_in_executor(self._threads, _evaluate, job.step)
        except RuntimeError as error:
            log.error(
                "the proof of a client is not evaluated: there is no thread for it: %s", error
            )
            job.done(errors.RetriableError("this server has no thread for a proof: try again"))
            return
        self._running += 1
        future.add_done_callback(lambda made: self._end(job, made))

    def _end(self, job: _Job, made: asyncio.Future[bytes | errors.HowdahError | None]) -> None:
        self._running -= 1
        if made.cancelled():
            return  # Closed.
        while self._waiting and self._running < self._count:
            following = self._waiting.popleft()
            if following.is_wanted():
                self._begin(following)
        job.done(made.result())


class EvaluatedBeside(EvaluatedInPlace):
    """On threads beside a loop, all but digests. Closed when the server has stopped."""

    def __init__(self, methods: ServerMethods, *, known: KnownPassword | None = None) -> None:
        """With `known` digests are evaluated on threads, too: whoever has the passwords of tokens
        may have to be waited for. What is known decides on which, and over nothing else."""
        super().__init__(methods)
        self._tickets: Final = _Queue("proofs of clients")
        self._digests: Final = None if known is None else _Digests(known)

    def evaluate(self, step: Evaluate, done: Evaluated, is_wanted: IsWanted) -> None:
        job = _Job(step, done, is_wanted)
        if not isinstance(step.mechanism, digest_md5.DigestMd5Server):
            self._tickets.add(job)
        elif self._digests is None:
            done(_evaluate(step))
        else:
            self._digests.add(job, step.mechanism)

    def close(self) -> None:
        self._tickets.close()
        if self._digests is not None:
            self._digests.close()


class _Digests:
    """Those whose passwords may have to be waited for, on one loop."""

    def __init__(self, known: KnownPassword) -> None:
        self._known: Final = known
        self._good: Final = _Queue("tokens of clients", MOST_DIGESTS_WAITING)
        self._doubtful: Final = _Queue(
            "doubtful tokens of clients", MOST_DIGESTS_WAITING, DOUBTFUL_THREADS
        )

    def add(self, job: _Job, mechanism: digest_md5.DigestMd5Server) -> None:
        name = mechanism.name_to_look_up(job.step.response)
        if name is None:
            job.done(_evaluate(job.step))  # It asks for no password.
            return
        password = self._known(name)
        is_good = password is not None and mechanism.is_proven_by(job.step.response, password)
        (self._good if is_good else self._doubtful).add(job)

    def close(self) -> None:
        self._good.close()
        self._doubtful.close()


def _evaluate(step: Evaluate) -> bytes | errors.HowdahError | None:
    try:
        return step.mechanism.evaluate(step.response)
    except errors.HowdahError as error:
        if error.__cause__ is not None:
            # What the client is told says less.
            log.warning("the proof of a client is not taken: %s: %s", error, error.__cause__)
        return error
    except Exception as error:  # noqa: BLE001 - the client is told
        unexpected_errors.note("the proof of a client", error, "its connection ends")
        return errors.AuthenticationFailed("the server failed on an internal error")
