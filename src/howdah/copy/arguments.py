"""The arguments of `distcp`, read as Hadoop's OptionsParser reads them (pure).

An option has one hyphen or two, and its value in the next word or after an equals sign; a
one-letter option may have the value right behind it (`-pugp`, `-m20`). `-p` alone stands for
`-prbugpct`. Options end at the first path. (FsShell's options are `cli.dfs`'; its rules differ.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from howdah.config.value_types import parse_decimal, parse_real
from howdah.copy.options import DEFAULT_LETTERS, InvalidOptions, Options, Strategy, attributes


@dataclass(frozen=True, slots=True)
class Arguments:
    """A command line. `sources` is empty if `-f` names a list."""

    sources: tuple[str, ...]
    target: str
    options: Options
    runs_in_background: bool = False
    master: str | None = None
    remote: str | None = None
    as_json: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Option:
    help: str
    values: int = 0
    value: str = ""


OPTIONS: Final = {
    "append": _Option("add to files of the target what the source's have more (with -update)"),
    "async": _Option("return at once, and copy in the background"),
    "atomic": _Option("give the whole copy its name in one step; the target may not exist"),
    "bandwidth": _Option("at most so many MiB a second for each task", 1, "MB"),
    "blocksperchunk": _Option("copy files with more blocks in parallel parts", 1, "N"),
    "copybuffersize": _Option("bytes that are read at once (4194304)", 1, "BYTES"),
    "delete": _Option("delete what only the target has (with -update or -overwrite)"),
    "diff": _Option("copy what changed from one snapshot of the source to another", 2, "OLD NEW"),
    "direct": _Option("write to the final names, without temporary ones"),
    "f": _Option("take the sources from a file with one in each line", 1, "URI"),
    "filelimit": _Option("(deprecated, has no effect)", 1, "N"),
    "filters": _Option("leave out paths that match a pattern of this file", 1, "FILE"),
    "i": _Option("go on when files cannot be read"),
    "log": _Option("write what was skipped and what failed to this directory", 1, "URI"),
    "m": _Option("at most so many tasks (20)", 1, "N"),
    "numListstatusThreads": _Option("directories that a task lists at a time", 1, "N"),
    "overwrite": _Option("replace the target's files, whatever they are"),
    "p": _Option(
        "preserve replication, block size, user, group, permission, checksum type, ACL, "
        "extended attributes, times, erasure coding policy; alone: rbugpct",
        1,
        "rbugpcaxte",
    ),
    "rdiff": _Option("undo what changed at the target between two snapshots", 2, "NEW OLD"),
    "sizelimit": _Option("(deprecated, has no effect)", 1, "N"),
    "skipcrccheck": _Option("compare and verify without checksums"),
    "strategy": _Option("uniformsize (default) or dynamic", 1, "NAME"),
    "tmp": _Option("where an atomic copy is made before it gets its name", 1, "DIR"),
    "update": _Option("copy only what has changed"),
    "updateRoot": _Option("give the target itself the source's attributes, too"),
    "useiterator": _Option("list with one thread for each task"),
    "v": _Option("log each file with size and reason (with -log)"),
    "xtrack": _Option("write what only the target has to this directory", 1, "URI"),
    "skipTrash": _Option("with -delete: don't move to the trash"),
    "dry-run": _Option("change nothing, print what would be done"),
    "no-locality": _Option("let any node copy any file, wherever replicas are"),
    "json": _Option("print the outcome as JSON"),
    "master": _Option("the Spark that copies (local[*])", 1, "URL"),
    "remote": _Option("the same by Spark Connect", 1, "URL"),
}
_ONE_LETTER: Final = tuple(name for name in OPTIONS if len(name) == 1)


def parse(words: Sequence[str]) -> Arguments:
    """Parse a command line. Raises InvalidOptions, in Hadoop's words where Hadoop refuses."""
    given, rest = _split(words)
    if not rest:
        raise InvalidOptions("Target path not specified")
    *sources, target = (word.strip() for word in rest)
    for word in rest:
        if word.startswith("-"):
            raise InvalidOptions(f"Options go before the paths: {word}")
    if "f" in given and sources:
        raise InvalidOptions("Both source file listing and source paths present")
    if "f" not in given and not sources:
        raise InvalidOptions("Neither source file listing nor source paths present")
    return Arguments(
        sources=tuple(sources),
        target=target,
        options=_options(given),
        runs_in_background="async" in given,
        master=_one(given, "master"),
        remote=_one(given, "remote"),
        as_json="json" in given,
        notes=_deprecated(given),
    )


