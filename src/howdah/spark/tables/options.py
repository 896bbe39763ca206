"""The options of a table, checked (pure).

Spark's options are texts, and their names have no case. An option that a table does not have is
refused with the names of those that it has: a misspelt one would change nothing, silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from difflib import get_close_matches

from howdah import errors


class TableOptions:
    """The options that a user gave to one table."""

    def __init__(self, table: str, given: Mapping[str, object], known: tuple[str, ...]) -> None:
        """`known` are the names as they are written in the documentation. Raises
        IllegalArgument for a name that is not among them."""
        self.table = table
        by_name = {name.lower(): name for name in known}
        self._values: dict[str, str] = {}
        for name, value in given.items():
            own = by_name.get(name.lower())
            if own is None:
                raise errors.IllegalArgument(self._unknown(name, known))
            self._values[own] = str(value)

    def _unknown(self, name: str, known: tuple[str, ...]) -> str:
        lower = {each.lower(): each for each in known}
        close = get_close_matches(name.lower(), lower, 1)
        hint = f" (did you mean {lower[close[0]]}?)" if close else ""
        return f"{self.table} has no option {name!r}{hint}; it has: {', '.join(known)}"

    def refused(self, name: str, problem: str) -> errors.IllegalArgument:
        """The error to raise for a value that makes no sense."""
        return errors.IllegalArgument(
            f"{self.table}: option {name} = {self._values.get(name)!r} {problem}"
        )

    def text(self, name: str) -> str | None:
        """The value as it is; None where it is not given, or is empty."""
        return self._values.get(name) or None

    def required(self, name: str, means: str) -> str:
        value = self.text(name)
        if value is None:
            raise errors.IllegalArgument(f"{self.table} needs the option {name}: {means}")
        return value

    def count(self, name: str, default: int, least: int = 1) -> int:
        value = self.number(name)
        if value is None:
            return default
        if value < least:
            raise self.refused(name, f"is less than {least}")
        return value

    def number(self, name: str) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        try:
            return int(value)
        except ValueError:
            raise self.refused(name, "is not a whole number") from None

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.text(name)
        if value is None:
            return default
        if value.lower() not in ("true", "false"):
            raise self.refused(name, "is neither true nor false")
        return value.lower() == "true"

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of several words, the first where it is not given."""
        value = (self.text(name) or choices[0]).lower()
        if value not in choices:
            raise self.refused(name, f"is none of: {', '.join(choices)}")
        return value

    def words(self, name: str) -> tuple[str, ...] | None:
        """Words between commas; None where it is not given."""
        value = self.text(name)
        if value is None:
            return None
        return tuple(word.strip() for word in value.split(",") if word.strip())

    def moment_ms(self, name: str) -> int | None:
        """A moment: milliseconds since 1970, or a time of ISO 8601 (UTC, if it names no zone)."""
        value = self.text(name)
        if value is None:
            return None
        if value.lstrip("-").isdigit():
            return int(value)
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise self.refused(
                name, "is neither a time such as 2026-11-30T04:00:00Z nor milliseconds since 1970"
            ) from None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
