"""Formats on disk: the edit log, VERSION, seen_txid, locks, durable replacement.

`edits` holds what a namespace change is, `edit_codec` its bytes, `segments` the
files of a log, `layout` what stands around them in a storage directory, and
`atomic` the one way in which a small file is replaced.
"""
