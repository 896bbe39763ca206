"""The datanode: a keeper that talks to namenodes, and a data process that moves bytes.

`replicas`, `block_files`, `write_plan`, `messages`, `commands` and `reports` are
pure. The data process is `data_server` and what it calls; the keeper is `keeper`
and `namenode_actor`. `server` starts both.
"""
