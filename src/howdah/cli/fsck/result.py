"""What the namenode's text says, for programs (pure).

The last line is the verdict; what Hadoop's DFSck makes of it is `EXIT_CODES`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

EXIT_FAILURE: Final = 255
EXIT_CODES: Final = {
    "is HEALTHY": 0,
    "is CORRUPT": 1,
    "does not exist": 0,
    "is EXCESS": 0,
    "is DECOMMISSIONED": 2,
    "is DECOMMISSIONING": 3,
    "is IN MAINTENANCE": 4,
    "is ENTERING MAINTENANCE": 5,
    "is STALE": 6,
}
"""By the end of the last line."""

_FIGURE: Final = re.compile(r" {1,2}(\S[^\t]*?): ?\t+(\S+)(.*)")
_SECTIONS: Final = {
    "Replicated Blocks:": "replicatedBlocks",
    "Erasure Coded Block Groups:": "erasureCodedBlockGroups",
}


def exit_code(text: str) -> int:
    """255 for what nobody foresaw, as a run that failed; 1 for no text at all."""
    lines = text.splitlines()
    if not lines:
        return EXIT_CODES["is CORRUPT"]
    last = lines[-1]
    for end, code in EXIT_CODES.items():
        if last.endswith(end):
            return code
    return 0 if "Incorrect blockId format:" in last else EXIT_FAILURE


def as_json(text: str) -> dict[str, Any]:
    """Return the figures by their labels, in sections as in the text, and all lines before them
    about files or blocks."""
    document: dict[str, Any] = {"verdict": text.splitlines()[-1] if text else "", "details": []}
    into: dict[str, Any] | None = None
    for line in text.splitlines()[:-1]:
        if line.startswith("Status: "):
            document["status"] = line.removeprefix("Status: ")
            into = document
        elif line in _SECTIONS:
            into = document.setdefault(_SECTIONS[line], {})
        elif into is not None:
            figure = _FIGURE.fullmatch(line)
            if figure:
                into[figure[1]] = _number(figure[2])
        elif line.strip(".") and not line.startswith("FSCK "):
            document["details"].append(line.lstrip("."))
    return document


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@dataclass(slots=True)
class CorruptPage:
    """One page of `-list-corruptfileblocks`. `seen` is where the next one begins."""

    lines: list[str] = field(default_factory=list)
    seen: int = 0
    is_last: bool = False
    is_denied: bool = False
    failure: str = ""


def read_corrupt_page(text: str) -> CorruptPage:
    page = CorruptPage()
    before = ""
    for line in text.splitlines():
        if line.startswith("Cookie:"):
            cookie = line.partition("\t")[2].strip()
            page.seen = int(cookie) if cookie.isdigit() else 0
            page.is_last = not cookie.isdigit()
        elif line.endswith(("has no CORRUPT files", "has no more CORRUPT files", "does not exist")):
            page.is_last = True
        elif line.startswith("Access denied for user"):
            page.is_denied = True
        elif line.startswith("Fsck on path") and line.endswith("FAILED"):
            page.failure = before or line
        elif line and not line.startswith(("FSCK started by", "FSCK ended at", "The filesystem")):
            page.lines.append(line)
            before = line
    return page
