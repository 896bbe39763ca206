"""`howdah routeradmin`: the mount table of routers. Mirrors `hdfs dfsrouteradmin` (RouterAdmin):
commands, output and exit codes. Stack traces are not printed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config.value_types import parse_address, parse_decimal, parse_size
from howdah.runtime.units import byte_text

if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.router.administration import Administration
    from howdah.router.state.table.mount_table import Destination, MountEntry
    from howdah.router.state.table.quotas import Usage

FAILED: Final = 255

_ATTRIBUTES: Final = (
    "[-order HASH|LOCAL|RANDOM|HASH_ALL|SPACE] -owner <owner> -group <group> -mode <mode>"
)
_ONE: Final = f"<destination> [-readonly] [-faulttolerant] {_ATTRIBUTES}"
_EACH: Final = (
    "<destination{0}> [-readonly] [-faulttolerant] [-order HASH|LOCAL|RANDOM|HASH_ALL|SPACE] "
    "-owner <owner{0}> -group <group{0}> -mode <mode{0}>"
)
USAGE: Final = {
    "-add": f"[-add <source> <nameservice1, nameservice2, ...> {_ONE}]",
    "-addAll": (
        f"[-addAll <source1> <nameservice1,nameservice2,...> {_EACH.format(1)} , "
        f"<source2> <nameservice1,nameservice2,...> {_EACH.format(2)} , ...]"
    ),
    "-update": (
        "[-update <source> [<nameservice1, nameservice2, ...> <destination>] "
        f"[-readonly true|false] [-faulttolerant true|false] {_ATTRIBUTES}]"
    ),
    "-rm": "[-rm <source>]",
    "-ls": "[-ls [-d] <path>]",
    "-getDestination": "[-getDestination <path>]",
    "-setQuota": (
        "[-setQuota <path> -nsQuota <nsQuota> -ssQuota <quota in bytes or quota size string>]"
    ),
    "-setStorageTypeQuota": (
        "[-setStorageTypeQuota <path> -storageType <storage type> "
        "<quota in bytes or quota size string>]"
    ),
    "-clrQuota": "[-clrQuota <path>]",
    "-clrStorageTypeQuota": "[-clrStorageTypeQuota <path>]",
    "-dumpState": "[-dumpState]",
    "-safemode": "[-safemode enter | leave | get]",
    "-nameservice": "[-nameservice enable | disable <nameservice>]",
    "-getDisabledNameservices": "[-getDisabledNameservices]",
    "-refresh": "[-refresh]",
    "-refreshRouterArgs": "[-refreshRouterArgs <host:ipc_port> <key> [arg1..argn]]",
    "-refreshSuperUserGroupsConfiguration": "[-refreshSuperUserGroupsConfiguration]",
    "-refreshCallQueue": "[-refreshCallQueue]",
    "-initViewFsToMountTable": "[-initViewFsToMountTable <clusterName> | allClusters]",
}
_LEAST: Final = {
    "-add": 3,
    "-addAll": 3,
    "-refreshRouterArgs": 2,
    "-update": 2,
    "-rm": 1,
    "-getDestination": 1,
    "-setQuota": 3,
    "-clrQuota": 1,
    "-setStorageTypeQuota": 4,
    "-clrStorageTypeQuota": 1,
    "-safemode": 1,
    "-nameservice": 2,
    "-initViewFsToMountTable": 1,
}
_MOST: Final = {
    "-ls": (2, "Too many arguments, Max=2 argument allowed"),
    "-getDestination": (1, "Too many arguments, Max=1 argument allowed only"),
    "-safemode": (1, "Too many arguments, Max=1 argument allowed only"),
    "-nameservice": (2, "Too many arguments, Max=2 arguments allowed"),
    "-getDisabledNameservices": (0, "No arguments allowed"),
    "-dumpState": (0, "No arguments allowed"),
    "-initViewFsToMountTable": (1, "Too many arguments, Max=1 argument allowed"),
}


class BadArgument(Exception):
    """What cannot be understood; the usage follows."""


def main(argv: list[str], conf: Configuration) -> int:
    """One command; its exit code is 0, or 255 for what failed."""
    if not argv:
        print("Not enough parameters specified", file=sys.stderr)
        print(usage())
        return FAILED
    command, *rest = argv
    if len(rest) < _LEAST.get(command, 0):
        print(f"Not enough parameters specificed for cmd {command}", file=sys.stderr)
        print(usage(command))
        return FAILED
    try:
        return _run(command, rest, conf)
    except BadArgument as error:
        print(f"{command[1:]}: {error}", file=sys.stderr)
        print(usage(command))
    except errors.HowdahError as error:
        print(f"{command[1:]}: {error.message.splitlines()[0]}", file=sys.stderr)
    return FAILED


def usage(command: str | None = None) -> str:
    if command in USAGE:
        return f"\t{USAGE[command]}"
    return "Usage: howdah routeradmin :\n" + "\n".join(f"\t{line}" for line in USAGE.values())


def _run(command: str, words: list[str], conf: Configuration) -> int:
    from howdah.router.administration import Administration

    if command not in USAGE:
        raise BadArgument(f"Unknown Command: {command}")
    most, problem = _MOST.get(command, (len(words), ""))
    if len(words) > most:
        raise BadArgument(problem)
    if command == "-dumpState":
        return _dump(conf)
    if command == "-refreshRouterArgs":
        return _refresh_arguments(conf, words)
    administration = Administration(conf)
    try:
        if command == "-initViewFsToMountTable":
            from howdah.cli.router.viewfs_links import add_links

            return add_links(administration, words, conf)
        return _COMMANDS[command](administration, words)
    finally:
        administration.close()


def _dump(conf: Configuration) -> int:
    from howdah.router.administration import dumped_store

    for kind, records in dumped_store(conf):
        print(f"---- {kind} ----")
        for key, text in records:
            print(f"  {key}:")
            print("    " + text.replace("\n", "\n    "))
        print()
    return 0


# -- mount table ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Options:
    """What is to be set of an entry; None stays as it is."""

    readonly: bool | None = None
    faulttolerant: bool | None = None
    order: str | None = None
    owner: str | None = None
    group: str | None = None
    mode: int | None = None

    def applied(self, entry: MountEntry) -> MountEntry:
        from howdah.router.state.table.mount_table import Order

        return replace(
            entry,
            read_only=entry.read_only if self.readonly is None else self.readonly,
            fault_tolerant=(
                entry.fault_tolerant if self.faulttolerant is None else self.faulttolerant
            ),
            order=entry.order if self.order is None else Order[self.order],
            owner=entry.owner if self.owner is None else self.owner,
            group=entry.group if self.group is None else self.group,
            mode=entry.mode if self.mode is None else self.mode,
        )


def _options(words: list[str], *, flags_have_values: bool) -> _Options:
    """Raises BadArgument."""
    from howdah.router.state.table.mount_table import Order

    options = _Options()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-readonly", "-faulttolerant") and not flags_have_values:
            setattr(options, word[1:], True)
            continue
        if word not in ("-readonly", "-faulttolerant", "-order", "-owner", "-group", "-mode"):
            raise BadArgument(f"Unable to parse arguments: {word}")
        if not rest:
            raise BadArgument(f"Unable to parse arguments: no value provided for {word}")
        value = rest.pop(0)
        if word in ("-readonly", "-faulttolerant"):
            if value.lower() not in ("true", "false"):
                raise BadArgument(
                    f"Invalid argument: {value}. Please specify either true or false."
                )
            setattr(options, word[1:], value.lower() == "true")
        elif word == "-order":
            if value not in Order.__members__:
                raise BadArgument(f"Cannot parse order: {value}")
            options.order = value
        elif word == "-mode":
            try:
                if not re.fullmatch("[0-7]+", value):
                    raise ValueError(value)
                options.mode = int(value, 8)
            except ValueError as error:
                raise BadArgument(f"Cannot parse mode: {value}") from error
        else:
            setattr(options, word[1:], value)
    return options


def _destinations(nameservices: str, paths: str) -> tuple[Destination, ...]:
    from howdah.router.state.table.mount_table import Destination, normalised

    names, destinations = nameservices.split(","), paths.split(",")
    if len(destinations) == 1:
        destinations *= len(names)
    if len(destinations) != len(names):
        raise BadArgument(
            "Invalid namespaces and destinations. The number of destinations "
            f"{len(destinations)} is not matched with the number of namespaces {len(names)}"
        )
    pairs = zip(names, destinations, strict=True)
    return tuple(
        Destination(name.strip(), normalised(path) if path.startswith("/") else path)
        for name, path in pairs
    )


def _source(path: str) -> str:
    from howdah.router.state.table.mount_table import normalised

    return normalised(path) if path.startswith("/") else path


def _add(administration: Administration, words: list[str]) -> int:
    from howdah.router.state.table.mount_table import MountEntry

    source = _source(words[0])
    destinations = _destinations(words[1], words[2])
    options = _options(words[3:], flags_have_values=False)
    known = administration.entry(source)
    if known is None:
        entry = MountEntry(
            source, destinations, owner=administration.user, group=administration.group
        )
        done = administration.add(options.applied(entry))
        problem = "Cannot add mount point"
    else:
        new = tuple(
            destination for destination in destinations if destination not in known.destinations
        )
        entry = replace(known, destinations=(*known.destinations, *new))
        # As Hadoop's: what is not said is HASH, also of an entry that had another order.
        options.order = options.order or "HASH"
        done = administration.update(options.applied(entry))
        problem = "Cannot update mount point"
    if not done:
        print(f"{problem} {source}", file=sys.stderr)
        return FAILED
    print(f"Successfully added mount point {words[0]}")
    return 0


def _add_all(administration: Administration, words: list[str]) -> int:
    from howdah.router.state.table.mount_table import MountEntry

    entries: dict[str, MountEntry] = {}
    rest = [*words, ","]
    while rest:
        end = rest.index(",")
        one, rest = rest[:end], rest[end + 1 :]
        if len(one) < 3:
            raise BadArgument(f"Unable to parse arguments: {' '.join(one)}")
        entry = MountEntry(
            _source(one[0]),
            _destinations(one[1], one[2]),
            owner=administration.user,
            group=administration.group,
        )
        if entry.source in entries:
            print(f"Multiple inputs for mount: {entry.source}", file=sys.stderr)
            return FAILED
        entries[entry.source] = _options(one[3:], flags_have_values=False).applied(entry)
    failed = administration.add_all(list(entries.values()))
    if failed:
        print(f"Cannot add mount points: [{', '.join(failed)}]", file=sys.stderr)
        return FAILED
    print("Successfully added all mount points ")
    return 0


def _update(administration: Administration, words: list[str]) -> int:
    source = _source(words[0])
    entry = administration.entry(source)
    if entry is None:
        raise BadArgument(f"{source} doesn't exist.")
    rest = words[1:]
    if not rest[0].startswith("-"):
        if len(rest) < 2:
            raise BadArgument("Unable to parse arguments: no destination")
        entry = replace(entry, destinations=_destinations(rest[0], rest[1]))
        rest = rest[2:]
    entry = _options(rest, flags_have_values=True).applied(entry)
    if not administration.update(entry):
        print(f"Cannot update mount point {source}", file=sys.stderr)
        return FAILED
    print(f"Successfully updated mount point {words[0]}")
    print("WARN: Changing order/destinations may lead to inconsistencies")
    return 0


def _remove(administration: Administration, words: list[str]) -> int:
    code = 0
    for word in words:
        try:
            if administration.remove(_source(word)):
                print(f"Successfully removed mount point {word}")
            else:
                print(f"Cannot remove mount point {_source(word)}")
        except errors.HowdahError as error:
            print(f"rm: {error.message.splitlines()[0]}", file=sys.stderr)
            code = FAILED
    return code


def _list(administration: Administration, words: list[str]) -> int:
    detailed = words[:1] == ["-d"]
    paths = words[1:] if detailed else words
    if len(paths) > 1:
        raise BadArgument("Too many arguments, Max=2 argument allowed")
    entries = administration.entries(_source(paths[0]) if paths else "/")
    print("Mount Table Entries:")
    titles = ["Source", "Destinations", "Owner", "Group", "Mode", "Quota/Usage"]
    more = ["Order", "ReadOnly", "FaultTolerant"]
    print(_row(titles + more * detailed))
    for entry, usage in entries:
        cells = [
            entry.source,
            ",".join(map(str, entry.destinations)),
            entry.owner,
            entry.group,
            _mode_text(entry.mode),
            _quota_text(entry, usage),
        ]
        if detailed:
            cells += [
                entry.order.name,
                "Read-Only" * entry.read_only,
                "Fault-Tolerant" * entry.fault_tolerant,
            ]
        print(_row(cells))
    return 0


_WIDTHS: Final = (25, 25, 25, 25, 10, 30, 10, 10, 15)


def _row(cells: list[str]) -> str:
    return " ".join(f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=False))


def _mode_text(mode: int) -> str:
    bits = "".join("rwx"[i % 3] if mode >> (8 - i) & 1 else "-" for i in range(9))
    if mode & 0o1000:
        bits = bits[:8] + ("t" if mode & 1 else "T")
    return bits


def _quota_text(entry: MountEntry, usage: Usage) -> str:
    quota = entry.quota
    names, used_names, space, used_space = "-", "-", "-", "-"
    if quota.names != -1:
        names, used_names = str(quota.names), str(usage.names)
    if quota.space_bytes != -1:
        space, used_space = byte_text(quota.space_bytes), byte_text(usage.space_bytes)
    return f"[NsQuota: {names}/{used_names}, SsQuota: {space}/{used_space}]"


def _get_destination(administration: Administration, words: list[str]) -> int:
    print(f"Destination: {','.join(administration.destinations(_source(words[0])))}")
    return 0


def _set_quota(administration: Administration, words: list[str]) -> int:
    from howdah.router.state.table.mount_table import Quota

    path, *rest = words
    names: int | None = None
    space: int | None = None
    while rest:
        option = rest.pop(0)
        if option not in ("-nsQuota", "-ssQuota"):
            raise BadArgument(f"Invalid argument : {option}")
        value = rest.pop(0) if rest else ""
        try:
            if option == "-nsQuota":
                names = parse_decimal(value)
            else:
                space = parse_size(value)
        except ValueError as error:
            raise BadArgument(f"Cannot parse {option[1:]}: {value}") from error
    if (names is not None and names <= 0) or (space is not None and space <= 0):
        raise BadArgument("Input quota value should be a positive number.")
    if names is None and space is None:
        raise BadArgument("Must specify at least one of -nsQuota and -ssQuota.")
    entry = _existing(administration, path)
    quota = Quota(
        entry.quota.names if names is None else names,
        entry.quota.space_bytes if space is None else space,
        entry.quota.by_type,
    )
    if not administration.update(replace(entry, quota=quota)):
        return FAILED
    print(f"Successfully set quota for mount point {path}")
    return 0


def _clear_quota(administration: Administration, words: list[str]) -> int:
    """Those of storage types stay."""
    from howdah.router.state.table.mount_table import Quota

    for path in words:
        entry = _existing(administration, path)
        quota = Quota(by_type=entry.quota.by_type)
        if not administration.update(replace(entry, quota=quota)):
            return FAILED
        print(f"Successfully clear quota for mount point {path}")
    return 0


def _set_type_quota(administration: Administration, words: list[str]) -> int:
    from howdah.protocol.data_transfer.blocks import StorageType

    path, option, named, value, *more = words
    if option != "-storageType" or more:
        raise BadArgument(f"Invalid argument : {' '.join(more) or option}")
    kinds = [kind.name for kind in StorageType if kind is not StorageType.RAM_DISK]
    if named.upper() not in kinds:
        raise BadArgument(f"{named} is no storage type with a quota: there are {', '.join(kinds)}")
    try:
        limit = parse_size(value)
    except ValueError as error:
        raise BadArgument(f"Cannot parse the quota: {value}") from error
    if limit <= 0:
        raise BadArgument("Input quota value should be a positive number.")
    entry = administration.entry(_source(path))
    if entry is None:
        raise BadArgument(f"{path} doesn't exist in mount table.")
    quota = entry.quota.with_type(StorageType[named.upper()], limit)
    if not administration.update(replace(entry, quota=quota)):
        return FAILED
    print(f"Successfully set storage type quota for mount point {path}")
    return 0


def _clear_type_quota(administration: Administration, words: list[str]) -> int:
    for path in words:
        entry = _existing(administration, path)
        if not administration.update(replace(entry, quota=replace(entry.quota, by_type=()))):
            return FAILED
        print(f"Successfully clear storage type quota for mount point {path}")
    return 0


def _existing(administration: Administration, path: str) -> MountEntry:
    entry = administration.entry(_source(path))
    if entry is None:
        raise errors.RemoteError(f"{path} doesn't exist in mount table.")
    return entry


# -- the router ----------------------------------------------------------------------------


def _safe_mode(administration: Administration, words: list[str]) -> int:
    match words[0]:
        case "enter":
            if administration.enter_safe_mode():
                print("Successfully enter safe mode.")
        case "leave":
            if administration.leave_safe_mode():
                print("Successfully leave safe mode.")
        case "get":
            print(f"Safe Mode: {str(administration.is_in_safe_mode()).lower()}")
        case other:
            raise BadArgument(f"Invalid argument: {other}")
    return 0


def _nameservice(administration: Administration, words: list[str]) -> int:
    action, name = words
    if action not in ("enable", "disable"):
        raise BadArgument(f"Unknown command: {action}")
    done = administration.enable(name) if action == "enable" else administration.disable(name)
    if done:
        print(f"Successfully {action}d nameservice {name}")
    else:
        print(f"Cannot {action} {name}", file=sys.stderr)
    return 0


def _disabled(administration: Administration, words: list[str]) -> int:
    print("List of disabled nameservices:")
    for name in administration.disabled():
        print(name)
    return 0


def _refresh(administration: Administration, words: list[str]) -> int:
    if administration.refresh():
        print(f"Successfully updated mount table cache on router {administration.location}")
    return 0


def _refresh_super_user_groups(administration: Administration, words: list[str]) -> int:
    if not administration.refresh_super_user_groups():
        return FAILED
    print(f"Successfully updated superuser proxy groups on router {administration.location}")
    return 0


def _refresh_call_queue(administration: Administration, words: list[str]) -> int:
    try:
        administration.refresh_call_queue()
    except errors.HowdahError as error:
        # Hadoop's keeps the reason to itself.
        print(f"refreshCallQueue: {error.message.splitlines()[0]}", file=sys.stderr)
        print(f"Refresh call queue unsuccessfully for {administration.location}")
        return FAILED
    print(f"Refresh call queue successfully for {administration.location}")
    return 0


def _refresh_arguments(conf: Configuration, words: list[str]) -> int:
    from howdah.router.administration import generic_refresh
    from howdah.security.identity import user_of

    place, identifier, *arguments = words
    try:
        address = parse_address(place)
    except ValueError as error:
        raise BadArgument(f"Cannot parse {place}: {error}") from error
    answers = generic_refresh(address, identifier, arguments, user_of(conf))
    print("Refresh Responses:\n")
    for answer in answers:
        print(answer)
    # Of several handlers that fail the code is that of no one of them.
    codes = [answer.code for answer in answers if answer.code]
    return (codes[0] & 255 if len(codes) == 1 else FAILED) if codes else 0


_COMMANDS: Final[dict[str, Callable[[Administration, list[str]], int]]] = {
    "-add": _add,
    "-addAll": _add_all,
    "-update": _update,
    "-rm": _remove,
    "-ls": _list,
    "-getDestination": _get_destination,
    "-setQuota": _set_quota,
    "-clrQuota": _clear_quota,
    "-setStorageTypeQuota": _set_type_quota,
    "-clrStorageTypeQuota": _clear_type_quota,
    "-safemode": _safe_mode,
    "-nameservice": _nameservice,
    "-getDisabledNameservices": _disabled,
    "-refresh": _refresh,
    "-refreshSuperUserGroupsConfiguration": _refresh_super_user_groups,
    "-refreshCallQueue": _refresh_call_queue,
}
