"""The election on the journal nodes: a lease that a majority of them grants (shell).

The rules are `candidate` at this end and `howdah.journalnode.state.election` at the other. A thread
asks in rounds, with a thread and a connection for each journal node; a node that has not
answered the last round is left out of the next. What a controller asks waits for its turn.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from google.protobuf.message import Message

from howdah import errors
from howdah.config.value_types import Address
from howdah.failover.state.candidate import CALL_SHARE, Answer, Answers, Candidate, Kind, Round
from howdah.failover.state.election import ElectionStatus, Listener
from howdah.failover.state.elector import Breadcrumb
from howdah.proto import election_pb2
from howdah.rpc.client import RpcClient
from howdah.runtime import unexpected_errors

log = logging.getLogger(__name__)

PROTOCOL: Final = "org.howdah.journalnode.ElectionProtocol"
_LEAST_CALL_TIMEOUT_S: Final = 0.1
_LOOK_PAUSE_S: Final = 0.1
_MAX_WAITING: Final = 4
"""Questions at one node, beside the one that it answers."""

_Ask = Callable[[RpcClient], Answer]
_Reply = Callable[[int, Answer | None], None]


def boot_ms() -> int:
    """Milliseconds of a clock that nobody sets, and that goes on while the machine sleeps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class LeaseElection:
    """Stands for the lease as one candidate; see `election.Election`."""

    def __init__(
        self,
        nodes: Sequence[Address],
        election_id: str,
        holder: str,
        ttl_ms: int,
        listener: Listener,
        on_defect: Callable[[str], None],
        *,
        now_ms: Callable[[], int] = boot_ms,
        user: str | None = None,
    ) -> None:
        """`holder` is this process's name: another process, or a later one, has another.
        `on_defect` is told why this candidate cannot go on. Nodes are called as `user`, by default
        as the process."""
        self._election_id = election_id
        self._listener = listener
        self._on_defect = on_defect
        self._now_ms = now_ms
        self._candidate = Candidate(holder, len(nodes), ttl_ms, random.random)
        self._place = "journal nodes " + ", ".join(f"{host}:{port}" for host, port in nodes)
        self._majority = len(nodes) // 2 + 1
        self._call_timeout_s = max(ttl_ms * CALL_SHARE / 1000, _LEAST_CALL_TIMEOUT_S)
        self._changed = threading.Condition()
        self._candidacy: int | None = None
        self._running: int | None = None
        """The candidacy that the candidate stands for: it may be an earlier one."""
        self._content = b""
        self._clears = False
        self._granted_terms: set[int] = set()
        self._answered = 0
        """Nodes that did in the last round; more may have, once it was decided."""
        self._seen: bytes | None = None
        self._closed = False
        self._nodes = [
            _Node(number, at, self._call_timeout_s, user) for number, at in enumerate(nodes)
        ]
        self._thread = threading.Thread(target=self._run, name="lease election", daemon=True)
        self._thread.start()

    # -- what a controller asks -----------------------------------------------------------

    def join(self, candidacy: int, content: bytes) -> None:
        with self._changed:
            self._candidacy, self._content = candidacy, content
            self._changed.notify_all()

    def quit(self, *, clears: bool) -> None:
        with self._changed:
            self._clears = clears and self._is_held()
            self._candidacy = None
            self._changed.notify_all()

    def hasten(self) -> None:
        with self._changed:
            self._candidate.hasten(self._now_ms())
            self._changed.notify_all()

    def holds(self) -> bool:
        with self._changed:
            return self._is_held()

    def read_breadcrumb(self) -> Breadcrumb | None:
        with self._changed:
            self._check_held()
            return self._candidate.breadcrumb

    def write_breadcrumb(self, before: Breadcrumb | None) -> None:
        with self._changed:
            self._check_held()
            if self._candidate.breadcrumb != before:
                raise errors.ServiceFailed("the breadcrumb is not the one that was read")
            term, content = self._candidate.elected_term, self._content
        assert term is not None
        accepted = self._set_breadcrumb(term, content)
        if accepted < self._majority:
            raise errors.ServiceFailed(
                f"{accepted} of {len(self._nodes)} journal nodes took the breadcrumb of term {term}"
            )
        with self._changed:
            self._check_held()
            self._candidate.breadcrumb = Breadcrumb(content, term)

    def active_content(self) -> bytes | None:
        return self._content_of_majority(self._elections())

    def standing(self) -> ElectionStatus:
        with self._changed:
            left_ms = self._candidate.left_ms(self._now_ms()) if self._is_held() else 0
            is_in = self._running is not None
            said = "it is no candidate"
            if left_ms > 0:
                term = self._candidate.elected_term
                said = f"it has the lease under term {term}, for {left_ms / 1000:.1f} s more"
            elif is_in:
                said = f"it has no lease; {self._answered} of {len(self._nodes)} answered last time"
            is_reached = is_in and (left_ms > 0 or self._answered >= self._majority)
            return ElectionStatus(self._place, is_reached, said, self._seen if is_in else None)

    def _content_of_majority(self, answers: Iterable[Answer]) -> bytes | None:
        held = [(answer.holder, answer.content) for answer in answers if answer.holder is not None]
        for pair in set(held):
            if held.count(pair) >= self._majority:
                return pair[1]
        return None

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._candidacy = None
            self._changed.notify_all()
        self._thread.join(2 * self._call_timeout_s)
        for node in self._nodes:
            node.close()

    def _is_held(self) -> bool:
        is_current = self._candidacy is not None and self._candidacy == self._running
        return is_current and self._candidate.holds(self._now_ms())

    def _check_held(self) -> None:
        if not self._is_held():
            raise errors.ServiceFailed("the election is not held any more")

    # -- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._turn():
                pass
        except Exception as error:  # noqa: BLE001 - a thread that ends unheard elects nobody
            unexpected_errors.note("the election on journal nodes", error, "the controller ends")
            self._on_defect(f"the election on journal nodes failed: {error}")

    def _turn(self) -> bool:
        """One step; False at the end."""
        with self._changed:
            candidacy = self._running
            if candidacy is not None and candidacy != self._candidacy:
                clear_term = self._candidate.elected_term if self._clears else None
                self._clears = False
                self._running = None
                self._candidate.stop()
                question = None
            elif self._closed:
                return False
            elif self._candidacy is None:
                self._changed.wait()
                return True
            else:
                if candidacy is None:
                    candidacy = self._running = self._candidacy
                    self._candidate.start(self._now_ms())
                wait_ms = self._candidate.next_at_ms - self._now_ms()
                if wait_ms > 0:
                    self._changed.wait(wait_ms / 1000)
                    return True
                question = self._candidate.begin(self._now_ms())
                content = self._content
        if question is None:
            self._resign(clear_term)
        else:
            self._hold_round(candidacy, question, content)
        return True

    def _hold_round(self, candidacy: int, question: Round, content: bytes) -> None:
        ask = (
            self._inspect_request()
            if question.kind is Kind.LOOK
            else self._acquire(question.term, content)
        )
        if question.kind is Kind.ASK:
            self._granted_terms.add(question.term)
        answers = self._ask_all(
            ask, lambda some: self._candidate.is_decided(question, some), may_wait=False
        )
        with self._changed:
            if candidacy != self._candidacy or candidacy != self._running:
                return
            outcome = self._candidate.end(question, answers, self._now_ms())
            answered = [answer for answer in answers.values() if answer is not None]
            self._answered = len(answered)
            self._seen = self._content_of_majority(answered)
        if outcome.release_term is not None:
            self._release()
        if outcome.report is not None:
            self._listener(candidacy, outcome.report, outcome.reason)

    def _resign(self, clear_term: int | None) -> None:
        if clear_term is not None:
            accepted = self._set_breadcrumb(clear_term, None)
            if accepted < self._majority:
                log.warning("the breadcrumb could not be cleared: the next active fences this one")
        self._release()

    # -- calls --------------------------------------------------------------------------------

    def _ask_all(
        self, ask: _Ask, is_enough: Callable[[Answers], bool], *, may_wait: bool = True
    ) -> Answers:
        """The answers that came in time, and before they were enough."""
        came: queue.SimpleQueue[tuple[int, Answer | None]] = queue.SimpleQueue()
        answers: dict[int, Answer | None] = {}
        for node in self._nodes:
            if not node.enqueue(
                ask, lambda number, answer: came.put((number, answer)), may_wait=may_wait
            ):
                answers[node.number] = None
        deadline_s = time.monotonic() + 1.1 * self._call_timeout_s
        while len(answers) < len(self._nodes) and not is_enough(answers):
            try:
                number, answer = came.get(timeout=max(deadline_s - time.monotonic(), 0.001))
            except queue.Empty:
                break
            answers[number] = answer
        return answers

    def _elections(self) -> list[Answer]:
        """What a majority says who is elected. A lease cannot wait for a node that is slow; who
        only wants to know can, and asks for two leases' time. Raises ServiceFailed."""
        deadline_s = time.monotonic() + 2 * self._candidate.ttl_ms / 1000
        while True:
            answers = [
                a for a in self._ask_all(self._inspect_request(), lambda _: False).values() if a
            ]
            if len(answers) >= self._majority:
                return answers
            if time.monotonic() > deadline_s:
                raise errors.ServiceFailed(
                    f"{len(answers)} of {len(self._nodes)} journal nodes said who is elected"
                )
            time.sleep(_LOOK_PAUSE_S)

    def _inspect_request(self) -> _Ask:
        request = election_pb2.GetElectionRequestProto(electionId=self._election_id)

        def look(client: RpcClient) -> Answer:
            answer = client.call("getElection", request, election_pb2.GetElectionResponseProto)
            return _answer(False, answer.state)

        return look

    def _acquire(self, term: int, content: bytes) -> _Ask:
        request = election_pb2.AcquireRequestProto(
            electionId=self._election_id,
            holder=self._candidate.holder,
            term=term,
            ttlMillis=self._candidate.ttl_ms,
            content=content,
        )

        def acquire(client: RpcClient) -> Answer:
            answer = client.call("acquire", request, election_pb2.AcquireResponseProto)
            return _answer(answer.granted, answer.state)

        return acquire

    def _set_breadcrumb(self, term: int, content: bytes | None) -> int:
        """How many nodes took it."""
        election_id, holder = self._election_id, self._candidate.holder

        def write(client: RpcClient) -> Answer:
            if content is None:
                cleared = election_pb2.ClearBreadcrumbRequestProto(
                    electionId=election_id, holder=holder, term=term
                )
                answer = client.call(
                    "clearBreadcrumb", cleared, election_pb2.BreadcrumbResponseProto
                )
            else:
                written = election_pb2.SetBreadcrumbRequestProto(
                    electionId=election_id, holder=holder, term=term, content=content
                )
                answer = client.call("setBreadcrumb", written, election_pb2.BreadcrumbResponseProto)
            return _answer(answer.accepted, answer.state)

        def accepted(answers: Answers) -> int:
            return sum(answer is not None and answer.granted for answer in answers.values())

        return accepted(self._ask_all(write, lambda some: accepted(some) >= self._majority))

    def _release(self) -> None:
        """Give back what was granted, wherever that was; nobody waits for it."""
        terms, self._granted_terms = self._granted_terms, set()
        for term in sorted(terms)[-2:]:
            request = election_pb2.ReleaseRequestProto(
                electionId=self._election_id, holder=self._candidate.holder, term=term
            )
            for node in self._nodes:
                node.notify("release", request, election_pb2.ReleaseResponseProto)


