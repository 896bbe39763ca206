"""What a mirror has done (pure)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from howdah.copy.counters import Counters
from howdah.runtime.units import byte_text


@dataclass(frozen=True, slots=True)
class Synced:
    """The result of a mirror. `files` and `bytes` are those of the sources."""

    counters: Counters
    files: int
    bytes: int
    seconds: float
    processes: int
    notes: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """For people."""
        done = self.counters
        said = [f"{done.files_copied} files copied ({byte_text(done.bytes_copied)})"]
        said.append(f"{done.files_skipped} unchanged")
        if done.entries_deleted:
            said.append(f"{done.entries_deleted} deleted at the target")
        if done.files_failed:
            said.append(f"{done.files_failed} failed")
        yield f"{', '.join(said)}, in {self.seconds:.1f} s"
        verified = done.told_of_verification()
        if verified is not None:
            yield verified
        yield from self.notes

    def to_json(self) -> str:
        return json.dumps(
            {
                "counters": self.counters.as_dict(),
                "files": self.files,
                "bytes": self.bytes,
                "seconds": round(self.seconds, 3),
                "processes": self.processes,
                "notes": list(self.notes),
            }
        )
