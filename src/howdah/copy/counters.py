"""The counters of a copy: Hadoop's (CopyMapper.Counter), and a few more (pure).

Each task counts for itself; the driver adds up. A task that Spark runs again counts anew, and
only the counters of the successful attempt are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Final, Self

# The names that Hadoop prints; it does not have the last ten.
NAMES: Final = {
    "files_copied": "Files Copied",
    "directories_copied": "DIR_COPY",
    "files_skipped": "Files Skipped",
    "files_failed": "Files Failed",
    "bytes_copied": "Bytes Copied",
    "bytes_expected": "Bytes Expected",
    "bytes_failed": "Bytes Failed",
    "bytes_skipped": "Bytes Skipped",
    "sleep_time_ms": "SLEEP_TIME_MS",
    "skipped_by_checksum": "Files Skipped, Checksums Equal",
    "skipped_by_time": "Files Skipped, Source Not Newer",
    "files_retried": "Files Copied Again",
    "entries_deleted": "Entries Deleted",
    "entries_renamed": "Entries Renamed",
    "verified_by_checksum": "Files Verified, Checksums Equal",
    "verified_by_etag": "Files Verified, Lengths and ETags Equal",
    "verified_by_length": "Files Verified, Lengths Equal",
    "copied_by_server": "Files Copied by Their Store",
    "refused_by_server": "Files Not Copied by Their Store",
}


@dataclass(slots=True)
class Counters:
    """The sums of one task, or of all."""

    files_copied: int = 0
    directories_copied: int = 0
    files_skipped: int = 0
    files_failed: int = 0
    bytes_copied: int = 0
    bytes_expected: int = 0
    bytes_failed: int = 0
    bytes_skipped: int = 0
    sleep_time_ms: int = 0
    skipped_by_checksum: int = 0
    skipped_by_time: int = 0
    files_retried: int = 0
    entries_deleted: int = 0
    entries_renamed: int = 0
    verified_by_checksum: int = 0
    verified_by_etag: int = 0
    verified_by_length: int = 0
    copied_by_server: int = 0
    refused_by_server: int = 0

    def as_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in names()}

    @classmethod
    def of(cls, values: Mapping[str, int | None]) -> Self:
        """From a row; null, which is the sum of no rows, counts as zero."""
        return cls(**{name: values.get(name) or 0 for name in names()})

    def __add__(self, other: Counters) -> Counters:
        return Counters(**{n: getattr(self, n) + getattr(other, n) for n in names()})

    def told_of_verification(self) -> str | None:
        """How the files that were copied were held against their sources, in a line; None if
        none was."""
        said = []
        if self.verified_by_checksum:
            said.append(f"{self.verified_by_checksum} by a checksum of all bytes")
        if self.verified_by_etag:
            said.append(f"{self.verified_by_etag} by their lengths and ETags")
        if self.verified_by_length:
            said.append(f"{self.verified_by_length} by their lengths alone")
        if not said:
            return None
        by_server = ""
        if self.copied_by_server:
            by_server = f"; their store copied {self.copied_by_server} of them"
        return f"files copied were verified: {', '.join(said)}{by_server}"

    def lines(self) -> Iterator[str]:
        """As Hadoop's job client prints them, without those that are zero."""
        yield "\tDistCp Counters"
        for name, value in sorted(self.as_dict().items(), key=lambda pair: NAMES[pair[0]]):
            if value:
                yield f"\t\t{NAMES[name]}={value}"


def names() -> tuple[str, ...]:
    """The names of all counters, in a fixed order."""
    return tuple(field.name for field in fields(Counters))
