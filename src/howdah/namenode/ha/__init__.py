"""Which role a namenode has, what it serves in it, and what it does by itself.

`states` are the roles and the changes between them, `categories` the operation category of
every call (both pure); `duties` runs what a role does by itself; `active` and `standby` are
the roles. Knows no socket. Arrows: `ha -> checkpoints, journal, protocols, writing, calls`;
`active, standby -> duties, states`.
"""
