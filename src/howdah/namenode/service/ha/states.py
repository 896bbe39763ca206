"""The roles of a namenode, and what it serves in each of them (pure).

Mirrors Hadoop's HAServiceProtocol.HAServiceState, HAState and HAContext. A namenode without
high availability becomes active at its start and stays so.

    from           may become                      serves
    -------------  ------------------------------  ---------------------------------------
    initializing   active, standby, observer,      nothing
                   stopping
    active         standby, stopping               everything
    standby        active, observer, stopping      UNCHECKED
    observer       standby, stopping               UNCHECKED, READ
    stopping       -                               nothing

Both tables are code: `TRANSITIONS` and `SERVED`. An observer becomes active by way of
standby, as in Hadoop, so that there is one path on which the log is taken over.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Final

from howdah import errors
from howdah.protocol.client_methods import Category


class HAState(enum.Enum):
    """The values are Hadoop's names, which its messages have."""

    INITIALIZING = "initializing"
    ACTIVE = "active"
    STANDBY = "standby"
    OBSERVER = "observer"
    STOPPING = "stopping"


TRANSITIONS: Final[Mapping[HAState, frozenset[HAState]]] = {
    HAState.INITIALIZING: frozenset(
        {HAState.ACTIVE, HAState.STANDBY, HAState.OBSERVER, HAState.STOPPING}
    ),
    HAState.ACTIVE: frozenset({HAState.STANDBY, HAState.STOPPING}),
    HAState.STANDBY: frozenset({HAState.ACTIVE, HAState.OBSERVER, HAState.STOPPING}),
    HAState.OBSERVER: frozenset({HAState.STANDBY, HAState.STOPPING}),
    HAState.STOPPING: frozenset(),
}

SERVED: Final[Mapping[HAState, frozenset[Category]]] = {
    HAState.INITIALIZING: frozenset(),
    HAState.ACTIVE: frozenset(Category),
    HAState.STANDBY: frozenset({Category.UNCHECKED}),
    HAState.OBSERVER: frozenset({Category.UNCHECKED, Category.READ}),
    HAState.STOPPING: frozenset(),
}


class HAContext:
    """The role that a namenode has now. Whoever serves or orders something asks here."""

    def __init__(self, wall_ms: Callable[[], int]) -> None:
        self._wall_ms = wall_ms
        self._state = HAState.INITIALIZING
        self.last_transition_ms = 0
        """When the role changed last; its first one is no change."""
        self.is_active = False
        self.is_open = False
        """Whether any call is served: it is active, and not in doubt. Read for every call, and so
        no property."""
        self._doubt = ""

    @property
    def state(self) -> HAState:
        return self._state

    def check_transition(self, state: HAState) -> None:
        """Raises IllegalArgument where the table has no such change."""
        if state not in TRANSITIONS[self._state]:
            raise errors.IllegalArgument(
                f"a namenode that is {self._state.value} cannot become {state.value}"
            )

    def enter(self, state: HAState) -> None:
        """From now on this is the role. Raises IllegalArgument as `check_transition`."""
        self.check_transition(state)
        if self._state is not HAState.INITIALIZING:
            self.last_transition_ms = self._wall_ms()
        self._state = state
        self.is_active = state is HAState.ACTIVE
        self._doubt = ""
        self.is_open = self.is_active

    def doubt(self, reason: str) -> None:
        """An active that may be none any more refuses what only an active serves, for this
        reason; an empty one ends that. The next role begins without a doubt."""
        self._doubt = reason if self.is_active else ""
        self.is_open = self.is_active and not reason

    def check(self, category: Category) -> None:
        """Raises StandbyError for what is not served in this role. Of an observer that is
        asked to write, ObserverRetryOnActive: the client asks the active at once."""
        if self.is_open:
            return
        if self._doubt:
            if category is not Category.UNCHECKED:
                raise errors.StandbyError(
                    f"Operation category {category.name} is not supported now: {self._doubt}"
                )
            return
        if category in SERVED[self._state]:
            return
        message = (
            f"Operation category {category.name} is not supported in state {self._state.value}. "
            "Visit https://s.apache.org/sbnn-error"
        )
        if self._state is HAState.OBSERVER and category is Category.WRITE:
            raise errors.ObserverRetryOnActive(message)
        raise errors.StandbyError(message)
