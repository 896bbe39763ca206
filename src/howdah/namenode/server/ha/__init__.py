"""Run the namenode in its role: active, standby or observer.

`active` is what an active does; the other roles are in `howdah.namenode.service.ha`.
`edit_log_tailer` follows the shared log, `transitions` takes it over, `log_writer` writes it.
Knows no socket.
"""
