"""What may stand where on the command line, from the tables of the commands.

Options come from the synopses that users are shown, so a command that gets a new one has it
completed, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from howdah.cli import (
    cacheadmin,
    debug,
    erasurecoding,
    getconf,
    haadmin,
    main,
    mirror,
    mount,
    storagepolicies,
)
from howdah.cli.arguments.admin_commands import HELP
from howdah.cli.balancer import args as balancer
from howdah.cli.dfs.shell import registry
from howdah.cli.dfsadmin import COMMANDS as DFSADMIN
from howdah.cli.diskbalancer import args as diskbalancer
from howdah.cli.fsck import args as fsck
from howdah.cli.setup import doctor, init
from howdah.sync import options as sync

SHELLS: Final = ("bash", "zsh", "fish")
GENERIC: Final = ("--conf", "-conf", "-D", "-fs")
"""Options with a value before the command or right after it."""

_OPTION: Final = re.compile(r"(?<![\w<-])--?[A-Za-z][\w-]*")
_CHOICE: Final = re.compile(r"(?<![\w:-])([a-z]\w*)(?=\s*\|)|(?<=\|)\s*([a-z]\w*)(?![\w:-])")
_LETTERS: Final = re.compile(r"(?<![\w-])-\[([a-z]+)\]")
_TAKE_PATHS: Final = (
    "compact",
    "diskbalancer",
    "distcp",
    "fsck",
    "lsSnapshot",
    "mirror",
    "mover",
    "namespace",
    "report",
    "snapshotDiff",
    "storagepolicies",
    "sync",
    "verify",
)
_TAKE_FILES: Final = ("classpath", "debug", "mount", "namespace", "oev", "oiv", "report", "umount")


@dataclass(frozen=True, slots=True)
class Place:
    """What may follow a command, or its sub-command: words, and paths of either side."""

    words: tuple[str, ...]
    remote: bool = False
    local: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A command of `howdah`. With sub-commands, `place` is of the first word behind it."""

    place: Place
    sub_commands: Mapping[str, Place]


def options_of(synopsis: str) -> tuple[str, ...]:
    """Return the options in a synopsis, each once.

    >>> options_of("[-r|-R] [--force] <path> ...")
    ('-r', '-R', '--force')
    >>> options_of("-[de] <path>")
    ('-d', '-e')
    """
    letters = [f"-{letter}" for group in _LETTERS.findall(synopsis) for letter in group]
    return tuple(dict.fromkeys(letters + _OPTION.findall(synopsis)))


def lines() -> dict[str, Line]:
    """Return every command, in the order of the usage."""
    with_sub_commands = {
        "dfs": dict(_of_dfs()),
        "fs": dict(_of_dfs()),
        "dfsadmin": {
            **{name: _administrative(c.synopsis) for name, c in DFSADMIN.items()},
            "-help": Place(tuple(name[1:] for name in DFSADMIN)),
        },
        "haadmin": {
            name: Place(
                tuple(
                    dict.fromkeys(
                        options_of(c.synopsis) + tuple(f"--{option}" for option in c.options)
                    )
                )
            )
            for name, c in haadmin.COMMANDS.items()
        },
        "cacheadmin": {
            c.name: Place(options_of(c.options), remote="-path" in c.options)
            for c in (*cacheadmin.COMMANDS, HELP)
        },
        "ec": {
            c.name: Place(
                options_of(c.options),
                remote="-path" in c.options,
                local="<file>" in c.options,
            )
            for c in (*erasurecoding.COMMANDS, HELP)
        },
        "debug": {
            name: Place(
                options_of(c.usage),
                remote="-path" in c.usage or "-file <file>" in c.usage,
                local="-file>" in c.usage,
            )
            for name, c in debug.COMMANDS.items()
        },
        "storagepolicies": {
            name: Place(options_of(usage.replace(name, "")), remote="-path" in usage)
            for name, usage in storagepolicies.USAGE.items()
        },
        "completion": {shell: Place(()) for shell in SHELLS},
    }
    own = {
        "fsck": (*fsck.FLAGS, "-blockId", "--json"),
        "balancer": options_of(balancer.USAGE),
        "diskbalancer": options_of(diskbalancer.USAGE),
        "classpath": ("--glob", "--jar"),
        "getconf": options_of(getconf.USAGE),
        "groups": ("--json",),
        "doctor": options_of(doctor.arguments().format_help()),
        "init": options_of(init.arguments().format_help()),
        "mirror": (*mirror.SUB_COMMANDS, *options_of(mirror.arguments().format_help())),
        "mount": options_of(mount.arguments().format_help()),
        "umount": ("--lazy",),
        "sync": options_of(sync.usage()),
    }
    by_name = {}
    for name, command in main.COMMANDS.items():
        if command.target is not None:
            below = with_sub_commands.get(name, {})
            words = tuple(below) or own.get(name, ())
            by_name[name] = Line(
                Place(
                    words,
                    remote=not below and name in _TAKE_PATHS,
                    local=not below and name in _TAKE_FILES,
                ),
                below,
            )
    return by_name


def _of_dfs() -> Iterator[tuple[str, Place]]:
    for name, entry in registry.COMMANDS.items():
        if name in ("help", "usage"):
            yield f"-{name}", Place(tuple(registry.COMMANDS))
            continue
        options = options_of(entry.synopsis) + (("--json",) if entry.json else ())
        yield f"-{name}", Place(options, remote=True, local="<local" in entry.synopsis)


def _administrative(synopsis: str) -> Place:
    """With the words of which the synopsis wants one, as in `<enter | leave>`."""
    words = [first or later for first, later in _CHOICE.findall(synopsis)]
    takes_paths = re.search(r"(?i)dir|path", synopsis) is not None
    return Place(tuple(dict.fromkeys((*options_of(synopsis), *words))), remote=takes_paths)
