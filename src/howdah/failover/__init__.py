"""Failover controllers: who elects the active namenode, watches it, and fences the one before.

Hadoop: org.apache.hadoop.ha (ZKFailoverController, HealthMonitor, ActiveStandbyElector,
NodeFencer, FailoverController). One controller runs beside each namenode.

`state` decides (pure): `service` the names and values, `health` what the answers of the namenode
mean, `elector` the way to the active role, `controller` when to be in the election, `fencing` the
methods as they are configured, `active_node` what an election says of the active, `candidate` one
of those who want the lease of the journal nodes, `status` and `views` what a controller shows.
Shells: `namenodes` calls to namenodes and controllers, `process_watch` when the local one has died,
`fencing_methods` fencing, `zookeeper` and `lease` the two kinds of election (`state.election` is
what both are), `manual_failover` a failover without controllers, `graceful` one with them,
`service_calls` ZKFCProtocol, `pages` the web port, `server` the process.

docs/how-it-works/failover.md numbers the steps; the docstrings use the same numbers.
"""
