"""What a datanode tells of the plan that it works on (pure).

DiskBalancerWorkStatus and DiskBalancerWorkItem in Hadoop. The state of the moves crosses the wire
as JSON, as Jackson indents it; numbers that are 0 are left out.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from howdah import errors

BANDWIDTH_KEY: Final = "DiskBalancerBandwidth"
VOLUMES_KEY: Final = "DiskBalancerVolumeName"


class WorkResult(enum.IntEnum):
    """How far a plan is."""

    NO_PLAN = 0
    PLAN_UNDER_PROGRESS = 1
    PLAN_DONE = 2
    PLAN_CANCELLED = 3


@dataclass(frozen=True, slots=True)
class WorkEntry:
    """How far the moves from one volume to another are."""

    source_path: str
    destination_path: str
    bytes_to_copy: int
    bytes_copied: int = 0
    blocks_copied: int = 0
    error_count: int = 0
    error: str = ""
    start_time_ms: int = 0
    elapsed_s: int = 0
    max_disk_errors: int = 0
    tolerance_percent: int = 0
    bandwidth_mib: int = 0


@dataclass(frozen=True, slots=True)
class WorkStatus:
    """What a datanode answers who asks."""

    result: WorkResult
    plan_id: str
    plan_file: str
    entries: tuple[WorkEntry, ...]


_ITEM_FIELDS: Final = {
    "startTime": "start_time_ms",
    "secondsElapsed": "elapsed_s",
    "bytesToCopy": "bytes_to_copy",
    "bytesCopied": "bytes_copied",
    "errorCount": "error_count",
    "errMsg": "error",
    "blocksCopied": "blocks_copied",
    "maxDiskErrors": "max_disk_errors",
    "tolerancePercent": "tolerance_percent",
    "bandwidth": "bandwidth_mib",
}


def entry_json(entry: WorkEntry) -> dict[str, Any]:
    return {
        "sourcePath": entry.source_path,
        "destPath": entry.destination_path,
        "workItem": {
            name: value
            for name, attribute in _ITEM_FIELDS.items()
            if (value := getattr(entry, attribute)) or name == "bytesToCopy"
        },
    }


def state_text(entries: Iterable[WorkEntry]) -> str:
    """As Jackson indents it.

    >>> print(state_text([WorkEntry("/a", "/b", 7)]))
    [ {
      "sourcePath" : "/a",
      "destPath" : "/b",
      "workItem" : {
        "bytesToCopy" : 7
      }
    } ]
    """
    texts = [_indented(entry_json(entry), "") for entry in entries]
    return f"[ {', '.join(texts)} ]" if texts else "[ ]"


def _indented(value: object, indent: str) -> str:
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if not value:
        return "{ }"
    inner = indent + "  "
    lines = [
        f"{inner}{json.dumps(name)} : {_indented(item, inner)}" for name, item in value.items()
    ]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def parse_state(text: str) -> tuple[WorkEntry, ...]:
    """Raises `ProtocolViolation`."""
    try:
        return tuple(_entry(entry) for entry in json.loads(text or "[]"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise errors.ProtocolViolation(
            f"the datanode told of its moves what cannot be read: {text[:200]!r}"
        ) from error


def _entry(entry: dict[str, Any]) -> WorkEntry:
    item = entry["workItem"]
    values: dict[str, Any] = {}
    for name, attribute in _ITEM_FIELDS.items():
        value = item.get(name)
        values[attribute] = str(value or "") if attribute == "error" else int(value or 0)
    return WorkEntry(str(entry["sourcePath"]), str(entry["destPath"]), **values)
