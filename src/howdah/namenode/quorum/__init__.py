"""The shared edit log on a quorum of journal nodes, as a namenode writes and reads it.

Hadoop: org.apache.hadoop.hdfs.qjournal.client. The acceptor's side is `howdah.journalnode`.
The protocol is pure: `messages`, `logger_queue`, `quorum` (who has answered, and what follows
from it), `recovery`, `edits_sender`, `majority`. Shells around it: `channel` (one node over RPC),
`loggers` (a thread a node), `quorum_journal`, `quorum_log`; `settings` reads the
configuration. Arrows: `quorum_log -> quorum_journal -> loggers -> sending,
recovery -> quorum -> logger_queue -> messages`. It knows `journal` below, and no namespace.

docs/how-it-works/journal.md numbers the steps of the writer Q1, Q2, …; so do the docstrings.
"""
