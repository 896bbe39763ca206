"""`howdah dfs` (also `howdah fs`): Hadoop's file system shell.

Arguments, output, error texts and exit codes are those of `hdfs dfs`
(org.apache.hadoop.fs.FsShell of Hadoop 3.5), so that scripts and habits carry
over. What differs, on purpose:

- names are literal: `%20`, blanks, colons and unicode are characters of a name;
- the program calls itself `howdah dfs` in its usage;
- `--json` as the first word after ls, du, count, df, stat, checksum and abortUploads
  makes standard output one JSON list of objects; errors stay on stderr and in the
  exit code. Sizes are bytes, times milliseconds since 1970, modes octal strings;
- a call that makes no sense is followed by the usage of its command, not of all;
- reasons that Hadoop leaves out stand on lines of their own below the error,
  indented by two blanks;
- nothing prints a stack trace.

Exit codes: 0 all well, 1 something failed (what, stands on stderr), 255 the call
makes no sense (its usage follows), 130 interrupted,
143 terminated and 129 hung up; then what was half done is removed.

Rooms, each of which imports only those before it: `shell` is the frame of a call
(arguments, paths, errors, output), `copying` the commands that carry files, `commands`
the others. Only the module of the command that is called gets imported; this one, which
everything passes, stays small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from howdah.cli.dfs.shell.command import Command, Shell
    from howdah.config import Configuration

EXIT_USAGE = 255
EXIT_INTERRUPTED = 130


def main(argv: list[str], conf: Configuration) -> int:
    """Run one command: `main(["-ls", "/"], conf)`; returns the exit code.

    The options that may stand before a command (-D, -fs, -conf) are in `conf`.
    """
    from howdah.cli.dfs.shell.command import OutputClosed, Shell
    from howdah.cli.signals import Terminated, ended_by_signals

    arguments = list(argv)
    json = len(arguments) > 1 and arguments[1] == "--json"
    if json:
        del arguments[1]
    shell = Shell(conf, json=json)
    try:
        with ended_by_signals():
            return _run(shell, arguments)
    except Terminated as ended:
        shell.complain(f"{_bare(arguments)}: {ended}")
        return ended.exit_code
    except KeyboardInterrupt:
        shell.complain(f"{_bare(arguments)}: Interrupted")
        return EXIT_INTERRUPTED
    except OutputClosed as closed:
        return _output_closed(_bare(arguments), str(closed))
    finally:
        shell.files.close()


def load(name: str) -> type[Command]:
    """The class of a command; its module is imported now."""
    from importlib import import_module

    from howdah.cli.dfs.shell import registry

    entry = registry.COMMANDS[name]
    module = import_module(f"howdah.cli.dfs.{entry.module}")
    return cast("type[Command]", getattr(module, entry.factory))


def _run(shell: Shell, arguments: list[str]) -> int:
    from howdah.cli.arguments.usage import UsageError
    from howdah.cli.dfs.shell import registry

    word = arguments[0] if arguments else ""
    name = word[1:]
    try:
        if word in ("", "-", "--"):
            raise UsageError("")
        if not word.startswith("-") or name not in registry.COMMANDS:
            raise UsageError(f"Unknown command{_hint(word)}")
        if shell.json and not registry.COMMANDS[name].json:
            raise UsageError("Illegal option --json")
        return load(name)(shell, name).run(arguments[1:])
    except UsageError as problem:
        message = f"{word}: {problem}" if str(problem) else ""
        _usage(shell, name if name in registry.COMMANDS else None, message)
        return EXIT_USAGE


def _hint(word: str) -> str:
    """The command that was probably meant, if there is one."""
    from difflib import get_close_matches

    from howdah.cli.dfs.shell import registry

    if word in registry.COMMANDS:
        return f"\nDid you mean -{word}?  This command begins with a dash."
    near = get_close_matches(word.removeprefix("-"), registry.COMMANDS, 1, 0.75)
    return f"\n  Did you mean -{near[0]}?" if near else ""


def _usage(shell: Shell, name: str | None, message: str) -> None:
    from howdah.cli.dfs.commands.help import HINT, overview, usage_line

    if message:
        shell.complain(message)
    if name:
        shell.complain(usage_line(name))
    else:
        shell.complain(HINT if message else overview())


def _bare(arguments: list[str]) -> str:
    return arguments[0].removeprefix("-") if arguments else "dfs"


def _output_closed(name: str, message: str) -> int:
    """Whoever read our output has left (`howdah dfs -cat /x | head`), or it was a full disk."""
    import sys

    from howdah.runtime.standard_streams import give_up_output

    give_up_output()
    sys.stderr.write(f"{name}: {message}\n")
    return 1
