"""The state file of a mirror, which lies beside its target (pure).

With snapshots on both sides their names say which point in time is complete; the file says in
addition what a round has begun, so that its changes are not taken for somebody else's, and what
became of the last one. Where the target has no snapshots the file is the manifest: `complete` is
the point in time that the target is, unless `goal` is set.

`epoch` counts promotions. A directory whose role is `source` has been promoted, and no mirror
writes to it unless the other side has been promoted since.
"""

from __future__ import annotations

import enum
import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Self

from howdah import errors

VERSION: Final = 1


class InvalidRecord(errors.HowdahError, ValueError):
    """The state file of a mirror cannot be read."""


class Role(enum.Enum):
    SOURCE = "source"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Record:
    """One directory's part in a mirror."""

    key: str
    source: str
    target: str
    role: Role = Role.TARGET
    epoch: int = 0
    complete: str | None = None
    """The newest snapshot of the source that the target has been."""
    complete_ms: int = 0
    goal: str | None = None
    """The snapshot that the target is being made; None between rounds."""
    base: str | None = None
    """The snapshot that the target was before; None for a first copy."""
    copied_files: int = 0
    copied_bytes: int = 0
    """By the last round."""
    seconds: float = 0.0

    def to_json(self) -> bytes:
        """The content of the file."""
        values = asdict(self) | {"role": self.role.value, "version": VERSION}
        return json.dumps(values, indent=1, sort_keys=True).encode() + b"\n"

    @classmethod
    def of_json(cls, data: bytes, where: str) -> Self:
        """Read the content of a file. Raises InvalidRecord."""
        try:
            values = json.loads(data)
            if values["version"] != VERSION:
                raise InvalidRecord(f"{where} is of version {values['version']}, not {VERSION}")
            known: dict[str, Any] = {field.name: values[field.name] for field in fields(cls)}
            return cls(**known | {"role": Role(known["role"])})
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, InvalidRecord):
                raise
            raise InvalidRecord(f"{where} is not the state file of a mirror: {error!r}") from error
