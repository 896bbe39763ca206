"""Calls about cache pools and directives (pure): Hadoop's `FSNDNCacheOp` and the checks of
`CacheManager`.

A request is checked here and becomes an edit; nothing is changed otherwise. Pools are the
superuser's. Directives are for those who may write to the pool.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from howdah import errors
from howdah.formats.edits.cache_edits import (
    AddCacheDirectiveOp,
    AddCachePoolOp,
    ModifyCacheDirectiveOp,
    ModifyCachePoolOp,
    RemoveCacheDirectiveOp,
    RemoveCachePoolOp,
)
from howdah.namenode.service.calls.permissions import Access, Identity
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.caching.planner import CacheFigures
from howdah.namenode.state.caching.pools import (
    DEFAULT_MODE,
    DEFAULT_REPLICATION,
    NEVER_MS,
    UNLIMITED,
    CacheDirective,
    CachePool,
)
from howdah.namenode.state.inodes import paths
from howdah.protocol.rpc.call import Caller
from howdah.runtime.units import date_text, duration_text

_MOST_REPLICATION: Final = (1 << 15) - 1
_LAST_ID: Final = (1 << 63) - 2


@dataclass(frozen=True, slots=True)
class Expiration:
    """From now on if it `is_relative`, else by the wall clock; in milliseconds."""

    millis: int
    is_relative: bool


@dataclass(frozen=True, slots=True)
class DirectiveInfo:
    """A directive as a request has it; None is what it does not say."""

    directive_id: int | None = None
    path: str | None = None
    replication: int | None = None
    pool: str | None = None
    expiration: Expiration | None = None


@dataclass(frozen=True, slots=True)
class PoolInfo:
    """The same of a pool."""

    name: str
    owner: str | None = None
    group: str | None = None
    mode: int | None = None
    limit_bytes: int | None = None
    max_relative_expiry_ms: int | None = None
    default_replication: int | None = None


@dataclass(frozen=True, slots=True)
class ListedDirective:
    directive: CacheDirective
    figures: CacheFigures
    has_expired: bool


@dataclass(frozen=True, slots=True)
class ListedPool:
    """Of a pool that the caller may not read, `figures` is None, and only the name is shown."""

    pool: CachePool
    figures: CacheFigures | None


class CacheCalls:
    """The operations. Each raises InvalidRequest for what makes no sense, AccessDenied,
    SafeMode. Those that go by statistics want them made anew before (`Caching.refreshed`)."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._pools = namesystem.namespace.caching

    # Pools.

    def add_pool(self, caller: Caller, info: PoolInfo) -> None:
        namesystem = self._namesystem
        who = self._superuser(caller, "add a cache pool")
        namesystem.safe_mode.check(f"Cannot add cache pool{info.name}")
        _check_pool(info)
        if self._pools.pool(info.name) is not None:
            raise errors.InvalidRequest(f"Cache pool {info.name} already exists.")
        group = info.group
        if group is None:
            if not who.groups:
                raise errors.RemoteError(f"There is no primary group for UGI {who.user}")
            group = who.groups[0]
        namesystem.commit(
            AddCachePoolOp(
                info.name,
                who.user if info.owner is None else info.owner,
                group,
                DEFAULT_MODE if info.mode is None else info.mode,
                UNLIMITED if info.limit_bytes is None else info.limit_bytes,
                _or(info.max_relative_expiry_ms, NEVER_MS),
                _or(info.default_replication, DEFAULT_REPLICATION),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )

    def modify_pool(self, caller: Caller, info: PoolInfo) -> None:
        namesystem = self._namesystem
        self._superuser(caller, "modify a cache pool")
        namesystem.safe_mode.check(f"Cannot modify cache pool{info.name}")
        _check_pool(info)
        if self._pools.pool(info.name) is None:
            raise errors.InvalidRequest(f"Cache pool {info.name} does not exist.")
        namesystem.commit(
            ModifyCachePoolOp(
                info.name,
                info.owner,
                info.group,
                info.mode,
                info.limit_bytes,
                info.max_relative_expiry_ms,
                info.default_replication,
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )

    def remove_pool(self, caller: Caller, name: str) -> None:
        namesystem = self._namesystem
        self._superuser(caller, "remove a cache pool")
        namesystem.safe_mode.check(f"Cannot remove cache pool{name}")
        _check_pool_name(name)
        if self._pools.pool(name) is None:
            raise errors.InvalidRequest(f"Cannot remove non-existent cache pool {name}")
        namesystem.commit(
            RemoveCachePoolOp(name, rpc_client_id=caller.client_id, rpc_call_id=caller.call_id)
        )

    def list_pools(self, caller: Caller, after: str) -> tuple[list[ListedPool], bool]:
        """Pools by name, and whether there are more."""
        namesystem = self._namesystem
        who = namesystem.identities.of(caller.user)
        pools = self._pools.pools_after(after)
        limit = namesystem.settings.cache_pools_limit
        shown = [
            ListedPool(
                pool,
                namesystem.caching.planner.of_pool(pool)
                if self._allows(who, pool, Access.READ)
                else None,
            )
            for pool in pools[:limit]
        ]
        return shown, len(pools) > limit

    # Directives.

    def add_directive(self, caller: Caller, info: DirectiveInfo, *, force: bool) -> int:
        """The id of the new directive."""
        namesystem = self._namesystem
        namesystem.safe_mode.check("Cannot add cache directive")
        if info.directive_id is not None:
            raise errors.RemoteError("addDirective: you cannot specify an ID for this operation.")
        who = namesystem.identities.of(caller.user)
        pool = self._pool(info.pool)
        self._check(who, pool, Access.WRITE)
        path = _path(info.path)
        replication = _replication(_or(info.replication, pool.default_replication))
        expiry_ms = self._expiry_ms(info.expiration, pool)
        if not force:
            self._check_limit(pool, path, replication)
        directive_id = self._pools.next_directive_id
        if directive_id >= _LAST_ID:
            raise errors.RemoteError("No more available IDs.")
        namesystem.commit(
            AddCacheDirectiveOp(
                directive_id,
                path,
                replication,
                pool.name,
                expiry_ms,
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )
        return directive_id

    def added(self, info: DirectiveInfo) -> int:
        """The answer to `add_directive` once more: the newest directive that fits. Raises
        InvalidRequest if it is gone since."""
        path = _path(info.path)
        ids = [
            directive.directive_id
            for directive in self._pools.directives_after(0)
            if (directive.path, directive.pool) == (path, info.pool)
        ]
        if not ids:
            raise errors.InvalidRequest(f"The directive for {path} is gone since.")
        return ids[-1]

    def modify_directive(self, caller: Caller, info: DirectiveInfo, *, force: bool) -> None:
        namesystem = self._namesystem
        namesystem.safe_mode.check("Cannot add cache directive")
        if info.directive_id is None:
            raise errors.InvalidRequest("Must supply an ID.")
        who = namesystem.identities.of(caller.user)
        known = self._directive(info.directive_id)
        source = self._pool(known.pool)
        self._check(who, source, Access.WRITE)
        path = None if info.path is None else _path(info.path)
        replication = None if info.replication is None else _replication(info.replication)
        target = source if info.pool is None else self._pool(info.pool)
        if target != source:
            self._check(who, target, Access.WRITE)
            if not force:
                self._check_limit(
                    target,
                    known.path if path is None else path,
                    known.replication if replication is None else replication,
                )
        unchanged = Expiration(known.expiry_ms, is_relative=False)
        expiry_ms = self._expiry_ms(info.expiration or unchanged, target)
        namesystem.commit(
            ModifyCacheDirectiveOp(
                info.directive_id,
                path,
                replication,
                info.pool,
                None if info.expiration is None else expiry_ms,
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )

    def remove_directive(self, caller: Caller, directive_id: int) -> None:
        namesystem = self._namesystem
        namesystem.safe_mode.check("Cannot remove cache directives")
        who = namesystem.identities.of(caller.user)
        known = self._directive(directive_id)
        self._check(who, self._pool(known.pool), Access.WRITE)
        namesystem.commit(
            RemoveCacheDirectiveOp(
                directive_id, rpc_client_id=caller.client_id, rpc_call_id=caller.call_id
            )
        )

    def list_directives(
        self, caller: Caller, after: int, only: DirectiveInfo
    ) -> tuple[list[ListedDirective], bool]:
        """Directives by id, of pools that the caller may read, and whether there are more."""
        namesystem = self._namesystem
        path = None if only.path is None else _path(only.path)
        if only.replication is not None:
            raise errors.InvalidRequest("Filtering by replication is unsupported.")
        if only.directive_id is not None:
            if self._pools.directive(only.directive_id) is None:
                raise errors.InvalidRequest(f"Did not find requested id {only.directive_id}")
            after = only.directive_id - 1
        who, now_ms = namesystem.identities.of(caller.user), namesystem.clock.wall_ms()
        limit = namesystem.settings.cache_directives_limit

        def fitting() -> Iterator[CacheDirective]:
            for directive in self._pools.directives_after(after):
                if only.directive_id not in (None, directive.directive_id):
                    return
                if only.pool in (None, directive.pool) and path in (None, directive.path):
                    pool = self._pools.pool(directive.pool)
                    if pool is not None and self._allows(who, pool, Access.READ):
                        yield directive

        page = list(islice(fitting(), limit + 1))
        shown = [
            ListedDirective(
                directive,
                namesystem.caching.planner.of_directive(directive),
                directive.expiry_ms < now_ms,
            )
            for directive in page[:limit]
        ]
        return shown, len(page) > limit

    # Checks.

    def _superuser(self, caller: Caller, action: str) -> Identity:
        who = self._namesystem.identities.of(caller.user)
        self._namesystem.permissions.check_superuser(who, action)
        return who

    def _pool(self, name: str | None) -> CachePool:
        if name is None:
            raise errors.InvalidRequest("No pool specified.")
        if not name:
            raise errors.InvalidRequest("Invalid empty pool name.")
        pool = self._pools.pool(name)
        if pool is None:
            raise errors.InvalidRequest(f"Unknown pool {name}")
        return pool

    def _directive(self, directive_id: int) -> CacheDirective:
        if directive_id <= 0:
            raise errors.InvalidRequest("Invalid negative ID.")
        directive = self._pools.directive(directive_id)
        if directive is None:
            raise errors.InvalidRequest(f"No directive with ID {directive_id} found.")
        return directive

    def _allows(self, who: Identity, pool: CachePool, access: Access) -> bool:
        if who.is_superuser or not self._namesystem.permissions.enabled:
            return True
        granted = pool.mode
        if who.user == pool.owner:
            granted >>= 6
        elif pool.group in who.groups:
            granted >>= 3
        return granted & access == access

    def _check(self, who: Identity, pool: CachePool, access: Access) -> None:
        if not self._allows(who, pool, access):
            raise errors.AccessDenied(
                f"Permission denied while accessing pool {pool.name}: user {who.user} does not "
                f"have {access.name} permissions."
            )

    def _check_limit(self, pool: CachePool, path: str, replication: int) -> None:
        if pool.limit_bytes == UNLIMITED:
            return
        namesystem = self._namesystem
        size = namesystem.caching.view.needed_bytes(path)
        left = pool.limit_bytes - namesystem.caching.planner.of_pool(pool).bytes_needed
        if size * replication > left:
            raise errors.InvalidRequest(
                f"Caching path {path} of size {size} bytes at replication {replication} would "
                f"exceed pool {pool.name}'s remaining capacity of {left} bytes."
            )

    def _expiry_ms(self, expiration: Expiration | None, pool: CachePool) -> int:
        """By the wall clock."""
        now_ms = self._namesystem.clock.wall_ms()
        if expiration is None:
            return now_ms + pool.max_relative_expiry_ms
        if expiration.millis < 0:
            raise errors.InvalidRequest(f"Cannot set a negative expiration: {expiration.millis}")
        absolute_ms = expiration.millis + (now_ms if expiration.is_relative else 0)
        relative_ms = absolute_ms - now_ms
        if relative_ms > NEVER_MS:
            raise errors.InvalidRequest(
                f"Expiration {_expiration_text(expiration)} is too far in the future!"
            )
        if relative_ms > pool.max_relative_expiry_ms:
            raise errors.InvalidRequest(
                f"Expiration {_expiration_text(expiration)} exceeds the max relative expiration "
                f"time of {pool.max_relative_expiry_ms} ms."
            )
        return absolute_ms


def _expiration_text(expiration: Expiration) -> str:
    if expiration.is_relative:
        return duration_text(expiration.millis)
    return date_text(expiration.millis)


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _path(path: str | None) -> str:
    if path is None:
        raise errors.InvalidRequest("No path specified.")
    if not paths.is_creatable(path):
        raise errors.InvalidRequest(f"Invalid path '{path}'.")
    return paths.join(paths.split(path))


def _replication(replication: int) -> int:
    if replication <= 0:
        raise errors.InvalidRequest(f"Invalid replication factor {replication} <= 0")
    if replication > _MOST_REPLICATION:
        raise errors.InvalidRequest(f"Invalid replication factor {replication}")
    return replication


def _check_pool(info: PoolInfo) -> None:
    if info.limit_bytes is not None and info.limit_bytes < 0:
        raise errors.InvalidRequest("Limit is negative.")
    if info.default_replication is not None:
        if info.default_replication < 0:
            raise errors.InvalidRequest("Default Replication is negative")
        if info.default_replication > _MOST_REPLICATION:
            raise errors.InvalidRequest("Default Replication is too big.")
    if info.max_relative_expiry_ms is not None:
        if info.max_relative_expiry_ms < 0:
            raise errors.InvalidRequest("Max relative expiry is negative.")
        if info.max_relative_expiry_ms > NEVER_MS:
            raise errors.InvalidRequest("Max relative expiry is too big.")
    if info.mode is not None and not 0 <= info.mode <= 0o1777:
        raise errors.InvalidRequest(f"Mode {info.mode:o} is none of a cache pool.")
    _check_pool_name(info.name)


def _check_pool_name(name: str) -> None:
    if not name:
        raise errors.RemoteError("invalid empty cache pool name")
