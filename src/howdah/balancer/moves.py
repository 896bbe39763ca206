"""Carries moves out, each in a thread of its own, a limited number at a datanode (shell)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

from howdah import errors
from howdah.balancer import target
from howdah.balancer.access import OPEN, MoveAccess
from howdah.balancer.settings import BalancerSettings
from howdah.balancer.state.iteration import Move

log = logging.getLogger(__name__)

RETRY_PAUSE_S = 0.5
"""A datanode that has just got the replica does not take it again, and the namenode may hear of
it a moment later."""


class Moves:
    """Of one namespace. Thread-safe."""

    def __init__(
        self,
        pool_id: str,
        settings: BalancerSettings,
        ended: Callable[[Move, bool], None],
        *,
        access: MoveAccess = OPEN,
        retries: int = 0,
        pause_s: float = RETRY_PAUSE_S,
    ) -> None:
        """`ended` is called by a move's thread, with whether it went well. One that fails is
        tried once more up to so many `retries`, after `pause_s`, and twice as long each time."""
        self._pool_id = pool_id
        self._settings = settings
        self._ended = ended
        self._access = access
        self._retries = retries
        self._pause_s = pause_s
        limits = settings.limits
        self._threads = threading.BoundedSemaphore(limits.moves)
        self._turns: dict[str, threading.BoundedSemaphore] = {}

    def begin(self, move: Move, *, waits: bool = True) -> threading.Thread:
        """In a thread, when there is one to spare, and both datanodes have a turn to spare.
        With `waits` the caller waits for that, else the thread does."""
        turns = ExitStack()
        try:
            if waits:
                self._take_turns(move, turns)
            thread = threading.Thread(
                target=self._run, args=(move, turns, not waits), name="move", daemon=True
            )
            thread.start()
        except BaseException:
            turns.close()
            raise
        return thread

    def _take_turns(self, move: Move, turns: ExitStack) -> None:
        # By name, so that two who want the same never wait for each other.
        uuids = sorted({move.target.node.uuid, move.proxy.uuid})
        for turn in (self._threads, *map(self._turns_of, uuids)):
            turns.enter_context(turn)

    def _turns_of(self, uuid: str) -> threading.BoundedSemaphore:
        # In one step: two threads that are the first at a datanode get the same.
        fresh = threading.BoundedSemaphore(self._settings.limits.moves_per_node)
        return self._turns.setdefault(uuid, fresh)

    def _run(self, move: Move, turns: ExitStack, waits: bool) -> None:
        is_success = False
        try:
            for trial in range(1 + self._retries):
                if trial:
                    # Without its turns: the datanodes are free for others meanwhile.
                    time.sleep(self._pause_s * 2 ** (trial - 1))
                with turns:
                    if waits or trial:
                        self._take_turns(move, turns)
                    is_success = self._move(move, trial)
                if is_success:
                    break
        finally:
            self._ended(move, is_success)

    def _move(self, move: Move, trial: int) -> bool:
        try:
            target.move(
                move,
                self._pool_id,
                socket_timeout_s=self._settings.socket_timeout_s,
                use_hostname=self._settings.use_hostname,
                access=self._access,
                move_timeout_s=self._settings.move_timeout_s,
            )
        except (errors.HowdahError, OSError) as error:
            log.warning(
                "a move of blk_%d from %s to %s failed (attempt %d of %d): %s",
                move.block.block_id,
                move.source,
                move.target,
                trial + 1,
                1 + self._retries,
                error,
            )
            return False
        return True
