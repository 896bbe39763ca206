"""Writes docs/reference.md: the public members of a filesystem, with their examples.

Signatures, texts and examples are those of the code: of the docstrings. `./dev reference` writes
the page, and a test runs every example and compares the page with what would be written.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from howdah.fs.hdfs.filesystem import HdfsFileSystem

HERE = Path(__file__).parent
PAGE = HERE / "reference.md"
SCHEME = ("The scheme of the filesystem's URIs.", ">>> fs.scheme\n'hdfs'")
"""A constant has no docstring."""
HEAD = """\
# Reference: the filesystem

What `howdah.connect("hdfs://host:8020")` gives, member by member. The guide is
[python.md](python.md). Each example runs in a test; it begins with a directory `/docs` that
has a file `a` of ten bytes. This page is written by `./dev reference`.
"""


def members() -> Iterator[str]:
    """The names of all public members."""
    return (name for name in dir(HdfsFileSystem) if not name.startswith("_"))


def text_of(name: str) -> str:
    """The docstring of a member, its own or that of the interface."""
    if name == "scheme":
        return "\n\n".join(SCHEME)
    return inspect.getdoc(getattr(HdfsFileSystem, name)) or ""


def parts_of(name: str) -> tuple[str, str]:
    """What is said of a member, and its example."""
    text, found, example = text_of(name).partition(">>>")
    return text.strip(), (found + example).strip()


def signature_of(name: str) -> str:
    """The member as it is called."""
    member: Any = getattr(HdfsFileSystem, name)
    if not callable(member):
        return f"fs.{name}"
    signature = str(inspect.signature(member)).replace("(self, ", "(").replace("(self)", "()")
    # The names of types are long, and the same everywhere.
    return f"fs.{name}" + re.sub(
        r"\b(?:howdah|collections|typing)\.[\w.]*\.", "", signature
    ).replace("'", "")


def page() -> str:
    """The whole page."""
    out = [HEAD]
    for name in members():
        text, example = parts_of(name)
        out.append(f"## {name}\n`{signature_of(name)}`\n\n{text}\n\n```pycon\n{example}\n```\n")
    return "\n".join(out)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
