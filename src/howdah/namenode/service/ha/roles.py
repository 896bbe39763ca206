"""How a namenode changes its role (pure): Hadoop's HAState.setStateInternal, NameNode.
transitionToActive and transitionToStandby.

A namenode that stops being active refuses first, and stops then: no call comes in while the
log is ended. One that becomes active starts first, and serves then.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Protocol

from howdah import errors
from howdah.namenode.service.ha.states import HAContext, HAState

log = logging.getLogger(__name__)


class Role(Protocol):
    """What a namenode does by itself in one state."""

    @property
    def state(self) -> HAState: ...

    def start(self) -> None: ...

    def tick(self) -> None:
        """Called several times a second between `start` and `stop`."""

    def quiet(self, refusal: errors.HowdahError) -> None:
        """Begin nothing more, as far as that waits for no disk. Calls that wait are answered
        with `refusal`."""

    def stop(self, refusal: errors.HowdahError) -> None:
        """End all of it, also what `quiet` does."""


class Roles:
    """The role of a namenode: at most one is started."""

    def __init__(self, context: HAContext, roles: Iterable[Role]) -> None:
        self._context = context
        self._roles = {role.state: role for role in roles}
        self._current: Role | None = None
        self._leaving: Role | None = None

    @property
    def state(self) -> HAState:
        return self._context.state

    def check(self, state: HAState) -> None:
        """Raises IllegalArgument where the table has no such change."""
        self._context.check_transition(state)

    def become(self, state: HAState) -> None:
        """Change the role. Raises IllegalArgument where there is no such change, OSError
        where the log could not be begun (then the role is the one before) or ended (then
        this process has to end)."""
        context, before = self._context, self._current
        context.check_transition(state)
        role = self._roles.get(state)
        if state is HAState.ACTIVE:
            self._log_change(state)
            self._stop(before, state)
            assert role is not None, "a namenode can be active"
            try:
                role.start()
            except OSError:
                if before is not None:
                    before.start()
                self._current = before
                raise
            context.enter(state)
            self._current = role
        else:
            self.stop_serving(state)
            self.arrive()

    def stop_serving(self, state: HAState) -> None:
        """The first half of becoming something else than active: nothing more is served or
        begun. What the former role has left, such as a log, may end beside the loop until
        `arrive`."""
        self._context.check_transition(state)
        self._log_change(state)
        self._context.enter(state)
        self._leaving, self._current = self._current, None
        if self._leaving is not None:
            self._leaving.quiet(self._refusal(state))

    def arrive(self) -> None:
        """The second half. Raises OSError where the log could not be ended."""
        state, self._leaving, before = self.state, None, self._leaving
        self._stop(before, state)
        role = self._roles.get(state)
        if role is not None:
            role.start()
        self._current = role

    def _log_change(self, state: HAState) -> None:
        log.info("the namenode is %s and becomes %s", self._context.state.value, state.value)

    def _stop(self, role: Role | None, state: HAState) -> None:
        self._current = None
        if role is not None:
            role.stop(self._refusal(state))

    def tick(self) -> None:
        if self._current is not None:
            self._current.tick()

    def _refusal(self, state: HAState) -> errors.HowdahError:
        """For calls that wait. The callers of a namenode that is alone have no other one to
        ask: they wait for it, as they do once its port is closed."""
        if state is HAState.STOPPING and HAState.STANDBY not in self._roles:
            return errors.RetriableError("the namenode stops: try again when it is back")
        return errors.StandbyError(
            f"the namenode becomes {state.value} and does not go on with this call"
        )
