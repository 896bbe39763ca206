"""Moves replicas: the balancer evens out how full datanodes are, the mover follows policies.

Hadoop's `org.apache.hadoop.hdfs.server.balancer` and `mover`. `state` decides (pure), from the
bottom: `nodes` has what is known of datanodes and blocks, `utilization` sorts storages by how full
they are, `matching` decides how many bytes go from which to which, `iteration` which replicas, in
which order, and `termination` when to stop; `violations` has what the mover is to move. Shells:
`namenode` asks the namenode, `target` asks a datanode for a move, `moves` has the threads of many,
`runner` the balancer's threads and clock, `mover` the mover's; the room `satisfier` follows
policies, too, where users ask for it. Knows nothing of words and output, which are
`howdah.cli.balancer`.
"""
