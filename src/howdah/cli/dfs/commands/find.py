"""`-find PATH… EXPRESSION…`: walk trees and pick names.

The expressions that FsShell has: `-name` and `-iname` with a pattern (on the
last component of the path), `-print`, `-print0`, and `-a` or `-and` between
them, which is implied. What has no action prints. `-L`, `-H` and `-P` say what
to do with symbolic links and are accepted: there is nothing here to follow.
"""

from __future__ import annotations

from collections.abc import Callable

from howdah.cli.arguments import command_format as options
from howdah.cli.arguments.command_format import Parsed
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.error_text import CommandProblem
from howdah.cli.dfs.shell.path_args import Item
from howdah.fs import glob

Expression = Callable[[Item], bool]

_LINK_OPTIONS = ("-L", "-H", "-P")
_AND = ("-a", "-and")


class Find(Command):
    recursive = True
    only_looks = True

    def read_options(self, arguments: list[str]) -> Parsed:
        words = list(arguments)
        options.check_count(words, self.LEAST)
        while words and words[0] in _LINK_OPTIONS:
            words.pop(0)
        starts: list[str] = []
        while words and not words[0].startswith("-"):
            starts.append(words.pop(0))
        self._expressions = self._parse(words)
        return Parsed(frozenset(), {}, tuple(starts or ["."]))

    def _parse(self, words: list[str]) -> list[Expression]:
        expressions: list[Expression] = []
        acts = False
        joined = True
        while words:
            word = words.pop(0)
            if word in _AND:
                if joined or not words:
                    raise UsageError(f"{word} wants an expression on either side")
                joined = True
                continue
            joined = False
            if word in ("-name", "-iname"):
                if not words:
                    raise UsageError(f"{word} wants a pattern")
                expressions.append(_name_matches(words.pop(0), ignore_case=word == "-iname"))
            elif word in ("-print", "-print0"):
                expressions.append(self._print("\n" if word == "-print" else "\0"))
                acts = True
            else:
                raise CommandProblem(f"Unexpected argument: {word}")
        if not acts:
            expressions.append(self._print("\n"))
        return expressions

    def _print(self, end: str) -> Expression:
        def act(item: Item) -> bool:
            self.out.text(item.name + end)
            return True

        return act

    def process_path(self, item: Item) -> None:
        for expression in self._expressions:
            if not expression(item):
                return


def _name_matches(pattern: str, *, ignore_case: bool) -> Expression:
    match = glob.compile_component(pattern.lower() if ignore_case else pattern)

    def test(item: Item) -> bool:
        name = item.base_name
        return match(name.lower() if ignore_case else name)

    return test
