"""The options that every command of `howdah` knows: --conf, -conf, -D and -fs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from howdah.cli.arguments.usage import UsageError

if TYPE_CHECKING:
    from howdah.config import Configuration


class GenericOptions(NamedTuple):
    """Holds the options that every command knows."""

    conf_dir: str | None = None
    files: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()

    def __add__(self, later: object) -> GenericOptions:
        if not isinstance(later, GenericOptions):
            return NotImplemented
        return GenericOptions(
            later.conf_dir or self.conf_dir, self.files + later.files, self.values + later.values
        )

    @classmethod
    def take_leading(cls, arguments: list[str]) -> tuple[GenericOptions, list[str]]:
        """Split off the options at the front. Return them, and the rest from the first other
        argument on."""
        options = cls()
        rest = arguments
        while rest:
            parsed = cls._take_one(rest)
            if parsed is None:
                break
            option, rest = parsed
            options += option
        return options, rest

    @classmethod
    def take_all(cls, arguments: list[str]) -> tuple[GenericOptions, list[str]]:
        """Split off the options wherever they stand. Return them, and all other arguments."""
        options = cls()
        others: list[str] = []
        rest = arguments
        while rest:
            parsed = cls._take_one(rest)
            if parsed is None:
                others.append(rest[0])
                rest = rest[1:]
            else:
                option, rest = parsed
                options += option
        return options, others

    @classmethod
    def _take_one(cls, arguments: list[str]) -> tuple[GenericOptions, list[str]] | None:
        first = arguments[0]
        if first.startswith("-D") and first != "-D":
            return cls(values=(_key_and_value(first[2:]),)), arguments[1:]
        if first.startswith(("--conf=", "--config=")):
            return cls(conf_dir=first.partition("=")[2]), arguments[1:]
        if first not in ("-D", "-fs", "-conf", "--conf", "--config"):
            return None
        if len(arguments) < 2:
            raise UsageError(f"option {first} needs a value")
        value = arguments[1]
        match first:
            case "-D":
                option = cls(values=(_key_and_value(value),))
            case "-fs":
                option = cls(values=(("fs.defaultFS", value),))
            case "-conf":
                option = cls(files=(value,))
            case _:
                option = cls(conf_dir=value)
        return option, arguments[2:]

    def configuration(self, environment: bool) -> Configuration:
        """What files and options say together."""
        from pathlib import Path

        from howdah.config import Configuration

        return Configuration.load(
            Path(self.conf_dir) if self.conf_dir else None,
            dict(self.values),
            files=[Path(name) for name in self.files],
            environment=environment,
        )


def _key_and_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"option -D needs key=value, not {text!r}")
    return key, value
