"""How command lines are read: one way for each of the two kinds that Hadoop has.

`parser` is argparse, for servers, tools and commands of our own; `command_format` has the rules of
Hadoop's shells, where scripts rely on every message. Before either, `generic` takes the
options that all commands know. `usage`: what is wrong raises `UsageError` in all of them,
and the exit codes. Knows no command; `howdah.cli.main` loads nothing else before it knows
which command is called.
"""
