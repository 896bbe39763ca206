"""What all commands share: the walk over the arguments, errors, exit codes.

Mirrors the frame of FsShell's commands as users see it:

1. Options are read; a call that makes no sense raises `UsageError` (exit 255).
2. Each argument is expanded to paths (globs).
3. Each path is processed. What fails is reported on stderr and makes the exit
   code 1, and the next path is processed all the same.
4. A recursive command goes on into directories, parents first.

A command overrides `prepare` (options) and `process_path` (the work), and the
hooks between where it differs.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from typing import IO, TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from howdah.cli.arguments import command_format as options
from howdah.cli.arguments.command_format import UNLIMITED, Parsed
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.shell import registry
from howdah.cli.dfs.shell.error_text import describe, reasons
from howdah.cli.dfs.shell.path_args import Filesystems, Item
from howdah.errors import HowdahError, UnknownHost
from howdah.fs.paths import is_under

if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.fs.api import ListOne


T = TypeVar("T")


class OutputClosed(Exception):
    """Standard output takes no more: its reader has left, or its disk is full."""

    @classmethod
    def because_of(cls, error: OSError) -> Self:
        reason = "" if isinstance(error, BrokenPipeError) else f" {error.strerror}"
        return cls(f"Unable to write to output stream.{reason}")


class Output:
    """Standard output as bytes: names that are no UTF-8 pass through unharmed."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, data: bytes | bytearray | memoryview) -> None:
        try:
            self._stream.write(data)
        except OSError as error:
            raise OutputClosed.because_of(error) from error

    def line(self, text: str = "") -> None:
        self.text(text + "\n")

    def text(self, text: str) -> None:
        self.write(text.encode("utf-8", "surrogateescape"))

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputClosed.because_of(error) from error


class Shell:
    """One call of `howdah dfs`: configuration, filesystems, where output goes."""

    def __init__(self, conf: Configuration, *, json: bool = False) -> None:
        self.conf = conf
        self.files = Filesystems(conf)
        self.json = json
        self.out = Output(sys.stdout.buffer)
        self._complaining = threading.Lock()

    def complain(self, text: str) -> None:
        """A line on stderr, after all that was said on stdout before."""
        with self._complaining:
            self.out.flush()
            sys.stderr.buffer.write(text.encode("utf-8", "surrogateescape") + b"\n")
            sys.stderr.buffer.flush()

    def read_input(self) -> IO[bytes]:
        """Standard input as bytes."""
        return sys.stdin.buffer


