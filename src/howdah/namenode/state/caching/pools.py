"""Cache pools and directives, as edits make them and images keep them (pure).

Hadoop's `CachePool`, `CacheDirective`, and the part of `CacheManager` that is stored. A
directive asks that the blocks of a file, or of all files of a directory, are kept in the
memory of datanodes; it belongs to a pool, which says who may do so and how much. Like all of
the namespace they change by edits alone: `appliers`.
"""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from howdah.formats.edits import cache_edits, edits
from howdah.formats.image import records as rec
from howdah.namenode.state.inodes.block_events import EditDoesNotFit

UNLIMITED: Final = (1 << 63) - 1
"""The limit of a pool that has none."""
NEVER_MS: Final = ((1 << 63) - 1) // 4
"""A relative expiry that is none; Hadoop: `Expiration.MAX_RELATIVE_EXPIRY_MS`."""
DEFAULT_MODE: Final = 0o755
DEFAULT_REPLICATION: Final = 1


@dataclass(frozen=True, slots=True)
class CachePool:
    """Who may cache, and how much. READ shows the pool and its directives, WRITE adds,
    changes and removes directives."""

    name: str
    owner: str
    group: str
    mode: int = DEFAULT_MODE
    limit_bytes: int = UNLIMITED
    max_relative_expiry_ms: int = NEVER_MS
    default_replication: int = DEFAULT_REPLICATION


@dataclass(frozen=True, slots=True)
class CacheDirective:
    """What to cache, on how many datanodes, until when (Unix milliseconds)."""

    directive_id: int
    path: str
    replication: int
    pool: str
    expiry_ms: int


