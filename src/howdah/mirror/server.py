"""A mirror as a process: rounds in an interval, and pages that say how it goes (shell).

A round that fails is tried again, as is one that is refused: what hinders it may end. While another
mirror of the target runs this one waits, and takes over when that one is gone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import wait
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration
from howdah.gateway.process import Service, run_gateway
from howdah.mirror.copying import Watcher
from howdah.mirror.metrics import Metrics
from howdah.mirror.pages import ROLE, Pages
from howdah.mirror.rounds import Mirror, Round, alone, now_ms
from howdah.mirror.settings import Settings
from howdah.mirror.sides import Directory
from howdah.mirror.state import planner
from howdah.mirror.state.planner import Action
from howdah.runtime import background_threads, unexpected_errors
from howdah.runtime.tls.http_policy import Place
from howdah.web.own_hosts import hosts_of

log = logging.getLogger(__name__)
_LONGEST_PAUSE_S: Final = 60.0
_PATIENCE_S: Final = 10.0
_DOING: Final = {
    planner.MakeTarget: "making the target",
    planner.CompareSource: "looking for changes",
    planner.CompareTarget: "looking for changes",
    planner.CreateSnapshot: "taking a snapshot",
    planner.CopyAll: "making a full copy",
    planner.CopyChanges: "copying changes",
    planner.CopyTouched: "copying changes",
    planner.CheckSnapshot: "comparing what has changed",
    planner.Revert: "reverting the target",
    planner.DeleteSnapshot: "deleting old snapshots",
}


class _Stopped(Exception):
    """The process is to end."""


class Rounds:
    """Makes rounds on a thread until it is closed."""

    def __init__(
        self,
        source: Directory,
        target: Directory,
        settings: Settings,
        conf: Configuration,
        user: str | None,
        told: Callable[[Round], None],
    ) -> None:
        self.metrics = Metrics(source.uri, target.uri)
        self._settings = settings
        self._told = told
        self._stop = threading.Event()
        watcher = Watcher(listed=self.metrics.listed, done=self.metrics.copied, tell=log.info)
        self._mirror = Mirror(source, target, settings, conf, user, watcher, began=self._began)
        self._running = background_threads.begin(self._work, "mirror")

    def close(self) -> None:
        """Begin no further step, and wait a little for the one that is being done. One that is
        given up is gone on with by the next start."""
        self._stop.set()
        wait([self._running], _PATIENCE_S)
        if not self._running.done():
            log.warning("a round was left in the middle; the next start goes on with it")

    def _began(self, action: Action) -> None:
        if self._stop.is_set():
            raise _Stopped
        self.metrics.does(_DOING.get(type(action), "writing down what is done"))

    def _work(self) -> None:
        failures = 0
        while not self._stop.is_set():
            try:
                with alone(self._mirror.target, log.warning) as lock:
                    if lock.note is not None:
                        log.warning("%s", lock.note)
                    self.metrics.knows(self._mirror.inspect().common)
                    while not self._stop.is_set():
                        began_ms, began_s = now_ms(), time.monotonic()
                        done = self._mirror.run(lock)
                        failures = 0
                        self.metrics.ended(done, began_ms)
                        self._told(done)
                        self._pause(began_s + self._settings.interval_s - time.monotonic())
            except _Stopped:
                return
            except (errors.HowdahError, OSError) as error:
                failures += 1
                self.metrics.failed(str(error))
                pause_s = min(2.0**failures, _LONGEST_PAUSE_S, self._settings.interval_s)
                log.warning("the round failed: %s; next try in %.0f s", error, pause_s)
                self._pause(pause_s)
            except Exception as error:  # noqa: BLE001 - the mirror goes on
                failures += 1
                self.metrics.failed(f"{type(error).__name__}: {error}")
                unexpected_errors.note("a round of a mirror", error, "it is tried again")
                self._pause(_LONGEST_PAUSE_S)

    def _pause(self, seconds: float) -> None:
        self.metrics.does("waiting for the next round")
        self._stop.wait(max(seconds, 0))


def run(
    source: str,
    target: str,
    settings: Settings,
    conf: Configuration,
    address: tuple[str, int],
    told: Callable[[Round], None],
    ready_file: Path | None = None,
) -> int:
    """Mirror until SIGTERM; the exit code. What hinders the start is logged and gives 1."""

    def make() -> Service:
        here = Directory.of(source, conf, None)
        there = Directory.of(target, conf, None)
        rounds = Rounds(here, there, settings, conf, None, told)
        pages = Pages(rounds.metrics, conf)

        def serves_at(place: Place) -> None:
            pages.name = place.header
            log.info("mirroring %s to %s; how it goes is at %s", here.uri, there.uri, place)

        return Service(
            pages.answer,
            Place(False, *address),
            hosts_of(conf),
            serves_at,
            rounds.close,
        )

    return run_gateway("mirror", ROLE, conf, make, ready_file)