def usage() -> str:
    """The options, each with its help."""
    lines = ["Usage: howdah distcp OPTIONS [source_path...] <target_path>", "", "OPTIONS"]
    for name, option in OPTIONS.items():
        hyphens = "--" if name in ("dry-run", "json", "master", "no-locality", "remote") else "-"
        lines.append(f"  {hyphens}{name} {option.value}".ljust(32) + option.help)
    return "\n".join(lines)


_Given = dict[str, list[str]]


def _split(words: Sequence[str]) -> tuple[_Given, list[str]]:
    """The options with their values, and the paths."""
    given: _Given = {}
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--"):
        name, value = _name(rest.pop(0))
        option = OPTIONS[name]
        if name == "p" and value is None:
            value = DEFAULT_LETTERS
        values = [] if value is None else [value]
        while len(values) < option.values:
            if not rest:
                raise InvalidOptions(f"Missing argument for option: {name}")
            values.append(rest.pop(0))
        if len(values) > option.values:
            raise InvalidOptions(f"Option {name} takes no value")
        given[name] = [value.strip() for value in values]
    if rest and rest[0] == "--":
        rest.pop(0)
    return given, rest


def _name(word: str) -> tuple[str, str | None]:
    """The name of an option, and the value if it is in the same word."""
    bare = word.removeprefix("-").removeprefix("-")
    if bare in OPTIONS:
        return bare, None
    name, equals, value = bare.partition("=")
    if equals and name in OPTIONS:
        return name, value
    if bare[:1] in _ONE_LETTER and not word.startswith("--"):
        return bare[0], bare[1:]
    raise InvalidOptions(f"Unrecognized option: {word}")


def _options(given: _Given) -> Options:
    number = _number(given)
    values: dict[str, Any] = {
        "preserve": attributes(_one(given, "p") or ""),
        "strategy": Strategy.of(_one(given, "strategy") or ""),
        "max_maps": number("m", parse_decimal, 20, "Number of maps is invalid: "),
        "bandwidth_mb": number("bandwidth", parse_real, None, "Bandwidth specified is invalid: "),
        "buffer_bytes": number("copybuffersize", parse_decimal, 0, "copyBufferSize is invalid: "),
        "blocks_per_chunk": max(
            number("blocksperchunk", parse_decimal, 0, "blocksPerChunk is invalid: "), 0
        ),
        "list_threads": number(
            "numListstatusThreads", parse_decimal, 1, "Number of liststatus threads is invalid: "
        ),
        "work_path": _one(given, "tmp"),
        "source_listing": _one(given, "f"),
        "filters_file": _one(given, "filters"),
        "track_path": _one(given, "xtrack"),
        "log_path": _one(given, "log"),
        "diff": _pair(given, "diff"),
        "reverse_diff": _pair(given, "rdiff"),
    }
    for name, field in _FLAGS.items():
        values[field] = name in given
    values["locality"] = False if "no-locality" in given else None
    return Options(**values)


_FLAGS: Final = {
    "append": "append",
    "atomic": "atomic",
    "delete": "delete",
    "direct": "direct",
    "dry-run": "dry_run",
    "i": "ignore_failures",
    "overwrite": "overwrite",
    "skipcrccheck": "skip_crc",
    "skipTrash": "skip_trash",
    "update": "update",
    "updateRoot": "update_root",
    "useiterator": "use_iterator",
    "v": "verbose",
}


def _one(given: _Given, name: str) -> str | None:
    return given[name][0] if name in given else None


def _pair(given: _Given, name: str) -> tuple[str, str] | None:
    return (given[name][0], given[name][1]) if name in given else None


def _number(given: _Given) -> Callable[[str, Callable[[str], Any], Any, str], Any]:
    def number(name: str, kind: Callable[[str], Any], default: Any, complaint: str) -> Any:
        if name not in given:
            return default
        try:
            return kind(given[name][0])
        except ValueError:
            raise InvalidOptions(complaint + given[name][0]) from None

    return number


def _deprecated(given: _Given) -> tuple[str, ...]:
    """Notes on options without effect. Raises InvalidOptions for a value that is no number."""
    number = _number(given)
    number("filelimit", parse_decimal, 0, "File-limit is invalid: ")
    number("sizelimit", parse_decimal, 0, "Size-limit is invalid: ")
    return tuple(
        f"{name} is a deprecated option. Ignoring."
        for name in ("sizelimit", "filelimit")
        if name in given
    )
