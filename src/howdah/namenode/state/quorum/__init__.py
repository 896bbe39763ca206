"""Agree with a majority of journal nodes (pure).

`messages` are the calls and answers, `logger_queue` what one node has to be sent, `quorum` who has
answered and what follows from it, `recovery` the end of a log whose writer died, `edits_sender`
the batches, `majority` the counting. The threads and sockets are `howdah.namenode.journal.quorum`.
"""
