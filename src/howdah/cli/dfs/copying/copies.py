"""`-put` (`-copyFromLocal`), `-moveFromLocal`, `-get` (`-copyToLocal`), `-cp` and `-mv`.

Sources of put are local files, taken literally: globbing them is the calling
shell's business. `-` alone is standard input. `-l` (lazy persist) means one replica and the
storage policy LAZY_PERSIST: a datanode beside this process may keep it in memory at first.

`-get -crc` leaves a checksum file beside each copy, as Hadoop's local filesystem does for
whatever it writes; without it there is none. `-mv` renames within one filesystem.
"""

from __future__ import annotations

from dataclasses import replace

from howdah.cli.arguments import command_format as options
from howdah.cli.arguments.command_format import Parsed
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.copying.destination import DestinationCommand
from howdah.cli.dfs.copying.transfer import ACL, MODE, CopyCommand
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.error_text import CommandProblem, PathProblem
from howdah.cli.dfs.shell.path_args import Item
from howdah.fs.transfers import is_unchanged
from howdah.options import CreateFlag

STANDARD_INPUT = "-"
LAZY_REPLICATION = 1


class Put(CopyCommand):
    FLAGS = ("f", "p", "l", "d")

    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = super().prepare(parsed)
        if "l" in parsed:
            self.replication = LAZY_REPLICATION
            self.flags = CreateFlag.LAZY_PERSIST
        self.take_destination(arguments)
        return arguments

    def expand(self, argument: str) -> list[Item]:
        return [self.shell.files.item(argument, local=True)]

    def process_arguments(self, arguments: list[str]) -> None:
        if arguments == [STANDARD_INPUT]:
            self._put_standard_input()
        else:
            super().process_arguments(arguments)

    def _put_standard_input(self) -> None:
        target = self.destination
        if target.is_directory:
            target = target.child(STANDARD_INPUT)
            target.refresh()
        elif target.means_directory and not target.exists:
            raise PathProblem.missing(target.name)
        self.copy_stream(self.shell.read_input(), target, None)


class MoveFromLocal(Put):
    """A put that deletes each local file once it is safe in the cluster."""

    VALUED = ()
    FLAGS = ("f", "p", "l", "d")

    def _put_standard_input(self) -> None:
        raise PathProblem.missing(STANDARD_INPUT)

    @property
    def changes_first(self) -> bool:
        return True

    def copy_file(self, source: Item, target: Item) -> None:
        source.refresh()
        read = source.require_status()
        super().copy_file(source, target)
        if not is_unchanged(source.fs, source.path, read):
            raise CommandProblem(f"`{source.name}': was written to while it was copied; it stays")
        source.fs.delete(source.path)

    def finish_directory(self, source: Item, target: Item) -> None:
        super().finish_directory(source, target)
        if source.children():
            raise CommandProblem(f"`{source.name}': not everything was copied, so it stays")
        source.fs.delete(source.path)


class Cp(CopyCommand):
    FLAGS = ("f", "d")
    LEAST = 2

    def read_options(self, arguments: list[str]) -> Parsed:
        """-p may carry letters: t(imes) o(wner) p(ermission) a(cl) x(attr). Unlike others it counts
        wherever it stands before `--`, once."""
        words = list(arguments)
        end = words.index("--") if "--" in words else len(words)
        place = next((n for n in range(end) if words[n].startswith("-p")), None)
        preserving = frozenset() if place is None else frozenset((words.pop(place)[1:],))
        parsed = options.parse(words, flags=self.FLAGS, valued=self.VALUED, least=self.LEAST)
        return replace(parsed, flags=parsed.flags | preserving)

    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = super().prepare(parsed)
        for flag in parsed.flags:
            if flag.startswith("p") and flag != "p":
                self._preserve(flag[1:].lower())
        self.take_destination(arguments)
        return arguments

    def _preserve(self, letters: str) -> None:
        for letter in letters:
            if letter not in "topax":
                raise UsageError(f"No attribute for {letter}")
        # Access control lists extend the mode, so keeping them keeps it.
        self.preserved |= frozenset(letters.replace(ACL, ACL + MODE))


class Get(CopyCommand):
    FLAGS = ("f", "p", "crc", "ignoreCrc")

    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = super().prepare(parsed)
        self.take_destination(arguments, local=True)
        fs = self.destination.fs
        from howdah.fs.local.filesystem import LocalFileSystem  # the others do without

        if isinstance(fs, LocalFileSystem):
            fs.set_write_checksum("crc" in parsed)
            # What lies here may be copied as well.
            fs.set_verify_checksum("ignoreCrc" not in parsed)
        return arguments


class Mv(DestinationCommand):
    LEAST = 2

    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = list(parsed.arguments)
        self.take_destination(arguments)
        return arguments

    def transfer(self, item: Item, target: Item) -> None:
        if not item.same_filesystem(target):
            raise PathProblem(item.name, "Does not match target filesystem")
        if target.exists:
            raise PathProblem.exists(target.name)
        item.fs.rename(item.path, target.path)


class MoveToLocal(Command):
    """Hadoop's shell knows this command and never had it; the words are its own."""

    def prepare(self, parsed: Parsed) -> list[str]:
        raise CommandProblem("Option '-moveToLocal' is not implemented yet.")
