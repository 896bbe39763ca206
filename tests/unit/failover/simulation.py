"""Controllers, journal nodes and namenodes in one pure simulation, from a seed.

Clocks run up to five in a hundred too fast or too slow. Messages are late, out of order or lost,
journal nodes restart, controllers are stopped for a while, fencing fails, namenodes get ill. What
must hold is checked at every step.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable

from howdah.failover.state.candidate import CALL_SHARE, Answer, Candidate, Kind, Round
from howdah.failover.state.controller import Controller
from howdah.failover.state.elector import (
    Action,
    Breadcrumb,
    Elector,
    Fence,
    Join,
    MakeActive,
    MakeStandby,
    Quit,
    ReadBreadcrumb,
    WriteBreadcrumb,
)
from howdah.failover.state.health import Health
from howdah.journalnode.state import election
from howdah.journalnode.state.election import Decision, Election

MAX_SKEW = 0.05


class Node:
    """A journal node: the rules, and a clock of its own."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rate = world.clock_rate()
        self._offset = world.random.uniform(0, 1e6)
        self.known = Election()
        self.is_up = True

    def now_ms(self) -> int:
        return int(self._offset + self._world.now_ms * self._rate)

    def decide(self, rule: Callable[[Election, int], Decision]) -> Answer:
        decision = rule(self.known, self.now_ms())
        self.known = decision.after
        return self.answer(decision.accepted)

    def answer(self, accepted: bool = False) -> Answer:
        now_ms, known = self.now_ms(), self.known
        lease, found = known.lease_at(now_ms), known.promise.breadcrumb
        return Answer(
            accepted,
            known.promise.term,
            lease.holder if lease else None,
            lease.content if lease else b"",
            max(0, known.silent_until_ms - now_ms),
            Breadcrumb(found.content or b"", found.term) if found else None,
            found is not None and found.content is None,
        )

    def stop(self) -> None:
        self.is_up = False

    def start(self) -> None:
        self.is_up = True
        self.known = election.restarted(self.known.promise, self.now_ms())


