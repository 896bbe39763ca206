"""Where proofs are evaluated: what comes of them, and of a defect, reaches whoever waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from howdah import errors
from howdah.protocol.rpc.negotiation import Evaluate, Offer
from howdah.protocol.rpc.proven import Proven
from howdah.protocol.sasl.digest_md5 import DigestMd5Server
from howdah.protocol.sasl.mechanism import Layer, ServerMechanism
from howdah.protocol.sasl.protection import Protection
from howdah.rpc import proofs as proofs_module
from howdah.rpc.proofs import DOUBTFUL_THREADS, THREADS, EvaluatedBeside, EvaluatedInPlace
from howdah.runtime import unexpected_errors
from howdah.testing.waiting import wait_until

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

    def begin(self, offer: Offer, address: str, port: int) -> ServerMechanism:
        raise NotImplementedError

    def proven(self, offer: Offer, mechanism: ServerMechanism) -> Proven:
        raise NotImplementedError

    def admit(self, proven: Proven, protocol: str, address: str) -> None:
        raise NotImplementedError

    def believed(self, user: str, address: str) -> None:
        """Nobody wants to know."""

    def speaker_of(self, protocol: str, address: str) -> str | None:
        raise NotImplementedError


def in_place(step: Evaluate) -> Answer:
    heard: list[Answer] = []
    EvaluatedInPlace(Methods()).evaluate(step, heard.append, lambda: True)
    [answer] = heard
    return answer


def beside(step: Evaluate) -> Answer:
    async def evaluate() -> Answer:
        proofs = EvaluatedBeside(Methods())
        heard: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        proofs.evaluate(step, heard.set_result, lambda: True)
        assert not heard.done(), "the loop does not wait for it"
        try:
            return await asyncio.wait_for(heard, 30)
        finally:
            proofs.close()

    return asyncio.run(evaluate())


both = pytest.mark.parametrize("evaluate", [in_place, beside])
Evaluation = Callable[[Evaluate], Answer]


@both
def test_an_answer_reaches_whoever_waits(evaluate: Evaluation) -> None:
    assert evaluate(Evaluate(Mechanism(b"challenge"), b"response")) == b"challenge"


@both
def test_a_refusal_is_passed_on_and_the_log_has_its_reason(
    evaluate: Evaluation, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = errors.AuthenticationFailed("GSS initiate failed")
    refusal.__cause__ = ValueError("the key is an old one")
    assert evaluate(Evaluate(Mechanism(refusal), b"response")) is refusal
    assert "GSS initiate failed: the key is an old one" in caplog.text


@both
def test_a_defect_is_a_refusal_that_says_nothing_of_it(evaluate: Evaluation) -> None:
    before = unexpected_errors.seen["the proof of a client"]
    answer = evaluate(Evaluate(Mechanism(KeyError("a secret")), b"response"))
    assert isinstance(answer, errors.AuthenticationFailed)
    assert answer.message == "the server failed on an internal error"
    assert unexpected_errors.seen["the proof of a client"] == before + 1


class Tokens:
    """Digests whose passwords cannot be had before `answers` is set. `true` ones prove what is
    known of them."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.looked_up: list[bytes] = []
        self.true: set[bytes] = set()

    def show(self, response: bytes) -> Evaluate:
        tokens = self

        class Digest(DigestMd5Server):
            def __init__(self) -> None:
                """Nothing of it is asked."""

            def name_to_look_up(self, response: bytes) -> bytes | None:
                return response or None

            def is_proven_by(self, response: bytes, password: bytes) -> bool:
                return response in tokens.true

            def evaluate(self, response: bytes) -> bytes:
                if not response:
                    return b"challenge"
                tokens.looked_up.append(response)
                assert tokens.answers.wait(60)
                return b"of " + response

        return Evaluate(Digest(), response)


class Clients:
    """Show proofs at one server, and hear what comes of them."""

    def __init__(self) -> None:
        self.proofs = EvaluatedBeside(Methods(), known=lambda name: b"password")
        self.gone: set[int] = set()
        self.heard: list[asyncio.Future[Answer]] = []

    def show(self, step: Evaluate) -> asyncio.Future[Answer]:
        future = asyncio.get_running_loop().create_future()
        number = len(self.heard)
        self.heard.append(future)
        self.proofs.evaluate(step, future.set_result, lambda: number not in self.gone)
        return future


def test_tickets_are_taken_while_the_passwords_of_tokens_cannot_be_had() -> None:
    async def work() -> None:
        tokens, clients = Tokens(), Clients()
        try:
            for number in range(2 * THREADS):
                clients.show(tokens.show(b"%d" % number))
            ticket = clients.show(Evaluate(Mechanism(b"welcome"), b"ticket"))
            assert await asyncio.wait_for(ticket, 30) == b"welcome"
        finally:
            tokens.answers.set()
            clients.proofs.close()

    asyncio.run(work())


