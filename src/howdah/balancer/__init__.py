"""Evens out how full datanodes are: the balancer.

Hadoop's `org.apache.hadoop.hdfs.server.balancer`. Pure, from the bottom: `nodes` has what is known
of datanodes and blocks, `utilization` sorts storages by how full they are, `pairing` decides how
many bytes go from which to which, `iteration` which replicas, in which order, and `rounds` when
to stop. Shells: `namenode` asks the namenode, `target` asks a datanode for a move, `running` has
the threads and the clock. Knows nothing of words and output, which are `howdah.cli.balancer`.
"""