class _Node:
    """One journal node: a connection, and a thread that uses it."""

    def __init__(
        self, number: int, address: Address, timeout_s: float, user: str | None = None
    ) -> None:
        self.number = number
        self._client = RpcClient(
            address, PROTOCOL, user=user, connect_timeout_s=timeout_s, call_timeout_s=timeout_s
        )
        self._name = f"journal node {address[0]}:{address[1]}"
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._questions = 0
        self._told = 0
        self._failure = ""
        threading.Thread(target=self._run, name=f"election at {self._name}", daemon=True).start()

    def enqueue(self, ask: _Ask, reply: _Reply, *, may_wait: bool) -> bool:
        """Have it asked; False if there are questions before this one, or too many."""
        with self._lock:
            if self._questions > (_MAX_WAITING if may_wait else 0):
                return False
            self._questions += 1

        def job() -> None:
            answer: Answer | None = None
            try:
                answer = ask(self._client)
                self._failure = ""
            except errors.HowdahError as error:
                self._failed(error)
            finally:
                with self._lock:
                    self._questions -= 1
                reply(self.number, answer)

        self._jobs.put(job)
        return True

    def notify(self, method: str, request: Message, answer_type: type[Message]) -> None:
        """Call it, whatever it answers. A node that hangs is not told more than it can be asked:
        what it has lent ends by itself."""
        with self._lock:
            if self._told > _MAX_WAITING:
                return
            self._told += 1

        def job() -> None:
            try:
                self._client.call(method, request, answer_type)
            except errors.HowdahError as error:
                self._failed(error)
            finally:
                with self._lock:
                    self._told -= 1

        self._jobs.put(job)

    def close(self) -> None:
        """Its thread ends after what it was given."""
        self._jobs.put(None)

    def _failed(self, error: errors.HowdahError) -> None:
        # Said once, and not with each round.
        if type(error).__name__ != self._failure:
            self._failure = type(error).__name__
            log.warning("%s takes no part in the election: %s", self._name, error)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception as error:  # noqa: BLE001 - the only thread: the node would be deaf
                unexpected_errors.note(
                    f"a question at {self._name}", error, "the next one is asked"
                )
        self._client.close()


def _answer(granted: bool, state: election_pb2.ElectionStateProto) -> Answer:
    breadcrumb = None
    is_cleared = False
    if state.HasField("breadcrumb"):
        breadcrumb = Breadcrumb(state.breadcrumb.content, state.breadcrumb.term)
        is_cleared = not state.breadcrumb.HasField("content")
    return Answer(
        granted,
        state.promisedTerm,
        state.holder if state.HasField("holder") else None,
        state.holderContent,
        state.millisSilent,
        breadcrumb,
        is_cleared,
    )
