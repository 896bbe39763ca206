"""Which role a namenode has, what it serves in it, and what it does by itself.

`states` are the roles and the changes between them, `categories` the operation category of
every call (both pure); `periodic_tasks` runs what a role does by itself; `active` and `standby` are
the roles. `edit_log_tailer` follows the shared log, `transitions` takes it over, `log_writer`
writes it; `durability_barrier` lets answers go. Knows no socket. Arrows: `ha -> checkpoints,
journal, protocols, writing, calls`; `transitions -> tailing, roles, log_writer`; `active, standby
-> duties, states`.
"""
