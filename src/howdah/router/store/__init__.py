"""What the routers of a federation share: mount table and disabled nameservices (shell).

- `state_store`  records by kind and name, and what they mean
- `files`        in a directory
- `zookeeper`    in ZooKeeper
- `factory`       which of them the configuration asks for
- `worker`       beside the router's loop, with bounded waits
"""
