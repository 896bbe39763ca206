"""Plans by which a datanode evens out its volumes, as both sides read and write them (pure).

Hadoop's `org.apache.hadoop.hdfs.server.diskbalancer`. `volumes` is how full the volumes of a
datanode are, and how far each is from the mean; `planner` makes moves of that; `plan_files` are
the JSON files of both; `status` is what a datanode tells of a plan that it works on, in JSON, too.
Who asks and who moves is elsewhere: `howdah.cli.diskbalancer` and `howdah.datanode.disk_balancer`.
"""
