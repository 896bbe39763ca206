"""Hedged reads: when a replica is slow, a second one is asked, and the first answer wins.

Mirrors Hadoop's (`dfs.client.hedged.read.threadpool.size`, off at 0, and
`dfs.client.hedged.read.threshold.millis`). Positioned reads only, as there.

1. The read of the nearest replica goes to a thread of the client's pool.
2. No answer within the threshold: the next replica is asked as well, and so on after
   each further threshold, as long as there are nodes and threads. (Hadoop asks one more
   and then waits for either.)
3. The first that has read and checked the whole range is the answer. The others are
   cancelled: their connections are shut down, so that they end where they are.
4. One that fails is noted as in any read, and the next node takes its place.
5. One that has not said a word, though it was asked before the winner, is told to the
   stream: it may be merely slow, or a machine without power, for which every read would
   wait a threshold. After `SILENT_LOSSES` of them in a row it counts as failed.

Each reads into a buffer of its own, and only the winner's is handed over: so a loser
that goes on for a moment can't touch what the caller has already. Where no thread is
free the caller reads by itself, unhedged.
"""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from howdah import errors
from howdah.client.reading.readers import Cancellation
from howdah.client.thread_pool import Workers

SILENT_LOSSES = 3
N = TypeVar("N")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class HedgedReadMetrics:
    """Of all streams of a client, as Hadoop's DFSHedgedReadMetrics.

    `operations`: further replicas that were asked; `wins`: those that were first;
    `in_current_thread`: reads that found no thread free.
    """

    operations: int = 0
    wins: int = 0
    in_current_thread: int = 0


class Race(Protocol[N, R_co]):
    """What a hedged read needs to know of the stream; nodes are opaque to it."""

    def first_node(self) -> N:
        """The node to ask next; waits and asks the namenode where all have failed."""

    def other_node(self, busy: Collection[N]) -> N | None:
        """A node that is worth asking as well."""

    def fetch(self, node: N, cancellation: Cancellation) -> R_co:
        """The whole range from `node`. Called from threads of the pool."""

    def failed(self, node: N, error: errors.HowdahError | OSError) -> None: ...
    def lost(self, node: N, *, in_silence: bool) -> None:
        """A node that was asked later has answered before `node`."""

    def hedged(self) -> None: ...
    def hedge_won(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Runner(Generic[N]):
    node: N
    cancellation: Cancellation
    is_hedge: bool


class HedgedReads:
    """Keeps the pool and the counts of one client. Thread-safe and fork-safe."""

    def __init__(self, threads: int, threshold_s: float) -> None:
        self._workers = Workers(threads, "howdah-hedged-read")
        self._threshold_s = threshold_s
        self._lock = threading.Lock()
        self._operations = self._wins = self._in_current_thread = 0

    def metrics(self) -> HedgedReadMetrics:
        with self._lock:
            return HedgedReadMetrics(self._operations, self._wins, self._in_current_thread)

    def read(self, race: Race[N, R]) -> R:
        """Read the range that `race` is about, from whichever node is first.

        Raises what `race.first_node` raises when no node is left.
        """
        running: dict[Future[R], _Runner[N]] = {}
        try:
            while True:
                if not running and not self._start(race, race.first_node(), running, hedge=False):
                    return self._read_here(race)
                done = self._wait(running, hedging=True)
                if not done:
                    node = race.other_node([runner.node for runner in running.values()])
                    if node is not None and self._start(race, node, running, hedge=True):
                        continue
                    done = self._wait(running, hedging=False)
                winner = next(
                    (future for future in running if future in done and _is_well(future)), None
                )
                if winner is not None:
                    self._note_losers(race, running, winner)
                # Who failed at the same moment as another one won has failed all the same.
                for future in done - {winner}:
                    runner, error = running.pop(future), future.exception()
                    if error is not None and not isinstance(error, errors.HowdahError | OSError):
                        raise error
                    if error is not None:
                        race.failed(runner.node, error)
                if winner is not None:
                    if running.pop(winner).is_hedge:
                        self._won(race)
                    return winner.result()
        finally:
            for runner in running.values():
                runner.cancellation.cancel()

    def _start(
        self,
        race: Race[N, R],
        node: N,
        running: dict[Future[R], _Runner[N]],
        *,
        hedge: bool,
    ) -> bool:
        cancellation = Cancellation()
        future = self._workers.try_submit(_fetching(race, node, cancellation))
        if future is None:
            return False
        running[future] = _Runner(node, cancellation, hedge)
        if hedge:
            race.hedged()
            with self._lock:
                self._operations += 1
        return True

    def _wait(self, running: dict[Future[R], _Runner[N]], *, hedging: bool) -> set[Future[R]]:
        return concurrent.futures.wait(
            running,
            timeout=self._threshold_s if hedging else None,
            return_when=concurrent.futures.FIRST_COMPLETED,
        ).done

    def _note_losers(
        self, race: Race[N, R], running: dict[Future[R], _Runner[N]], winner: Future[R]
    ) -> None:
        # They are in the order in which they were asked.
        for future, runner in running.items():
            if future is winner:
                return
            if not future.done():
                race.lost(runner.node, in_silence=not runner.cancellation.is_answered)

    def _won(self, race: Race[N, R]) -> None:
        race.hedge_won()
        with self._lock:
            self._wins += 1

    def _read_here(self, race: Race[N, R]) -> R:
        with self._lock:
            self._in_current_thread += 1
        while True:
            node = race.first_node()
            try:
                return race.fetch(node, Cancellation())
            except (errors.HowdahError, OSError) as error:
                race.failed(node, error)


def _is_well(future: Future[R]) -> bool:
    return future.exception() is None


def _fetching(race: Race[N, R], node: N, cancellation: Cancellation) -> Callable[[], R]:
    return lambda: race.fetch(node, cancellation)
