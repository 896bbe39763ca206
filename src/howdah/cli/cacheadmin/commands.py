"""The commands: what each takes, what it asks of the namenode, and what it prints."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.cli.arguments.admin_commands import (
    EXIT_FAILURE,
    Command,
    Nonsense,
    Words,
    Wrong,
    checked_path,
    complain,
    connected,
    error_text,
    number_of,
    usage_of,
)
from howdah.cli.arguments.tables import LINE_WIDTH, described, table
from howdah.cli.cacheadmin.args import ttl_ms_of
from howdah.config import Configuration
from howdah.fs.hdfs.caching import NEVER_MS, UNLIMITED_BYTES, CacheDirective, CachePool
from howdah.runtime.units import date_text, duration_text

_TTL: Final = (
    "How long the directive is valid. Can be specified in minutes, hours, and days, e.g. 30m, 4h, "
    '2d. Valid units are [smhd]. "never" indicates a directive that never expires.'
)
_PATH: Final = "A path to cache. The path can be a directory or a file."
_FORCE: Final = "Skips checking of cache pool resource limits."
_POOL_OPTIONS: Final = (
    "<name> [-owner <owner>] [-group <group>] [-mode <mode>] [-limit <limit>] "
    "[-defaultReplication <defaultReplication>] [-maxTtl <maxTtl>]"
)


def _command(
    name: str,
    options: str,
    about: str,
    meanings: tuple[tuple[str, str], ...],
    run: Callable[[Words, Configuration], int],
) -> Command:
    about = "\n".join(textwrap.wrap(about, LINE_WIDTH))
    words = described(meanings) if meanings else "<name>  Name of the cache pool to remove.\n"
    return Command(name, options, f"{usage_of(name, options)}\n\n{about}\n\n{words}", run)


# Directives.


def _add_directive(words: Words, conf: Configuration) -> int:
    path = words.value("-path")
    if path is None:
        raise Wrong("You must specify a path with -path.")
    checked_path(path)
    pool = words.value("-pool")
    if pool is None:
        raise Wrong("You must specify a pool name with -pool.")
    force = words.flag("-force")
    replication = words.number("-replication", 16)
    ttl_ms = ttl_ms_of(words, "-ttl")
    words.none_left()
    with connected(conf, path) as fs:
        number = fs.add_cache_directive(
            path, pool, replication=replication, ttl_ms=ttl_ms, force=force
        )
    print(f"Added cache directive {number}")
    return 0


def _modify_directive(words: Words, conf: Configuration) -> int:
    number = words.value("-id")
    if number is None:
        raise Wrong("You must specify a directive ID with -id.")
    directive_id = number_of(number)
    path = words.value("-path")
    if path is not None:
        checked_path(path)
    force = words.flag("-force")
    replication = words.number("-replication", 16)
    pool = words.value("-pool")
    ttl_ms = ttl_ms_of(words, "-ttl")
    words.none_left(_MODIFY_DIRECTIVE.usage)
    if path is None and replication is None and pool is None and ttl_ms is None:
        raise Wrong("No modifications were specified.")
    with connected(conf) as fs:
        fs.modify_cache_directive(
            directive_id,
            path=path,
            pool=pool,
            replication=replication,
            ttl_ms=ttl_ms,
            force=force,
        )
    print(f"Modified cache directive {number}")
    return 0


def _remove_directive(words: Words, conf: Configuration) -> int:
    text = words.pop_argument()
    if text is None:
        raise Wrong("You must specify a directive ID to remove.")
    try:
        directive_id = number_of(text)
    except Nonsense:
        raise Wrong(f"Invalid directive ID {text}: expected a numeric value.") from None
    if directive_id <= 0:
        raise Wrong(f"Invalid directive ID {directive_id}: ids must be greater than 0.")
    words.none_left(_REMOVE_DIRECTIVE.usage)
    with connected(conf) as fs:
        fs.remove_cache_directive(directive_id)
    print(f"Removed cached directive {directive_id}")
    return 0


def _remove_directives(words: Words, conf: Configuration) -> int:
    path = words.value("-path")
    if path is None:
        raise Wrong("You must specify a path with -path.")
    words.none_left(_REMOVE_DIRECTIVES.usage)
    exit_code = 0
    with connected(conf, path) as fs:
        for directive in fs.list_cache_directives(path=checked_path(path)):
            try:
                fs.remove_cache_directive(directive.directive_id)
            except errors.HowdahError as error:
                complain(error_text(error))
                exit_code = EXIT_FAILURE
            else:
                print(f"Removed cache directive {directive.directive_id}")
    if exit_code == 0:
        print(f"Removed every cache directive with path {path}")
    return exit_code


def _list_directives(words: Words, conf: Configuration) -> int:
    path = words.value("-path")
    if path is not None:
        checked_path(path)
    pool = words.value("-pool")
    stats = words.flag("-stats")
    directive_id = words.number("-id")
    words.none_left()
    columns = [("ID", True), ("POOL", False), ("REPL", True), ("EXPIRY", False), ("PATH", False)]
    if stats:
        columns += [
            (title, True)
            for title in ("BYTES_NEEDED", "BYTES_CACHED", "FILES_NEEDED", "FILES_CACHED")
        ]
    with connected(conf) as fs:
        try:
            directives = fs.list_cache_directives(path=path, pool=pool, directive_id=directive_id)
        except errors.InvalidRequest as error:
            # Java's client does not unwrap what a listing meets.
            complain(f"RemoteException: {error.message}")
            return EXIT_FAILURE
    print(f"Found {len(directives)} entr{'y' if len(directives) == 1 else 'ies'}")
    if directives:
        print(
            table(columns, [_directive_row(directive, stats=stats) for directive in directives]),
            end="",
        )
    return 0


def _directive_row(directive: CacheDirective, *, stats: bool) -> list[str]:
    row = [
        str(directive.directive_id),
        directive.pool,
        str(directive.replication),
        "never" if directive.never_expires else date_text(directive.expiry_ms),
        directive.path,
    ]
    figures = directive.statistics
    if stats:
        row += [
            str(figures.bytes_needed),
            str(figures.bytes_cached),
            str(figures.files_needed),
            str(figures.files_cached),
        ]
    return row


# Pools.


def _limit_bytes(words: Words) -> int | None:
    text = words.value("-limit")
    if text is None:
        return None
    return UNLIMITED_BYTES if text.lower() == "unlimited" else number_of(text)


def _mode(words: Words, bits: int) -> int | None:
    text = words.value("-mode")
    return None if text is None else number_of(text, bits, 8)


def _add_pool(words: Words, conf: Configuration) -> int:
    name = words.pop_argument()
    if name is None:
        raise Wrong("You must specify a name when creating a cache pool.")
    owner, group = words.value("-owner"), words.value("-group")
    mode = _mode(words, 16)
    limit_bytes = _limit_bytes(words)
    replication = words.number("-defaultReplication", 16)
    max_ttl_ms = ttl_ms_of(words, "-maxTtl")
    words.none_left(_ADD_POOL.usage, all_of_them=True)
    with connected(conf) as fs:
        fs.add_cache_pool(
            name,
            owner=owner,
            group=group,
            mode=mode,
            limit_bytes=limit_bytes,
            max_ttl_ms=max_ttl_ms,
            default_replication=replication,
        )
    print(f"Successfully added cache pool {name}.")
    return 0


def _modify_pool(words: Words, conf: Configuration) -> int:
    owner, group = words.value("-owner"), words.value("-group")
    mode = _mode(words, 32)
    limit_bytes = _limit_bytes(words)
    replication = words.number("-defaultReplication", 16)
    ttl_text = next(
        (b for a, b in zip(words.left, words.left[1:], strict=False) if a == "-maxTtl"), ""
    )
    max_ttl_ms = ttl_ms_of(words, "-maxTtl")
    name = words.pop_argument()
    if name is None:
        raise Wrong("You must specify a name when creating a cache pool.")
    words.none_left(_MODIFY_POOL.usage, all_of_them=True)
    changes = [
        f"{attribute} {value}"
        for attribute, value in (
            ("owner name", owner),
            ("group name", group),
            ("mode", None if mode is None else _rwx(mode)),
            ("limit", limit_bytes),
            ("replication", replication),
            ("max time-to-live", None if max_ttl_ms is None else ttl_text),
        )
        if value is not None
    ]
    if not changes:
        raise Wrong("You must specify at least one attribute to change in the cache pool.")
    with connected(conf) as fs:
        fs.modify_cache_pool(
            name,
            owner=owner,
            group=group,
            mode=mode,
            limit_bytes=limit_bytes,
            max_ttl_ms=max_ttl_ms,
            default_replication=replication,
        )
    print(f"Successfully modified cache pool {name} to have {' and '.join(changes)}")
    return 0


def _rwx(mode: int) -> str:
    digits = [mode >> 6 & 7, mode >> 3 & 7, mode & 7]
    text = "".join(
        letter if digit & bit else "-"
        for digit in digits
        for letter, bit in (("r", 4), ("w", 2), ("x", 1))
    )
    if mode & 0o1000:
        text = text[:-1] + ("t" if mode & 1 else "T")
    return text


def _remove_pool(words: Words, conf: Configuration) -> int:
    name = words.pop_argument()
    if name is None:
        raise Wrong("You must specify a name when deleting a cache pool.")
    words.none_left(_REMOVE_POOL.usage, all_of_them=True)
    with connected(conf) as fs:
        fs.remove_cache_pool(name)
    print(f"Successfully removed cache pool {name}.")
    return 0


def _list_pools(words: Words, conf: Configuration) -> int:
    name = words.pop_argument()
    stats = words.flag("-stats")
    words.none_left(_LIST_POOLS.usage, all_of_them=True)
    columns = [("NAME", False), ("OWNER", False), ("GROUP", False), ("MODE", False)]
    columns += [("LIMIT", True), ("MAXTTL", True), ("DEFAULT_REPLICATION", True)]
    if stats:
        columns += [
            (title, True)
            for title in (
                "BYTES_NEEDED",
                "BYTES_CACHED",
                "BYTES_OVERLIMIT",
                "FILES_NEEDED",
                "FILES_CACHED",
            )
        ]
    with connected(conf) as fs:
        pools = [pool for pool in fs.list_cache_pools() if name in (None, pool.name)]
    print(f"Found {len(pools)} result{'' if len(pools) == 1 else 's'}.")
    if pools:
        print(table(columns, [_pool_row(pool, stats=stats) for pool in pools]), end="")
    return 0


def _pool_row(pool: CachePool, *, stats: bool) -> list[str | None]:
    limit = "null" if pool.limit_bytes is None else str(pool.limit_bytes)
    ttl = None if pool.max_ttl_ms is None else duration_text(pool.max_ttl_ms)
    row: list[str | None] = [
        pool.name,
        pool.owner,
        pool.group,
        None if pool.mode is None else _rwx(pool.mode),
        "unlimited" if pool.limit_bytes == UNLIMITED_BYTES else limit,
        "never" if pool.max_ttl_ms == NEVER_MS else ttl,
        None if pool.default_replication is None else str(pool.default_replication),
    ]
    figures = pool.statistics
    if stats:
        row += [
            str(figures.bytes_needed),
            str(figures.bytes_cached),
            str(figures.bytes_over_limit),
            str(figures.files_needed),
            str(figures.files_cached),
        ]
    return row


_ADD_DIRECTIVE: Final = _command(
    "-addDirective",
    "-path <path> -pool <pool-name> [-force] [-replication <replication>] [-ttl <time-to-live>]",
    "Add a new cache directive.",
    (
        ("<path>", _PATH),
        (
            "<pool-name>",
            "The pool to which the directive will be added. You must have write permission on the "
            "cache pool in order to add new directives.",
        ),
        ("-force", _FORCE),
        ("<replication>", "The cache replication factor to use. Defaults to 1."),
        ("<time-to-live>", _TTL + " If unspecified, the directive never expires."),
    ),
    _add_directive,
)
_MODIFY_DIRECTIVE: Final = _command(
    "-modifyDirective",
    "-id <id> [-path <path>] [-force] [-replication <replication>] [-pool <pool-name>] "
    "[-ttl <time-to-live>]",
    "Modify a cache directive.",
    (
        ("<id>", "The ID of the directive to modify (required)"),
        ("<path>", _PATH + " (optional)"),
        ("-force", _FORCE),
        ("<replication>", "The cache replication factor to use. (optional)"),
        (
            "<pool-name>",
            "The pool to which the directive will be added. You must have write permission on the "
            "cache pool in order to move a directive into it. (optional)",
        ),
        ("<time-to-live>", _TTL),
    ),
    _modify_directive,
)
_LIST_DIRECTIVES: Final = _command(
    "-listDirectives",
    "[-stats] [-path <path>] [-pool <pool>] [-id <id>]",
    "List cache directives.",
    (
        ("-stats", "List path-based cache directive statistics."),
        (
            "<path>",
            "List only cache directives with this path. Note that if there is a cache directive "
            "for <path> in a cache pool that we don't have read access for, it will not be listed.",
        ),
        ("<pool>", "List only path cache directives in that pool."),
        ("<id>", "List the cache directive with this id."),
    ),
    _list_directives,
)
_REMOVE_DIRECTIVE: Final = _command(
    "-removeDirective",
    "<id>",
    "Remove a cache directive.",
    (
        (
            "<id>",
            "The id of the cache directive to remove.  You must have write permission on the pool "
            "of the directive in order to remove it.  To see a list of cache directive IDs, use "
            "the -listDirectives command.",
        ),
    ),
    _remove_directive,
)
_REMOVE_DIRECTIVES: Final = _command(
    "-removeDirectives",
    "-path <path>",
    "Remove every cache directive with the specified path.",
    (
        (
            "-path <path>",
            "The path of the cache directives to remove.  You must have write permission on the "
            "pool of the directive in order to remove it.  To see a list of cache directives, use "
            "the -listDirectives command.",
        ),
    ),
    _remove_directives,
)
_ADD_POOL: Final = _command(
    "-addPool",
    _POOL_OPTIONS,
    "Add a new cache pool.",
    (
        ("<name>", "Name of the new pool."),
        ("<owner>", "Username of the owner of the pool. Defaults to the current user."),
        ("<group>", "Group of the pool. Defaults to the primary group name of the current user."),
        (
            "<mode>",
            "UNIX-style permissions for the pool. Permissions are specified in octal, e.g. 0755. "
            "By default, this is set to 0755.",
        ),
        (
            "<limit>",
            "The maximum number of bytes that can be cached by directives in this pool, in "
            "aggregate. By default, no limit is set.",
        ),
        (
            "<defaultReplication>",
            "The default replication number for cache directive in the pool. If not set, the "
            "replication is set to 1",
        ),
        (
            "<maxTtl>",
            "The maximum allowed time-to-live for directives being added to the pool. This can be "
            "specified in seconds, minutes, hours, and days, e.g. 120s, 30m, 4h, 2d. Valid units "
            'are [smhd]. By default, no maximum is set. A value of "never" specifies that there '
            "is no limit.",
        ),
    ),
    _add_pool,
)
_MODIFY_POOL: Final = _command(
    "-modifyPool",
    _POOL_OPTIONS,
    "Modifies the metadata of an existing cache pool. See usage of -addPool for more details.",
    (
        ("<name>", "Name of the pool to modify."),
        ("<owner>", "Username of the owner of the pool"),
        ("<group>", "Groupname of the group of the pool."),
        ("<mode>", "Unix-style permissions of the pool in octal."),
        ("<limit>", "Maximum number of bytes that can be cached by this pool."),
        ("<defaultReplication>", "Default replication num for directives in this pool"),
        (
            "<maxTtl>",
            "The maximum allowed time-to-live for directives being added to the pool.",
        ),
    ),
    _modify_pool,
)
_REMOVE_POOL: Final = _command(
    "-removePool",
    "<name>",
    "Remove a cache pool. This also uncaches paths associated with the pool.",
    (),
    _remove_pool,
)
_LIST_POOLS: Final = _command(
    "-listPools",
    "[-stats] [<name>]",
    "Display information about one or more cache pools, e.g. name, owner, group, permissions, etc.",
    (
        ("-stats", "Display additional cache pool statistics."),
        ("<name>", "If specified, list only the named cache pool."),
    ),
    _list_pools,
)
COMMANDS: Final = (
    _ADD_DIRECTIVE,
    _MODIFY_DIRECTIVE,
    _LIST_DIRECTIVES,
    _REMOVE_DIRECTIVE,
    _REMOVE_DIRECTIVES,
    _ADD_POOL,
    _MODIFY_POOL,
    _REMOVE_POOL,
    _LIST_POOLS,
)