class CachePools:
    """Keeps all pools and directives of a namespace.

    `version` changes with each edit: the planner looks at it. Directives come in the order of
    their ids, pools in that of their names as Java compares them.
    """

    def __init__(self) -> None:
        self._pools: Final[dict[str, CachePool]] = {}
        self._directives: Final[dict[int, CacheDirective]] = {}
        self._ids: Final[list[int]] = []
        self.next_directive_id = 1
        self.version = 0
        self.appliers: Final[Mapping[type[edits.Edit], Callable[[Any], None]]] = {
            cache_edits.AddCachePoolOp: self._add_pool,
            cache_edits.ModifyCachePoolOp: self._modify_pool,
            cache_edits.RemoveCachePoolOp: self._remove_pool,
            cache_edits.AddCacheDirectiveOp: self._add_directive,
            cache_edits.ModifyCacheDirectiveOp: self._modify_directive,
            cache_edits.RemoveCacheDirectiveOp: self._remove_directive,
        }

    # Looking.

    def pool(self, name: str) -> CachePool | None:
        return self._pools.get(name)

    def directive(self, directive_id: int) -> CacheDirective | None:
        return self._directives.get(directive_id)

    def pools_after(self, name: str) -> list[CachePool]:
        """The pools whose names follow `name`; all of them follow an empty one."""
        bound = _java_order(name)
        return sorted(
            (pool for pool in self._pools.values() if _java_order(pool.name) > bound),
            key=lambda pool: _java_order(pool.name),
        )

    def directives_after(self, directive_id: int) -> Iterator[CacheDirective]:
        """The directives with greater ids. Nothing may change while the iterator is used."""
        for place in range(bisect.bisect_right(self._ids, directive_id), len(self._ids)):
            yield self._directives[self._ids[place]]

    def __len__(self) -> int:
        """How many directives there are."""
        return len(self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CachePools) and self.record() == other.record()

    # Edits.

    def _add_pool(self, op: cache_edits.AddCachePoolOp) -> None:
        if not op.name or op.name in self._pools:
            raise EditDoesNotFit(f"{op.opcode.name}: there is a pool {op.name!r} already")
        self._pools[op.name] = _changed(CachePool(op.name, "", ""), op)
        self.version += 1

    def _modify_pool(self, op: cache_edits.ModifyCachePoolOp) -> None:
        self._pools[op.name] = _changed(self._pool_of(op.name, op), op)
        self.version += 1

    def _remove_pool(self, op: cache_edits.RemoveCachePoolOp) -> None:
        del self._pools[self._pool_of(op.name, op).name]
        for directive in [d for d in self._directives.values() if d.pool == op.name]:
            self._forget(directive.directive_id)
        self.version += 1

    def _add_directive(self, op: cache_edits.AddCacheDirectiveOp) -> None:
        if op.directive_id <= 0 or op.directive_id in self._directives:
            raise EditDoesNotFit(f"{op.opcode.name}: directive {op.directive_id} cannot be added")
        if op.path is None or op.pool is None:
            raise EditDoesNotFit(f"{op.opcode.name}: it has no path, or no pool: {op}")
        self._pool_of(op.pool, op)
        self._index_directive(
            CacheDirective(
                op.directive_id,
                op.path,
                DEFAULT_REPLICATION if op.replication is None else op.replication,
                op.pool,
                NEVER_MS if op.expiry_ms is None else op.expiry_ms,
            )
        )
        self.next_directive_id = max(self.next_directive_id, op.directive_id + 1)
        self.version += 1

    def _modify_directive(self, op: cache_edits.ModifyCacheDirectiveOp) -> None:
        current = self._directive_of(op.directive_id, op)
        if op.pool is not None:
            self._pool_of(op.pool, op)
        self._directives[op.directive_id] = CacheDirective(
            op.directive_id,
            current.path if op.path is None else op.path,
            current.replication if op.replication is None else op.replication,
            current.pool if op.pool is None else op.pool,
            current.expiry_ms if op.expiry_ms is None else op.expiry_ms,
        )
        self.version += 1

    def _remove_directive(self, op: cache_edits.RemoveCacheDirectiveOp) -> None:
        self._forget(self._directive_of(op.directive_id, op).directive_id)
        self.version += 1

    def _index_directive(self, directive: CacheDirective) -> None:
        self._directives[directive.directive_id] = directive
        bisect.insort(self._ids, directive.directive_id)

    def _forget(self, directive_id: int) -> None:
        del self._directives[directive_id]
        del self._ids[bisect.bisect_left(self._ids, directive_id)]

    def _pool_of(self, name: str, op: edits.Edit) -> CachePool:
        pool = self._pools.get(name)
        if pool is None:
            raise EditDoesNotFit(f"{op.opcode.name}: there is no pool {name!r}")
        return pool

    def _directive_of(self, directive_id: int, op: edits.Edit) -> CacheDirective:
        directive = self._directives.get(directive_id)
        if directive is None:
            raise EditDoesNotFit(f"{op.opcode.name}: there is no directive {directive_id}")
        return directive

    # Images.

    def record(self) -> rec.CacheRecord:
        """As an image has it. Hadoop's images lack the two last fields of a pool; its
        namenode skips those that it does not know."""
        return rec.CacheRecord(
            self.next_directive_id,
            tuple(
                rec.CachePoolRecord(
                    pool.name,
                    pool.owner,
                    pool.group,
                    pool.mode,
                    pool.limit_bytes,
                    pool.max_relative_expiry_ms,
                    pool.default_replication,
                )
                for pool in self.pools_after("")
            ),
            tuple(
                rec.CacheDirectiveRecord(
                    directive.directive_id,
                    directive.path,
                    directive.replication,
                    directive.pool,
                    rec.CacheExpirationRecord(directive.expiry_ms, is_relative=False),
                )
                for directive in self.directives_after(0)
            ),
        )

    def load(self, record: rec.CacheRecord) -> None:
        """What an image has. Raises EditDoesNotFit for what cannot be."""
        for pool in record.pools:
            self._add_pool(
                cache_edits.AddCachePoolOp(
                    pool.name or "",
                    pool.owner,
                    pool.group,
                    pool.mode,
                    pool.limit_bytes,
                    pool.max_relative_expiry_ms,
                    pool.default_replication,
                )
            )
        for directive in record.directives:
            self._add_directive(
                cache_edits.AddCacheDirectiveOp(
                    directive.directive_id or 0,
                    directive.path,
                    directive.replication,
                    directive.pool,
                    None if directive.expiration is None else directive.expiration.millis,
                )
            )
        self.next_directive_id = max(self.next_directive_id, record.next_directive_id)


def _changed(
    pool: CachePool, op: cache_edits.AddCachePoolOp | cache_edits.ModifyCachePoolOp
) -> CachePool:
    given = {
        name: value
        for name, value in (
            ("owner", op.owner),
            ("group", op.group),
            ("mode", op.mode),
            ("limit_bytes", op.limit_bytes),
            ("max_relative_expiry_ms", op.max_relative_expiry_ms),
            ("default_replication", op.default_replication),
        )
        if value is not None
    }
    # The names are those of fields, each with its own type.
    return dataclasses.replace(pool, **given)  # type: ignore[arg-type]


def _java_order(name: str) -> bytes:
    """By UTF-16 code units."""
    return name.encode("utf-16-be", "surrogatepass")