def test_a_true_token_waits_for_no_bogus_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever strangers show while the passwords cannot be had: they have places of their own."""
    monkeypatch.setattr(proofs_module, "MOST_DIGESTS_WAITING", 3 * THREADS)

    async def work() -> None:
        tokens, clients = Tokens(), Clients()
        tokens.true.add(b"true")
        try:
            bogus = [
                clients.show(tokens.show(b"%d" % number))
                for number in range(3 * THREADS + DOUBTFUL_THREADS)
            ]
            refused = clients.show(tokens.show(b"one too many"))
            assert isinstance(refused.result(), errors.RetriableError)
            true = clients.show(tokens.show(b"true"))
            await asyncio.to_thread(wait_until, lambda: b"true" in tokens.looked_up)
            assert not any(each.done() for each in bogus)
            tokens.answers.set()
            assert await asyncio.wait_for(true, 30) == b"of true"
        finally:
            tokens.answers.set()
            clients.proofs.close()

    asyncio.run(work())


def test_what_asks_for_no_password_waits_for_none() -> None:
    async def work() -> None:
        tokens, clients = Tokens(), Clients()
        try:
            for number in range(2 * THREADS):
                clients.show(tokens.show(b"%d" % number))
            assert clients.show(tokens.show(b"")).result() == b"challenge"
        finally:
            tokens.answers.set()
            clients.proofs.close()

    asyncio.run(work())


def test_proofs_of_connections_that_are_gone_are_not_evaluated() -> None:
    async def work() -> None:
        tokens, clients = Tokens(), Clients()
        try:
            for number in range(2 * DOUBTFUL_THREADS + 1):
                clients.show(tokens.show(b"%d" % number))
            clients.gone.update(range(DOUBTFUL_THREADS, 2 * DOUBTFUL_THREADS))
            tokens.answers.set()
            last = b"%d" % (2 * DOUBTFUL_THREADS)
            assert await asyncio.wait_for(clients.heard[-1], 30) == b"of " + last
            expected = [b"%d" % number for number in range(DOUBTFUL_THREADS)]
            assert sorted(tokens.looked_up) == sorted([*expected, last])
        finally:
            tokens.answers.set()
            clients.proofs.close()

    asyncio.run(work())


def test_of_too_many_tokens_those_of_lost_connections_leave_and_others_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proofs_module, "MOST_DIGESTS_WAITING", 2)

    async def work() -> None:
        tokens, clients = Tokens(), Clients()
        try:
            for number in range(DOUBTFUL_THREADS + 2):
                clients.show(tokens.show(b"%d" % number))
            refused = clients.show(tokens.show(b"one too many"))
            assert isinstance(refused.result(), errors.RetriableError)
            clients.gone.add(DOUBTFUL_THREADS)
            waits = clients.show(tokens.show(b"in the place of the lost one"))
            assert not waits.done()
            tokens.answers.set()
            assert await asyncio.wait_for(waits, 30) == b"of in the place of the lost one"
        finally:
            tokens.answers.set()
            clients.proofs.close()

    asyncio.run(work())


def test_who_finds_no_thread_is_told_and_those_after_him_are_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process that is at its limit of threads for a moment takes tickets again behind it."""

    def no_thread(*args: object) -> None:
        raise RuntimeError("can't start new thread")

    async def evaluate() -> tuple[list[Answer], Answer]:
        proofs = EvaluatedBeside(Methods())
        refused: list[Answer] = []
        step = Evaluate(Mechanism(b"challenge"), b"response")
        with monkeypatch.context() as patched:
            patched.setattr(ThreadPoolExecutor, "submit", no_thread)
            for _ in range(THREADS + 1):
                proofs.evaluate(step, refused.append, lambda: True)
        heard: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        proofs.evaluate(step, heard.set_result, lambda: True)
        try:
            return refused, await asyncio.wait_for(heard, 30)
        finally:
            proofs.close()

    refused, answer = asyncio.run(evaluate())
    assert answer == b"challenge"
    assert len(refused) == THREADS + 1
    assert all(isinstance(each, errors.RetriableError) for each in refused)


def test_who_waits_for_a_thread_that_is_not_to_be_had_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Slow(Mechanism):
        def evaluate(self, response: bytes) -> bytes | None:
            assert go_on.wait(60)
            return super().evaluate(response)

    go_on = threading.Event()
    submit = ThreadPoolExecutor.submit
    begun: list[object] = []

    def at_first(self: ThreadPoolExecutor, *args: Any) -> Any:
        begun.append(args)
        if len(begun) > THREADS:
            raise RuntimeError("can't start new thread")
        return submit(self, *args)

    async def evaluate() -> list[Answer]:
        proofs, are_all_told = EvaluatedBeside(Methods()), asyncio.Event()
        heard: list[Answer] = []

        def hear(answer: Answer) -> None:
            heard.append(answer)
            if len(heard) == THREADS + 2:
                are_all_told.set()

        with monkeypatch.context() as patched:
            patched.setattr(ThreadPoolExecutor, "submit", at_first)
            for _ in range(THREADS + 2):
                step = Evaluate(Slow(b"challenge"), b"response")
                proofs.evaluate(step, hear, lambda: True)
            go_on.set()
            await asyncio.wait_for(are_all_told.wait(), 30)
        proofs.close()
        return heard

    heard = asyncio.run(evaluate())
    assert sum(each == b"challenge" for each in heard) == THREADS
    assert sum(isinstance(each, errors.RetriableError) for each in heard) == 2
