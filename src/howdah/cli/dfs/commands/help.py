"""`-usage` and `-help`: how commands are called, and what they do."""

from __future__ import annotations

from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.shell import registry
from howdah.cli.dfs.shell.command import Command

PREFIX = "Usage: howdah dfs [generic options]"

HINT = "  howdah dfs -help lists the commands."

GENERIC_OPTIONS = """\
Generic options, before the command:
-D key=value     set a configuration key
-fs URI          the filesystem of paths without a scheme (fs.defaultFS)
-conf FILE       read one more configuration file
"""


def synopsis(name: str) -> str:
    """`-ls [-C] …`"""
    return f"-{name} {registry.COMMANDS[name].synopsis}".rstrip()


def usage_line(name: str) -> str:
    """The usage of one command."""
    return f"{PREFIX} {synopsis(name)}"


def command_list() -> str:
    """The usage of all commands but those that only old scripts know."""
    lines = [PREFIX]
    for name, entry in sorted(registry.COMMANDS.items()):
        if not entry.replaced_by:
            lines.append(f"\t[{synopsis(name)}]")
    return "\n".join(lines)


def overview() -> str:
    """All commands and the options before them."""
    return f"{command_list()}\n\n{GENERIC_OPTIONS}"


class Usage(Command):
    LEAST = 0

    def process_arguments(self, arguments: list[str]) -> None:
        if not arguments:
            self.out.line(overview())
        for argument in arguments:
            self.out.line(usage_line(self.known(argument)))

    def known(self, argument: str) -> str:
        """The command that is meant, with or without its dash."""
        name = argument.removeprefix("-")
        if name not in registry.COMMANDS:
            raise UsageError(f"`{argument}': Unknown command")
        return name


class Help(Usage):
    def process_arguments(self, arguments: list[str]) -> None:
        names = arguments
        if not names:
            self.out.line(f"{command_list()}\n")
            names = sorted(registry.COMMANDS)
        for name in names:
            self._describe(self.known(name))

    def _describe(self, name: str) -> None:
        from howdah.cli.dfs.commands.manual import TEXTS

        replacement = registry.COMMANDS[name].replaced_by
        text = f"Deprecated, call `{replacement}`." if replacement else TEXTS[name]
        self.out.line(f"{synopsis(name)} :")
        for line in text.strip("\n").split("\n"):
            self.out.line(f"  {line}".rstrip())
        self.out.line()
