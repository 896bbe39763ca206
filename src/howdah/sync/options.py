"""Which of distcp's options a mirror has (pure).

Without `-overwrite` a mirror updates: it copies what has changed. Options that need many machines
or another kind of job are refused by name; `howdah distcp` has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from howdah.copy.arguments import OPTIONS, Arguments, parse
from howdah.copy.options import InvalidOptions, Options, Strategy
from howdah.errors import UnsupportedOperation

DISTCP_ONLY: Final = (
    "async",
    "atomic",
    "blocksperchunk",
    "filelimit",
    "master",
    "no-locality",
    "remote",
    "sizelimit",
    "strategy",
    "tmp",
    "useiterator",
    "xtrack",
)
_HELP: Final = {
    "log": "write what became of files to this directory: what was skipped, what failed",
    "v": "with -log: each file as well, why it was copied, and how the copy was verified",
    "bandwidth": "at most so many MiB a second, all together",
    "m": "so many processes (default: one for each processor, 2 to 8)",
    "update": "copy only what has changed: what it does anyway",
}
_TWO_HYPHENS: Final = ("dry-run", "json")


def read(words: list[str]) -> tuple[Arguments, bool]:
    """Parse the arguments of `howdah sync`. Return them, and whether `-m` is one of them.

    Raises InvalidOptions.
    """
    named = [word.lstrip("-").partition("=")[0] for word in words if word.startswith("-")]
    for name in named:
        if name in DISTCP_ONLY:
            raise InvalidOptions(f"-{name} is an option of howdah distcp, and not of howdah sync")
    overwrites = "overwrite" in named
    arguments = parse(words if overwrites or "update" in named else ["-update", *words])
    has_count = any(name == "m" or (name[:1] == "m" and name[1:].isdigit()) for name in named)
    return arguments, has_count


def usage() -> str:
    """The options, each with its help."""
    lines = ["Usage: howdah sync OPTIONS source_path... target_path", "", "OPTIONS"]
    for name, option in OPTIONS.items():
        if name not in DISTCP_ONLY:
            hyphens = "--" if name in _TWO_HYPHENS else "-"
            shown = f"  {hyphens}{name} {option.value}".ljust(32)
            lines.append(shown + _HELP.get(name, option.help))
    return "\n".join(lines)


def as_mirror(options: Options | None) -> Options:
    """The options of a mirror. Raises `UnsupportedOperation` for those that it does not have."""
    given = options or Options(update=True)
    if not (given.update or given.overwrite):
        given = replace(given, update=True)
    for name, is_given in _foreign(given):
        if is_given:
            raise UnsupportedOperation(f"{name} is an option of distcp, and not of sync")
    return given


def _foreign(options: Options) -> Iterator[tuple[str, bool]]:
    yield "-atomic", options.atomic
    yield "-blocksperchunk", options.blocks_per_chunk > 0
    yield "-xtrack", options.track_path is not None
    yield "-strategy", options.strategy is not Strategy.UNIFORM_SIZE
