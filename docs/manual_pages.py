"""Manual pages of `howdah` and its commands, from what these say of themselves (`./dev man`).

`howdah(1)` has the table of commands; a command has the page `howdah-COMMAND(1)` with the text
of its own `-help`. Nothing is written down twice, so no page can be out of date.

    python docs/manual_pages.py [DIRECTORY]     (default: build/man)
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from howdah import __version__
from howdah.cli.main import COMMANDS, main

ROOT: Final = Path(__file__).parents[1]
HELP: Final = ("-help", "--help", "-h")
SAME: Final = {"fs": "dfs", "dfsrouter": "router", "dfsrouteradmin": "routeradmin"}
"""Commands that are another one under a second name."""
UNSAID: Final = {"lsSnapshot": "Usage: howdah lsSnapshot <snapshottable directory>"}
"""Where a command takes any word for a path."""
GENERIC: Final = (
    ("--conf DIR", "the directory of core-site.xml and hdfs-site.xml (else HADOOP_CONF_DIR)"),
    ("-conf FILE", "one more configuration file"),
    ("-D key=value", "one configuration value"),
    ("-fs URI", "the filesystem to work with"),
)


def pages() -> Iterator[tuple[str, str]]:
    """The name of each page's file, and its text."""
    yield "howdah.1", overview()
    for name, command in COMMANDS.items():
        if command.target is None:
            continue
        if name in SAME:
            yield f"howdah-{name}.1", f".so man1/howdah-{SAME[name]}.1\n"
        else:
            yield f"howdah-{name}.1", page_of(name, command.help, help_of(name))


def help_of(name: str) -> str:
    """What a command says of itself. Raises ValueError if it says nothing.

    Those that mirror one of Hadoop's take no `-help`, and answer it as any wrong word: with a
    complaint, which is left out, and their usage.
    """
    if name in UNSAID:
        return UNSAID[name]
    for word in HELP:
        content = io.BytesIO()
        said = io.TextIOWrapper(content, "utf-8", write_through=True)
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                code = main([name, word])
            except SystemExit as ended:  # argparse has shown its help
                code = int(ended.code or 0)
        text = content.getvalue().decode("utf-8").strip("\n")
        if code == 0 and text:
            return text
        found = re.search(r"(?im)^(usage|\[-).*", text, re.DOTALL)
        if found is not None:
            return found[0]
    raise ValueError(f"howdah {name} has no help")


def overview() -> str:
    """The page of the program itself."""
    lines = [
        head("howdah", "an HDFS-compatible distributed filesystem"),
        ".SH SYNOPSIS",
        ".B howdah",
        r"[\fIOPTION\fR]... \fICOMMAND\fR [\fIARGUMENT\fR]...",
        ".SH DESCRIPTION",
        "Servers, clients and tools of a filesystem that speaks the protocols of Hadoop's HDFS.",
        ".SH COMMANDS",
    ]
    for name, command in COMMANDS.items():
        if command.target is not None:
            lines += [".TP", rf"\fB{quoted(name)}\fR", quoted(command.help)]
    lines.append(".SH OPTIONS")
    for option, meaning in GENERIC:
        lines += [".TP", rf"\fB{quoted(option)}\fR", quoted(meaning)]
    return "\n".join([*lines, *tail(["howdah-" + name for name in ("dfs", "doctor", "init")])])


def page_of(name: str, summary: str, text: str) -> str:
    """The page of a command: its own help, as it is."""
    shown = [quoted(line) for line in text.splitlines()]
    body = [head(f"howdah-{name}", summary), ".SH DESCRIPTION", ".nf", *shown, ".fi"]
    return "\n".join([*body, *tail(["howdah"])])


def head(name: str, summary: str) -> str:
    title = f'.TH "{name.upper()}" "1" "" "howdah {__version__}" "howdah"'
    return f"{title}\n.SH NAME\n{quoted(name)} \\- {quoted(summary)}"


def tail(others: list[str]) -> list[str]:
    listed = ", ".join(rf"\fB{quoted(other)}\fR(1)" for other in others)
    return [".SH ENVIRONMENT", ".TP", r"\fBHADOOP_CONF_DIR\fR", "the directory of the "
            "configuration, where no option says it", ".SH SEE ALSO", listed, ""]  # fmt: skip


def quoted(text: str) -> str:
    r"""Text as roff takes it: a backslash, a hyphen, and a dot or quote at the beginning.

    >>> quoted(".a -b")
    '\\&.a \\-b'
    """
    found = text.replace("\\", "\\(rs").replace("-", "\\-")
    found = "".join(char if char.isascii() else rf"\[u{ord(char):04X}]" for char in found)
    return rf"\&{found}" if found.startswith((".", "'")) else found


def write(directory: Path) -> list[Path]:
    """Write all pages below `directory`; their paths."""
    (directory / "man1").mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in pages():
        written.append(directory / "man1" / name)
        written[-1].write_text(text, "utf-8")
    return written


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "man"
    print(f"{len(write(where))} pages in {where}; man -M {where} howdah")
