"""The frame of a call of `howdah dfs`: its arguments, its paths, its errors, its output.

`command` has the walk over the arguments that every command overrides in parts; `path_args`
are paths and what is there, `error_text` is how failures are said,
`text` (pure) is how numbers and tables are written, `registry` is the table of commands.
Knows no single command.
"""
