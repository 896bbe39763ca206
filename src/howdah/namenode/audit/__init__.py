"""The audit log: a line for each call of a client, in Hadoop's format (FSNamesystemAuditLogger).

`calls` says which calls are logged and what of them, `line_format` makes the text (both pure);
`log` hands each call from the event loop to the thread that writes, `files` is the file and its
older ones (shells). Imports no other room.
"""
