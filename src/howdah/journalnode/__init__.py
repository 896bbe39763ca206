"""A journal node: one voice of the quorum that keeps the edit log of a nameservice.

Hadoop: org.apache.hadoop.hdfs.qjournal.server. The rules are in `state` (pure): `journal_state` is
what a node keeps of one journal and every change that can be made to it, `acceptor` answers the
writer's calls and the recovery's with the changes that come before the answer. Around them are
shells: files, RPC, HTTP, the process. The writer's side is `howdah.namenode.journal.quorum`.

docs/how-it-works/journal.md numbers the steps; the docstrings use the same numbers.
"""