class Command:
    """One command of the family; see the module's text for its course."""

    FLAGS: ClassVar[tuple[str, ...]] = ()
    VALUED: ClassVar[tuple[str, ...]] = ()
    LEAST: ClassVar[int] = 1
    MOST: ClassVar[int] = UNLIMITED

    recursive = False
    only_looks: ClassVar[bool] = False
    """Whether it changes nothing, so that directories may be listed before their turn."""

    def __init__(self, shell: Shell, name: str) -> None:
        self.shell = shell
        self.out = shell.out
        self.name = name
        self.failures = 0
        self.records: list[dict[str, Any]] = []
        self._tree: tuple[Item, ListOne] | None = None

    # --- the course of a call -------------------------------------------------

    def run(self, arguments: list[str]) -> int:
        """Do it; the exit code."""
        replacement = registry.COMMANDS[self.name].replaced_by
        if replacement:
            self.shell.complain(f"{self.name}: DEPRECATED: Please use '{replacement}' instead.")
        try:
            self.process_arguments(self.prepare(self.read_options(arguments)))
        except (HowdahError, OSError) as error:
            self._failed(error)
        if self.shell.json:
            self._print_records()
        self.out.flush()
        return self.exit_code()

    def read_options(self, arguments: list[str]) -> Parsed:
        """Part the options from the arguments."""
        return options.parse(
            arguments,
            flags=self.FLAGS,
            valued=self.VALUED,
            least=self.LEAST,
            most=self.MOST,
        )

    def prepare(self, parsed: Parsed) -> list[str]:
        """Take in the options; returns the arguments that are paths."""
        return list(parsed.arguments)

    def process_arguments(self, arguments: list[str]) -> None:
        """Expand the arguments and process what they stand for."""
        self.process_items(self.expand_all(arguments))

    def expand_all(self, arguments: Iterable[str]) -> list[Item]:
        """All paths that the arguments stand for; what fails is reported."""
        items: list[Item] = []
        for argument in arguments:
            self.attempt(lambda text: items.extend(self.expand(text)), argument)
        return items

    def expand(self, argument: str) -> list[Item]:
        """The paths that one argument stands for."""
        return self.shell.files.expand(argument)

    def process_items(self, items: list[Item]) -> None:
        """Process the paths of the arguments."""
        for item in items:
            self.attempt(self.process_item, item)

    def process_item(self, item: Item) -> None:
        """Process one path of an argument."""
        if item.exists:
            self.process_found(item)
        else:
            self.process_missing(item)

    def process_found(self, item: Item) -> None:
        """Process a path of an argument that is there."""
        self.process_paths(None, [item])

    def process_missing(self, item: Item) -> None:
        """Process a path of an argument that isn't there."""
        raise item.missing()

    def process_paths(self, parent: Item | None, items: list[Item]) -> None:
        """Process the entries of a directory, or (no parent) a path of an argument."""
        for item in items:
            self.attempt(self._process_one, item)

    def _process_one(self, item: Item) -> None:
        self.process_path(item)
        if self.recursive and self.descends_into(item):
            self.recurse(item)
        self.finish_path(item)

    def process_path(self, item: Item) -> None:
        """The work of the command on one path that is there."""
        raise NotImplementedError(f"-{self.name} has no process_path")

    def finish_path(self, item: Item) -> None:
        """What is left to do on a path after its entries were processed."""

    def descends_into(self, item: Item) -> bool:
        """Whether a recursive command goes into this path."""
        return item.is_directory

    def recurse(self, item: Item) -> None:
        """Process the entries of a directory."""
        self.process_paths(item, item.children(self._lister(item)))

    def _lister(self, item: Item) -> ListOne | None:
        """What lists a directory of a tree in few requests, where its filesystem has that."""
        if not (self.recursive and self.only_looks):
            return None
        # Whoever has a filesystem has loaded it.
        from howdah.fs.api import ListsAhead

        if not isinstance(item.fs, ListsAhead):
            return None
        if self._tree is not None:
            top, list_one = self._tree
            if top.fs is item.fs and is_under(item.path, top.path):
                return list_one
        self._tree = item, item.fs.lister(item.path)
        return self._tree[1]

    # --- errors ---------------------------------------------------------------

    def attempt(self, action: Callable[[T], None], subject: T) -> bool:
        """Run one step; if it fails, report that and go on. Whether it succeeded."""
        try:
            action(subject)
        except (HowdahError, OSError) as error:
            self._failed(error)
            return False
        return True

    def _failed(self, error: OSError | HowdahError) -> None:
        if isinstance(error, UnknownHost) and error.host:
            # Hadoop's shell takes a namenode that nobody knows for a call that makes no sense,
            # and leaves the other arguments alone.
            raise UsageError(
                f"{UnknownHost.java_class}: {error.host}\n  {error.message}"
            ) from error
        self.complain(error)

    def complain(self, error: OSError | HowdahError | str) -> None:
        """Report a failure on stderr; it makes the exit code 1.

        The first line is Hadoop's, which scripts may match; reasons that Hadoop leaves out
        follow on lines of their own, each indented by two blanks.
        """
        self.failures += 1
        lines = [error] if isinstance(error, str) else [describe(error), *reasons(error)]
        self.shell.complain("\n  ".join([f"{self.name}: {lines[0]}", *lines[1:]]))

    def exit_code(self) -> int:
        return 1 if self.failures else 0

    # --- machine-readable output ----------------------------------------------

    def _print_records(self) -> None:
        import json

        self.out.line(json.dumps(self.records, ensure_ascii=True, indent=2))
