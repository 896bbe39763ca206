"""The generic options that may stand before the command: -D, -fs, -conf.

Hadoop's -jt, -files, -libjars and -archives are for MapReduce jobs, and are
refused by name.
"""

from __future__ import annotations

from pathlib import Path

from howdah.cli.dfs.problems import UsageProblem
from howdah.config import Configuration

COMMAND_LINE = "command line"
_FOREIGN = ("-jt", "-files", "-libjars", "-archives", "-tokenCacheFile")


def take(argv: list[str], conf: Configuration) -> tuple[list[str], Configuration]:
    """The arguments from the command on, and the configuration with the options in it."""
    rest = list(argv)
    while rest:
        word = rest[0]
        if word.startswith("-D"):
            rest.pop(0)
            setting = word[2:] or _value(rest, word)
            name, equals, value = setting.partition("=")
            if not equals or not name:
                raise UsageProblem(f"-D wants key=value, not {setting!r}")
            conf = conf.with_values({name: value}, source=COMMAND_LINE)
        elif word == "-fs":
            rest.pop(0)
            conf = conf.with_values({"fs.defaultFS": _value(rest, word)}, source=COMMAND_LINE)
        elif word == "-conf":
            rest.pop(0)
            path = Path(_value(rest, word))
            if not path.is_file():
                raise UsageProblem(f"-conf: {path} is not a file")
            conf = _with_file(conf, path)
        elif word in _FOREIGN:
            raise UsageProblem(f"{word} is an option for MapReduce jobs, which howdah does not run")
        else:
            break
    return rest, conf


def _with_file(conf: Configuration, path: Path) -> Configuration:
    """The settings of a further file win over other files', not over the command line's."""
    loaded = Configuration.load(files=[path])
    added = {name: value for name, value in loaded.items() if conf.source(name) != COMMAND_LINE}
    return conf.with_values(added, source=str(path))


def _value(rest: list[str], option: str) -> str:
    if not rest:
        raise UsageProblem(f"Missing argument for option: {option[1:]}")
    return rest.pop(0)
