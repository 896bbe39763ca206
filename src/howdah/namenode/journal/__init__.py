"""The edit log of a namenode: written, read, mended, watched.

`journal` says what a journal is; `directory_journal` and `journal_set` are two. `edit_log`
writes to one, by `native_writer` where it can; `segment_selection` and `log_reader` find the log
again without a trace; `recovery` and `directory_restore` mend it for the one who writes.
`shared_log` says what a log is that several namenodes share, and `shared_directory` is one. Hands
out edits, and knows no namespace. Arrows: `watching, manifest -> reading -> choosing`, `edit_log
-> direct -> journal`, `recovery -> reading`.
"""
