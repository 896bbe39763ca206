"""Where paths are, and answers of several places as one (pure).

- `mount_table`  entries, the longest prefix, mount points above and below a path
- `ordering`     which of several destinations comes first
- `records`      entries as Hadoop's protobuf records, in the store and on the wire
- `translation`  paths of a nameservice in messages and answers, back to the router's
- `pages`        listings of several destinations and mount points as one
- `merging`      summaries, statistics and reports of several nameservices as one
- `cache_ids`    ids of cache directives, which tell the nameservice
- `quotas`       the quota of a mount point over all its destinations
"""
