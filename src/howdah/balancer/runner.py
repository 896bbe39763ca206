"""Runs a balancer: threads, the clock, and who is told of progress.

Balancer.doBalance and Dispatcher.dispatchBlockMoves in Hadoop. One loop owns the pure iteration;
threads carry out what it asks for, and put what came of it into a queue.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final

from howdah import errors
from howdah.balancer import target
from howdah.balancer.namenode import BalancedNamenode
from howdah.balancer.settings import BalancerSettings
from howdah.balancer.state.iteration import Iteration, ListBlocks, Move, RecentMoves
from howdah.balancer.state.matching import pair
from howdah.balancer.state.nodes import BlockPlaces, domains_of
from howdah.balancer.state.termination import Result, Rounds, Status
from howdah.balancer.state.utilization import Rules, survey

log = logging.getLogger(__name__)

_LOOK_S: Final = 0.5
"""How often it is looked whether somebody who had to wait may go on."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an iteration is. `left_bytes` had to be moved when it began."""

    left_bytes: int
    planned_bytes: int
    moved_bytes: int
    running: int


@dataclass(frozen=True, slots=True)
class _Ended:
    move: Move
    is_success: bool


@dataclass(frozen=True, slots=True)
class _Listed:
    asked: ListBlocks
    blocks: list[BlockPlaces] | None


class Balancer:
    """Balances one namespace, iteration by iteration."""

    def __init__(
        self,
        namenode: BalancedNamenode,
        rules: Rules,
        rounds: Rounds,
        settings: BalancerSettings,
        on_progress: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._namenode = namenode
        self._rules = rules
        self._rounds = rounds
        self._settings = settings
        self._on_progress = on_progress
        self._dice = random.Random()
        self._recent = RecentMoves(settings.moved_window_ms)
        self._listings = threading.BoundedSemaphore(settings.listings)

    def iterate(self) -> Result:
        """One iteration. Raises what keeps it from asking the namenode; a move that fails is
        logged, and another one takes its place."""
        reports = self._namenode.reports()
        overview = survey(reports, self._rules)
        left_bytes = overview.left_bytes
        is_upgrading = bool(left_bytes) and self._namenode.is_upgrading()
        result = self._rounds.surveyed(left_bytes, is_upgrading=is_upgrading)
        if result is not None:
            return result
        tasks = pair(overview, self._dice, keeps_order=self._rules.fullest_first)
        self._recent.forget_old(_now_ms())
        iteration = Iteration(
            tasks,
            overview.groups,
            {report.node.uuid: report.rack for report in reports},
            self._settings.limits,
            self._recent,
            _now_ms(),
            domains_of(reports),
        )
        result = self._rounds.paired(left_bytes, iteration.planned_bytes)
        if result is not None:
            return result
        log.info(
            "%d bytes are to be moved, of which this iteration moves %d, in %d pairs",
            left_bytes,
            iteration.planned_bytes,
            len(tasks),
        )
        self._carry_out(iteration, left_bytes)
        return self._rounds.moved(
            left_bytes, iteration.planned_bytes, iteration.moved_bytes, iteration.moved_blocks
        )

    def _carry_out(self, iteration: Iteration, left_bytes: int) -> None:
        happened: SimpleQueue[_Ended | _Listed] = SimpleQueue()
        gives_up = threading.Event()

        def is_late() -> bool:
            return gives_up.is_set() or iteration.is_late(_now_ms())

        try:
            while not iteration.is_over(_now_ms()):
                for action in iteration.next(_now_ms()):
                    if isinstance(action, Move):
                        _spawn(self._move, action, is_late, happened)
                    else:
                        _spawn(self._list, action, happened)
                self._on_progress(
                    Progress(
                        left_bytes,
                        iteration.planned_bytes,
                        iteration.moved_bytes,
                        iteration.running,
                    )
                )
                try:
                    event = happened.get(timeout=_LOOK_S)
                except Empty:
                    continue
                if isinstance(event, _Ended):
                    iteration.ended(event.move, is_success=event.is_success, now_ms=_now_ms())
                elif event.blocks is None:
                    iteration.listing_failed(event.asked.source, _now_ms())
                else:
                    iteration.listed(event.asked.source, event.blocks, _now_ms())
        finally:
            # After an interrupt: nobody waits for moves that datanodes are at.
            gives_up.set()

    def _move(
        self, move: Move, is_late: Callable[[], bool], happened: SimpleQueue[_Ended | _Listed]
    ) -> None:
        is_success = False
        try:
            target.move(
                move,
                self._namenode.pool_id,
                socket_timeout_s=self._settings.socket_timeout_s,
                use_hostname=self._settings.use_hostname,
                access=self._namenode.access,
                move_timeout_s=self._settings.move_timeout_s,
                is_late=is_late,
            )
            is_success = True
        except (errors.HowdahError, OSError) as error:
            log.warning("a move from %s to %s failed: %s", move.source, move.target, error)
        except Exception:
            # It has a thread of its own: nobody else would say why the move failed.
            log.exception("a move from %s to %s failed on a defect", move.source, move.target)
        finally:
            happened.put(_Ended(move, is_success))

    def _list(self, asked: ListBlocks, happened: SimpleQueue[_Ended | _Listed]) -> None:
        blocks = None
        try:
            with self._listings:
                blocks = self._namenode.blocks(
                    asked.source,
                    asked.size_bytes,
                    self._settings.min_block_bytes,
                    self._settings.hot_interval_ms,
                )
        except (errors.HowdahError, OSError) as error:
            log.warning("the namenode does not list blocks of %s: %s", asked.source, error)
        except Exception:
            # As above; the iteration goes on with what others list.
            log.exception("listing blocks of %s failed on a defect", asked.source)
        finally:
            happened.put(_Listed(asked, blocks))


def balance(
    balancers: list[Balancer],
    pause_s: float,
    report: Callable[[int, Result], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Status:
    """Iterations of all namespaces in turn, until each is balanced (SUCCESS), or one of them ends
    otherwise. `report` gets the index of the namespace and the result."""
    while True:
        are_all_done = True
        for index, balancer in enumerate(balancers):
            result = balancer.iterate()
            report(index, result)
            if result.status is Status.IN_PROGRESS:
                are_all_done = False
            elif result.status is not Status.SUCCESS:
                return result.status
        if are_all_done:
            return Status.SUCCESS
        sleep(pause_s)


def _spawn(work: Callable[..., None], *arguments: object) -> None:
    """In a thread that does not keep the program from ending."""
    threading.Thread(target=work, args=arguments, name=work.__name__, daemon=True).start()


def _now_ms() -> int:
    return int(time.monotonic() * 1000)
