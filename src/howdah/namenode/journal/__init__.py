"""The edit log of a namenode: written, read, mended, watched; with its quorum and checkpoints.

`edit_log` writes to a journal, by `native_writer` where it can; `log_reader` finds the log again;
`recovery` and `directory_restore` mend it for the one who writes. `shared_directory` is a log that
several namenodes share, `quorum` another one, and `checkpoints` makes images of it. What a journal
is, and which segments are read, `howdah.namenode.state.edit_log` says. Hands out edits, and knows
no calls.
"""
