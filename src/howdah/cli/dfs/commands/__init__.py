"""The commands of `howdah dfs` that carry no files, and its help: a module a family.

`howdah.cli.dfs.shell.registry` says which class is which command, `manual` has the texts
of `-help`; a command that is missing in either fails a test.
"""
