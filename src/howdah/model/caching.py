"""Cache pools and directives, as what is asked for: two dicts.

Which blocks are in the memory of which datanodes is not here: nobody promises when they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from howdah.model.entries import Refused

NEVER_MS: Final = ((1 << 63) - 1) // 4
NO_LIMIT: Final = (1 << 63) - 1
MOST_REPLICATION: Final = 32767


@dataclass(frozen=True, slots=True)
class ModelPool:
    owner: str
    group: str
    mode: int = 0o755
    limit_bytes: int = NO_LIMIT
    max_expiry_ms: int = NEVER_MS
    replication: int = 1


@dataclass(frozen=True, slots=True)
class ModelDirective:
    path: str
    pool: str
    replication: int
    expiry_ms: int
    """By the wall clock."""


@dataclass(frozen=True, slots=True)
class Expiry:
    """As a client says it."""

    millis: int
    is_relative: bool


class ModelCaches:
    """Holds all pools by name, and directives by id. A client that says nothing of a field
    passes None; of a pool, leaves the field out."""

    def __init__(self) -> None:
        self.pools: dict[str, ModelPool] = {}
        self.directives: dict[int, ModelDirective] = {}
        self._ids = 0

    # Pools.

    def add_pool(self, name: str, **fields: Any) -> None:
        _check(fields)
        if not name:
            raise Refused("no name")
        if name in self.pools:
            raise Refused("no sense")
        self.pools[name] = ModelPool(**fields)

    def modify_pool(self, name: str, **fields: Any) -> None:
        _check(fields)
        self.pools[name] = replace(self._pool(name), **fields)

    def remove_pool(self, name: str) -> None:
        """Remove a pool, and its directives with it."""
        self._pool(name)
        del self.pools[name]
        self.directives = {
            number: directive
            for number, directive in self.directives.items()
            if directive.pool != name
        }

    def _pool(self, name: str | None) -> ModelPool:
        if name is None or name not in self.pools:
            raise Refused("no sense" if name else "no name")
        return self.pools[name]

    # Directives.

    def add(
        self,
        path: str | None,
        pool: str | None,
        replication: int | None,
        expiry: Expiry | None,
        *,
        now_ms: int,
    ) -> int:
        """The id, which no directive had before."""
        there = self._pool(pool)
        assert pool is not None
        if path is None:
            raise Refused("no sense")
        made = ModelDirective(
            path,
            pool,
            _replication(there.replication if replication is None else replication),
            _expiry_ms(expiry, there, now_ms),
        )
        self._ids += 1
        self.directives[self._ids] = made
        return self._ids

    def modify(
        self,
        number: int,
        path: str | None,
        pool: str | None,
        replication: int | None,
        expiry: Expiry | None,
        *,
        now_ms: int,
    ) -> None:
        """What is not said stays; the old expiry has to be one that the pool lets it have."""
        known = self._directive(number)
        target = known.pool if pool is None else pool
        kept = Expiry(known.expiry_ms, is_relative=False) if expiry is None else expiry
        self.directives[number] = ModelDirective(
            known.path if path is None else path,
            target,
            known.replication if replication is None else _replication(replication),
            _expiry_ms(kept, self._pool(target), now_ms),
        )

    def remove(self, number: int) -> None:
        self._directive(number)
        del self.directives[number]

    def _directive(self, number: int) -> ModelDirective:
        if number not in self.directives:
            raise Refused("no sense")
        return self.directives[number]

    def listed(
        self, after: int, path: str | None, pool: str | None, now_ms: int
    ) -> list[tuple[int, ModelDirective, bool]]:
        """Return directives behind an id, in their order, and whether each has expired."""
        return [
            (number, directive, directive.expiry_ms < now_ms)
            for number, directive in sorted(self.directives.items())
            if number > after and path in (None, directive.path) and pool in (None, directive.pool)
        ]


def _check(fields: dict[str, object]) -> None:
    most = {"max_expiry_ms": NEVER_MS, "replication": MOST_REPLICATION}
    for name in ("limit_bytes", "max_expiry_ms", "replication"):
        value = fields.get(name, 0)
        assert isinstance(value, int)
        if not 0 <= value <= most.get(name, NO_LIMIT):
            raise Refused("no sense")


def _replication(count: int) -> int:
    if not 0 < count <= MOST_REPLICATION:
        raise Refused("no sense")
    return count


def _expiry_ms(expiry: Expiry | None, pool: ModelPool, now_ms: int) -> int:
    if expiry is None:
        return now_ms + pool.max_expiry_ms
    if expiry.millis < 0:
        raise Refused("no sense")
    at_ms = expiry.millis + (now_ms if expiry.is_relative else 0)
    if at_ms - now_ms > pool.max_expiry_ms:
        raise Refused("no sense")
    return at_ms
