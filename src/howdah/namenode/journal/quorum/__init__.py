"""The shared edit log on a quorum of journal nodes, as a namenode writes and reads it.

Hadoop: org.apache.hadoop.hdfs.qjournal.client. The acceptor's side is `howdah.journalnode`, the
protocol `howdah.namenode.state.quorum`. Shells around it: `channel` (one node over RPC),
`loggers` (a thread a node), `quorum_journal`, `quorum_log`; `settings` reads the configuration.

docs/how-it-works/journal.md numbers the steps of the writer Q1, Q2, …; so do the docstrings.
"""
