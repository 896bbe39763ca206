"""A graceful failover: the namenode of this controller becomes active, all others cede (shell).

Mirrors ZKFailoverController.gracefulFailoverToYou:

13. The namenode of this controller is healthy and no observer, and some other one is active.
14. The controllers of all others are asked to cede, that of the active last, each for twice the
    time that a namenode may take to become standby.
15. The election elects, as ever. The controller waits for its attempt to become active.
16. However that ended, the others may take part in the election again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from howdah import errors
from howdah.failover.namenodes import Controller
from howdah.failover.settings import is_same_host
from howdah.failover.state.active_node import target_of
from howdah.failover.state.controller import Attempt
from howdah.failover.state.service import Target

log = logging.getLogger(__name__)

_MORE_PATIENCE_S: Final = 60.0


class Desk(Protocol):
    """What a graceful failover asks of the controller that coordinates it."""

    def not_eligible(self) -> str | None:
        """Why its namenode cannot become active, if it can't."""

    def active_content(self) -> bytes | None:
        """Who is elected. Raises HowdahError."""

    def hasten(self) -> None:
        """The election is about to be free."""

    def wait_for_attempt(self, since_ms: int, timeout_s: float) -> Attempt | None:
        """The first attempt to become active that ended after `since_ms`; None where there is
        none in time, or the namenode is not healthy any more."""


Connect = Callable[[Target, float], Controller]


def fail_over_to(
    own: Target,
    targets: Mapping[str, Target],
    desk: Desk,
    to_standby_s: float,
    now_ms: Callable[[], int],
    connect: Connect = Controller,
) -> None:
    """Make `own` active, one of `targets` (by id). Raises ServiceFailed."""
    reason = desk.not_eligible()
    if reason is not None:
        raise errors.ServiceFailed(f"{own} {reason}")
    content = desk.active_content()
    if content is None:
        raise errors.ServiceFailed("No other node is currently active.")
    active = target_of(content, targets, is_same_host)
    if active.namenode == own.namenode:
        log.info("%s is active already", own)
        return
    others = [t for name, t in targets.items() if name not in (own.namenode, active.namenode)]
    patience_s = 2 * to_standby_s
    since_ms, began_s = now_ms(), time.monotonic()
    asked: list[Controller] = []
    try:
        for other in (*others, active):
            log.info("the controller of %s is asked to cede for %g s", other, patience_s)
            controller = connect(other, patience_s)
            asked.append(controller)
            try:
                controller.cede(int(patience_s * 1000))
            except errors.HowdahError as error:
                if other is active:
                    raise errors.ServiceFailed(
                        f"{active} is active, and its controller did not cede: {error}"
                    ) from error
                # One that is down does not stand for election.
                log.warning("the controller of %s did not cede: %s", other, error)
        desk.hasten()
        attempt = desk.wait_for_attempt(since_ms, patience_s + _MORE_PATIENCE_S)
    finally:
        for controller in asked:
            _let_back(controller)
    if attempt is None:
        if desk.not_eligible() is not None:
            raise errors.ServiceFailed(
                "Unable to become active. Service became unhealthy while trying to failover."
            )
        raise errors.ServiceFailed(
            "Unable to become active. Local node did not get an opportunity to do so from the "
            "election, or the local node took too long to transition to active."
        )
    if not attempt.succeeded:
        raise errors.ServiceFailed(f"Failed to become active. {attempt.message}")
    log.info("%s became active after %.2f s", own, time.monotonic() - began_s)


def _let_back(controller: Controller) -> None:
    """Step 16. Who is not told comes back by itself a little later."""
    try:
        controller.cede(-1)
    except errors.HowdahError as error:
        log.warning("the controller of %s was not let back: %s", controller.target, error)
    finally:
        controller.close()
