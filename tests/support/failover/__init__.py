"""Clients under failovers: what they were told, and whether it holds.

- `write_ledger`   writers and readers that note what was acknowledged
- `workload`       the former at work on a cluster meanwhile
- `writers`    one who writes files meanwhile, and reads them all at the end
- `java_client` Hadoop's client at work meanwhile
- `server_faults`    servers are killed, stopped and lost
- `network`    a cluster whose servers can be cut off from each other; `links` is what is
               between them
- `hosts`      the same on network namespaces, where root allows
- `network_faults`    what befalls these networks at random
"""