class Zkfc:
    """A controller, its candidate, and its namenode."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.name = f"nn{number}"
        self.content = self.name.encode()
        self._rate = world.clock_rate()
        self._offset = world.random.uniform(0, 1e6)
        self.candidate = Candidate(
            f"{self.name}@1", len(world.nodes), world.ttl_ms, world.random.random
        )
        self.controller = Controller(Elector(self.content))
        self.candidacy: int | None = None
        self.is_stopped = False
        self._held_back: list[Callable[[], None]] = []
        self.is_active = False
        self._round = 0
        self._terms: set[int] = set()
        self._orders: list[Action] = []
        self._is_busy = False

    def now_ms(self) -> int:
        return int(self._offset + self.world.now_ms * self._rate)

    def holds(self) -> bool:
        return self.candidacy is not None and self.candidate.holds(self.now_ms())

    def later(self, own_ms: float, what: Callable[[], None]) -> None:
        """After so long by the own clock. While the process is stopped it waits, in its order:
        what the namenode said first is not heard last."""

        def when_running() -> None:
            if self.is_stopped:
                self._held_back.append(when_running)
            else:
                what()

        self.world.after(max(own_ms, 0) / self._rate, when_running)

    def go_on(self) -> None:
        """The process is not stopped any more."""
        self.is_stopped = False
        held_back, self._held_back = self._held_back, []
        for what in held_back:
            self.world.after(0, what)

    # -- the controller

    def do(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Join(candidacy, _):
                    self.candidacy = candidacy
                    self.candidate.start(self.now_ms())
                    self._round += 1
                    self._next_round(candidacy)
                case Quit(clears):
                    self._quit(clears=clears)
                case _:
                    self._orders.append(action)
                    self._work()
        due = self.controller.next_at_ms()
        if due is not None:
            self.later(due - self.now_ms(), self._tick)

    def _tick(self) -> None:
        self.do(self.controller.tick(self.now_ms()))

    def check_health(self, health: Health) -> None:
        self.do(self.controller.checked(health, self.now_ms()))

    def cede(self, for_ms: int) -> None:
        self.do(self.controller.cede(for_ms, self.now_ms()))

    def _quit(self, *, clears: bool) -> None:
        term = self.candidate.elected_term
        is_held = self.holds()
        terms, self._terms = self._terms, set()
        self.candidacy = None
        self.candidate.stop()
        if clears and is_held and term is not None:
            cleared_term = term
            self._ask(
                lambda known, _: election.set_breadcrumb(
                    known, self.candidate.holder, cleared_term, None
                ),
                lambda _: self._release(terms),
            )
        else:
            self._release(terms)

    def _release(self, terms: set[int]) -> None:
        for term in sorted(terms):
            self._tell_release(term)

    def _tell_release(self, term: int) -> None:
        holder = self.candidate.holder
        self._ask(lambda known, _: election.release(known, holder, term), lambda _: None)

    # -- orders, one after the other

    def _work(self) -> None:
        if not self._is_busy and self._orders:
            self._is_busy = True
            action = self._orders.pop(0)
            self.later(self.world.random.expovariate(1 / 30), lambda: self._start(action))

    def _done(self, actions: list[Action]) -> None:
        self._is_busy = False
        self.do(actions)
        self._work()

    def _start(self, action: Action) -> None:
        controller, now_ms = self.controller, self.now_ms()
        if isinstance(action, MakeStandby):
            self.later(self.world.random.expovariate(1 / 50), lambda: self._made_standby(action))
            return
        assert not isinstance(action, Join | Quit)
        attempt = action.attempt
        if not controller.elector.is_current(attempt):
            self._done([])
        elif not self.holds():
            self._done(controller.failed(attempt, "not held", now_ms))
        elif isinstance(action, ReadBreadcrumb):
            self._done(controller.breadcrumb_read(attempt, self.candidate.breadcrumb))
        elif isinstance(action, WriteBreadcrumb):
            self._write_breadcrumb(attempt)
        elif isinstance(action, Fence):
            self.later(
                self.world.random.expovariate(1 / 300),
                lambda: self._fenced(attempt, action.content),
            )
        else:
            assert isinstance(action, MakeActive)
            self.world.is_ordered_active(self)
            self.later(self.world.random.expovariate(1 / 50), lambda: self._made_active(attempt))

    def _write_breadcrumb(self, attempt: int) -> None:
        holder, term = self.candidate.holder, self.candidate.elected_term
        assert term is not None

        def written(answers: list[Answer]) -> None:
            if sum(answer.granted for answer in answers) >= self.world.majority and self.holds():
                self.candidate.breadcrumb = Breadcrumb(self.content, term)
                self._done(self.controller.breadcrumb_written(attempt))
            else:
                self._done(self.controller.failed(attempt, "not written", self.now_ms()))

        self._ask(
            lambda known, _: election.set_breadcrumb(known, holder, term, self.content), written
        )

    def _fenced(self, attempt: int, content: bytes) -> None:
        if self.world.random.random() < self.world.fencing_fails:
            self._done(self.controller.failed(attempt, "not fenced", self.now_ms()))
        else:
            self.world.is_fenced(content)
            self._done(self.controller.fenced(attempt))

    def _made_active(self, attempt: int) -> None:
        self.is_active = True
        self._done(self.controller.became_active(attempt, "", self.now_ms()))

    def _made_standby(self, order: MakeStandby) -> None:
        error = "refused" if self.world.random.random() < 0.05 else None
        if error is None:
            self.is_active = False
            if order.cedes:
                self.world.is_fenced(self.content)
        self._done(self.controller.became_standby(order, error, self.now_ms()))

    # -- the candidate

    def _next_round(self, candidacy: int) -> None:
        number = self._round
        wait_ms = self.candidate.next_at_ms - self.now_ms()

        def begin() -> None:
            if number == self._round and candidacy == self.candidacy:
                self._hold_round(candidacy, self.candidate.begin(self.now_ms()))

        self.later(wait_ms, begin)

    def _hold_round(self, candidacy: int, question: Round) -> None:
        self._round += 1
        number = self._round
        answers: dict[int, Answer | None] = {}
        if question.kind is Kind.ASK:
            self._terms.add(question.term)
        holder, ttl_ms, content = self.candidate.holder, self.world.ttl_ms, self.content

        def end() -> None:
            if number == self._round and candidacy == self.candidacy:
                self._end_round(candidacy, question, answers)

        def came(index: int, answer: Answer) -> None:
            if number == self._round and candidacy == self.candidacy:
                answers[index] = answer
                if self.candidate.is_decided(question, answers):
                    self._end_round(candidacy, question, answers)

        for index, node in enumerate(self.world.nodes):
            if question.kind is Kind.LOOK:
                self.world.send(node, lambda node: node.answer(), self, index, came)
            else:
                self.world.send(
                    node,
                    lambda node: node.decide(
                        lambda known, now_ms: election.acquire(
                            known, holder, question.term, ttl_ms, content, now_ms
                        )
                    ),
                    self,
                    index,
                    came,
                )
        self.later(ttl_ms * CALL_SHARE, end)

    def _end_round(
        self, candidacy: int, question: Round, answers: dict[int, Answer | None]
    ) -> None:
        self._round += 1
        outcome = self.candidate.end(question, answers, self.now_ms())
        if self.candidate.elected_term is not None:
            self.world.is_elected(self.candidate.elected_term, self.name)
        if outcome.release_term is not None:
            terms, self._terms = self._terms, set()
            self._release(terms)
        self._next_round(candidacy)
        if outcome.report is not None:
            self.do(self.controller.reported(candidacy, outcome.report))

    def _ask(
        self,
        rule: Callable[[Election, int], Decision],
        then: Callable[[list[Answer]], None],
    ) -> None:
        came: list[Answer] = []
        done = [False]

        def finish() -> None:
            if not done[0]:
                done[0] = True
                then(came)

        def arrived(_: int, answer: Answer) -> None:
            came.append(answer)
            if len(came) == len(self.world.nodes):
                finish()

        for index, node in enumerate(self.world.nodes):
            self.world.send(node, lambda node: node.decide(rule), self, index, arrived)
        self.later(self.world.ttl_ms * CALL_SHARE, finish)


class World:
    """All of it, and what must hold."""

    def __init__(self, seed: int, zkfcs: int = 3, nodes: int = 3, ttl_ms: int = 1000) -> None:
        self.random = random.Random(seed)
        self.ttl_ms = ttl_ms
        self.now_ms = 0.0
        self.majority = nodes // 2 + 1
        self.loss = self.random.choice([0.0, 0.02, 0.1, 0.3])
        self.delay_ms = self.random.choice([1.0, 20.0, 150.0])
        self.fencing_fails = self.random.choice([0.0, 0.5])
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._elected: dict[int, str] = {}
        self._may_be_active: set[bytes] = set()
        self.times_active = 0
        self.nodes = [Node(self) for _ in range(nodes)]
        self.zkfcs = [Zkfc(self, number) for number in range(zkfcs)]

    def clock_rate(self) -> float:
        return self.random.choice([1 - MAX_SKEW, 1.0, 1 + MAX_SKEW])

    def after(self, delay_ms: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now_ms + delay_ms, next(self._numbers), what))

    def send(
        self,
        node: Node,
        work: Callable[[Node], Answer],
        sender: Zkfc,
        index: int,
        reply: Callable[[int, Answer], None],
    ) -> None:
        """A call; it and its answer may be late, or lost."""

        def arrive() -> None:
            if node.is_up:
                answer = work(node)
                if self.random.random() >= self.loss:
                    delay_ms = self.random.expovariate(1 / self.delay_ms)
                    self.after(delay_ms, lambda: sender.later(0, lambda: reply(index, answer)))

        if self.random.random() >= self.loss:
            self.after(self.random.expovariate(1 / self.delay_ms), arrive)

    def run_until(self, end_ms: float) -> None:
        while self._events and self._events[0][0] <= end_ms:
            self.now_ms, _, what = heapq.heappop(self._events)
            what()
            holders = [zkfc.name for zkfc in self.zkfcs if zkfc.holds()]
            assert len(holders) <= 1, f"{holders} hold the lease at {self.now_ms:.0f} ms"
        self.now_ms = end_ms

    # -- what must hold

    def is_elected(self, term: int, name: str) -> None:
        assert self._elected.setdefault(term, name) == name, f"two are elected in term {term}"

    def is_ordered_active(self, zkfc: Zkfc) -> None:
        others = self._may_be_active - {zkfc.content}
        assert not others, f"{zkfc.name} is to be active, and nobody has fenced {others}"
        self._may_be_active.add(zkfc.content)
        self.times_active += 1

    def is_fenced(self, content: bytes) -> None:
        self._may_be_active.discard(content)
        for zkfc in self.zkfcs:
            if zkfc.content == content:
                zkfc.is_active = False

    # -- trouble

    def trouble(self) -> None:
        """One thing that goes wrong, and its end."""
        for_ms = self.random.expovariate(1 / 1500)
        zkfc, node = self.random.choice(self.zkfcs), self.random.choice(self.nodes)
        match self.random.randrange(5):
            case 0 if sum(node.is_up for node in self.nodes) > 1:
                node.stop()
                self.after(for_ms, node.start)
            case 1:
                zkfc.is_stopped = True
                self.after(for_ms, zkfc.go_on)
            case 2:
                zkfc.later(0, lambda: zkfc.check_health(Health.UNHEALTHY))
                self.after(for_ms, lambda: zkfc.later(0, lambda: self._well(zkfc)))
            case 3:
                zkfc.later(0, lambda: zkfc.cede(int(for_ms)))
            case _:
                zkfc.later(0, lambda: zkfc.check_health(Health.NOT_RESPONDING))
                self.after(for_ms, lambda: zkfc.later(0, lambda: self._well(zkfc)))

    def _well(self, zkfc: Zkfc) -> None:
        zkfc.check_health(Health.HEALTHY)

    def live(self, for_ms: float, troubles: int) -> None:
        """Trouble for so long, then time to recover, then none: one has to be active."""
        for zkfc in self.zkfcs:
            self._well(zkfc)
        for _ in range(troubles):
            self.after(self.random.uniform(0, for_ms), self.trouble)
        self.run_until(for_ms)
        self.loss, self.fencing_fails = 0.0, 0.0
        for node in self.nodes:
            if not node.is_up:
                node.start()
        for zkfc in self.zkfcs:
            zkfc.go_on()
        self.delay_ms = min(self.delay_ms, 20.0)
        self.run_until(for_ms + 30_000)
        assert self.times_active, "nobody ever became active"
        assert sum(zkfc.holds() for zkfc in self.zkfcs) == 1, "nobody is elected in the end"
