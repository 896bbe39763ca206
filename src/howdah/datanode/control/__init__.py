"""The control process: the first process of a datanode, which talks to namenodes.

`control_process` starts and watches the data process; `nameservices` (BlockPoolManager,
BPOfferService in Hadoop) has a `block_pool` and actors for each nameservice, as configured in
`howdah.config.nameservices`; `active_tracker` says whose orders count. `namenode_actor` is one
thread a namenode (BPServiceActor), with `incremental_reports`, `reports` and `report_schedule`;
`replica_index` is its own list of replicas, `reconfiguration` what changes while it runs;
`directories` and `pool_upgrade` come before serving.
Arrows: `control -> process`; nothing imports the control process but `datanode.server`.
"""
