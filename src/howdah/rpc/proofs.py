"""Where the proofs of clients are evaluated (shell): in place, or beside a loop.

GSSAPI reads a keytab and computes for a millisecond, which a loop with thousands of clients has
no time for. The digests of tokens take a tenth of that, and are evaluated where they are, unless
their passwords are kept elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from howdah import errors
from howdah.protocol.rpc.negotiation import Evaluate, Offer, ServerMethods
from howdah.protocol.rpc.proven import Proven
from howdah.protocol.rpc.server_hooks import Evaluated
from howdah.protocol.sasl import digest_md5
from howdah.protocol.sasl.mechanism import ServerMechanism
from howdah.runtime import unexpected_errors

log = logging.getLogger(__name__)

THREADS: Final = 4


class EvaluatedInPlace:
    """On the thread that asks, which waits."""

    def __init__(self, methods: ServerMethods) -> None:
        self._methods: Final = methods

    @property
    def offers(self) -> Sequence[Offer]:
        return self._methods.offers

    def begin(self, offer: Offer, address: str) -> ServerMechanism:
        return self._methods.begin(offer, address)

    def proven(self, offer: Offer, mechanism: ServerMechanism) -> Proven:
        return self._methods.proven(offer, mechanism)

    def admit(self, proven: Proven, protocol: str, address: str) -> None:
        self._methods.admit(proven, protocol, address)

    def speaker_of(self, protocol: str, address: str) -> str | None:
        return self._methods.speaker_of(protocol, address)

    def evaluate(self, step: Evaluate, done: Evaluated) -> None:
        done(_evaluate(step))


class EvaluatedBeside(EvaluatedInPlace):
    """On threads beside a loop, all but digests. Closed when the server has stopped."""

    def __init__(self, methods: ServerMethods, *, digests_too: bool = False) -> None:
        """With `digests_too` these are evaluated on the threads, too: whoever has the passwords of
        tokens may have to be waited for."""
        super().__init__(methods)
        self._digests_too: Final = digests_too
        self._threads: Final = ThreadPoolExecutor(THREADS, "proofs of clients")

    def evaluate(self, step: Evaluate, done: Evaluated) -> None:
        if isinstance(step.mechanism, digest_md5.DigestMd5Server) and not self._digests_too:
            done(_evaluate(step))
            return
        future = asyncio.get_running_loop().run_in_executor(self._threads, _evaluate, step)
        future.add_done_callback(lambda made: None if made.cancelled() else done(made.result()))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


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
