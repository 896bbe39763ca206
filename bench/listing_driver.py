"""The driver whose memory `listing.py` measures: one URI a line, one answer a line.

It lists each, and answers, with the rows still held, what is resident in Python and what is
live in the heap of its Java.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path

from scale import live_heap_bytes, resident_bytes

from howdah.config import Configuration
from howdah.spark import namespace
from howdah.spark.sessions import session, ship


def children(pid: int) -> list[int]:
    """Java is started by a script that becomes it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == pid:
                found.append(int(entry.name))
    return found


def main(master: str) -> None:
    with session(master) as spark:
        ship(spark)
        (java,) = [pid for pid in children(os.getpid()) if "java" in _name(pid)]
        for line in sys.stdin:
            rows = namespace(spark, line.strip(), most_tasks=4, conf=Configuration({}))
            gc.collect()
            heap = live_heap_bytes(java)
            answer = {"python": resident_bytes(os.getpid()), "heap": heap, "rows": rows.count()}
            print(json.dumps(answer), flush=True)
            rows.unpersist()


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text()


if __name__ == "__main__":
    main(sys.argv[1])
