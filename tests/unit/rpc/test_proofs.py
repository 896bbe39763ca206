"""Where proofs are evaluated: what comes of them, and of a defect, reaches whoever waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from howdah import errors
from howdah.protocol.rpc.negotiation import Evaluate, Offer
from howdah.protocol.rpc.proven import Proven
from howdah.protocol.sasl.mechanism import Layer, ServerMechanism
from howdah.protocol.sasl.protection import Protection
from howdah.rpc.proofs import EvaluatedBeside, EvaluatedInPlace
from howdah.runtime import unexpected_errors

Answer = bytes | errors.HowdahError | None


class Mechanism:
    """Answers each response with the same, or raises it."""

    is_complete = False
    client = ""
    protection = Protection.AUTHENTICATION
    layer: Layer | None = None

    def __init__(self, answer: bytes | Exception) -> None:
        self._answer = answer

    def evaluate(self, response: bytes) -> bytes | None:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


class Methods:
    offers: Sequence[Offer] = ()

    def begin(self, offer: Offer, address: str) -> ServerMechanism:
        raise NotImplementedError

    def proven(self, offer: Offer, mechanism: ServerMechanism) -> Proven:
        raise NotImplementedError

    def admit(self, proven: Proven, protocol: str, address: str) -> None:
        raise NotImplementedError

    def speaker_of(self, protocol: str, address: str) -> str | None:
        raise NotImplementedError


def in_place(step: Evaluate) -> Answer:
    heard: list[Answer] = []
    EvaluatedInPlace(Methods()).evaluate(step, heard.append)
    [answer] = heard
    return answer


def beside(step: Evaluate) -> Answer:
    async def evaluate() -> Answer:
        proofs = EvaluatedBeside(Methods())
        heard: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        proofs.evaluate(step, heard.set_result)
        assert not heard.done(), "the loop does not wait for it"
        try:
            return await asyncio.wait_for(heard, 30)
        finally:
            proofs.close()

    return asyncio.run(evaluate())


pytestmark = pytest.mark.parametrize("evaluate", [in_place, beside])
Evaluation = Callable[[Evaluate], Answer]


def test_an_answer_reaches_whoever_waits(evaluate: Evaluation) -> None:
    assert evaluate(Evaluate(Mechanism(b"challenge"), b"response")) == b"challenge"


def test_a_refusal_is_passed_on_and_the_log_has_its_reason(
    evaluate: Evaluation, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = errors.AuthenticationFailed("GSS initiate failed")
    refusal.__cause__ = ValueError("the key is an old one")
    assert evaluate(Evaluate(Mechanism(refusal), b"response")) is refusal
    assert "GSS initiate failed: the key is an old one" in caplog.text


def test_a_defect_is_a_refusal_that_says_nothing_of_it(evaluate: Evaluation) -> None:
    before = unexpected_errors.seen["the proof of a client"]
    answer = evaluate(Evaluate(Mechanism(KeyError("a secret")), b"response"))
    assert isinstance(answer, errors.AuthenticationFailed)
    assert answer.message == "the server failed on an internal error"
    assert unexpected_errors.seen["the proof of a client"] == before + 1
