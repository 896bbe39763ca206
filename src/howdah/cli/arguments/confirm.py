"""A question that is answered by yes or no, as Hadoop's ToolRunner.confirmPrompt asks it."""

from __future__ import annotations

import sys


def confirm(question: str) -> bool:
    """Ask on stderr until stdin says y, yes, n or no; the end of stdin is no."""
    while True:
        print(f"{question} (Y or N) ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        answer = line.strip().lower()
        if answer in ("y", "yes"):
            return True
        if answer in ("n", "no") or not line:
            return False
        print(f"Invalid input: {line.rstrip()}", file=sys.stderr)
