"""Records of settings whose fields name their configuration keys (pure).

A field says once which key it comes from, and in which unit: its default is that of the key, and
`read` fills a record from a configuration.

>>> from dataclasses import dataclass
>>> from howdah.config import keys
>>> @dataclass(frozen=True)
... class Settings:
...     replication: int = setting(keys.DFS_REPLICATION)
...     interval_ms: int = setting(keys.DFS_HEARTBEAT_INTERVAL, milliseconds)
>>> Settings()
Settings(replication=3, interval_ms=3000)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields
from typing import Any, Final, Protocol, TypeVar, cast, overload

from howdah.config.value_types import Key

T = TypeVar("T")
V = TypeVar("V")
Record = TypeVar("Record")


class Values(Protocol):
    """What has a value for every key: a `Configuration`."""

    def get(self, key: Key[T]) -> T: ...


_KEY: Final = "howdah.key"
_CONVERT: Final = "howdah.convert"


def milliseconds(seconds: float) -> int:
    """The whole milliseconds of a duration, which keys have in seconds."""
    return round(seconds * 1000)


@overload
def setting(key: Key[T]) -> T: ...


@overload
def setting(key: Key[T], convert: Callable[[T], V]) -> V: ...


def setting(key: Key[Any], convert: Callable[[Any], Any] | None = None) -> Any:
    """Declare a field of a dataclass that has the value of a key, converted if need be."""
    if key.default is not None:
        default = key.parse(key.default)
    else:
        default = None if key.unset is None else key.unset()
    return field(
        default=default if convert is None else convert(default),
        metadata={_KEY: key, _CONVERT: convert},
    )


def read(record: type[Record], conf: Values, **others: object) -> Record:
    """Make a record of what the configuration says; `others` are the fields without a key.

    Raises InvalidConfiguration for a value that is none of its key's kind.
    """
    values = dict(others)
    for record_field in fields(cast(Any, record)):
        if _KEY in record_field.metadata:
            value = conf.get(record_field.metadata[_KEY])
            convert = record_field.metadata[_CONVERT]
            values[record_field.name] = value if convert is None else convert(value)
    return record(**values)
