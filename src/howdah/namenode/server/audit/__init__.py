"""The audit log: a line for each call of a client, in Hadoop's format (FSNamesystemAuditLogger).

`log` hands each call from the event loop to the thread that writes, `files` is the file and its
older ones, `factory` makes both from the configuration. Which calls are logged, and the text, is
`howdah.namenode.service.audit`.
"""
