"""`-put` (`-copyFromLocal`), `-moveFromLocal` and `-cp`.

Sources of put are local files, taken literally: globbing them is the calling
shell's business. `-` alone is standard input. `-l` (lazy persist) means one
replica, which is all of it that a cluster without memory storage can do.
"""

from __future__ import annotations

from howdah.cli.dfs import options
from howdah.cli.dfs.items import Item
from howdah.cli.dfs.options import Parsed
from howdah.cli.dfs.problems import CommandProblem, PathProblem, UsageProblem
from howdah.cli.dfs.transfer import ACL, MODE, CopyCommand

STANDARD_INPUT = "-"
LAZY_REPLICATION = 1


class Put(CopyCommand):
    FLAGS = ("f", "p", "l", "d")

    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = super().prepare(parsed)
        if "l" in parsed:
            self.replication = LAZY_REPLICATION
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
        self.copy_stream(self.shell.read_input(), target, None)


class MoveFromLocal(Put):
    """A put that deletes each local file once it is safe in the cluster."""

    VALUED = ()
    FLAGS = ("f", "p", "l", "d")

    def _put_standard_input(self) -> None:
        raise PathProblem.missing(STANDARD_INPUT)

    def copy_file(self, source: Item, target: Item) -> None:
        super().copy_file(source, target)
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
        """-p may carry letters: t(imes) o(wner) p(ermission) a(cl) x(attr)."""
        preserving = tuple(word[1:] for word in arguments if word.startswith("-p"))
        return options.parse(
            arguments, flags=self.FLAGS + preserving, valued=self.VALUED, least=self.LEAST
        )

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
                raise UsageProblem(f"No attribute for {letter}")
        # Access control lists extend the mode, so keeping them keeps it.
        self.preserved |= frozenset(letters.replace(ACL, ACL + MODE))
