"""The datanode: a control process that talks to namenodes, a data process that moves bytes.

Rooms, from the bottom to the top:

- `state`         what a datanode knows and decides, without files and sockets (pure)
- `channel`       what the two processes say to each other
- `volumes`       data directories, each on a disk of its own
- `memory`        replicas in memory: what they take, and which of them a disk has too
- `replicas`      the files of replicas, and every change of them
- `transfer`      the data port
- `recovery`      block recovery
- `lazy_persist`  carries replicas from memory to disks
- `disk_balancer` evens out the volumes, by a plan
- `process`       the data process
- `scanners`      verification of what is on the disks
- `control`       the control process

`settings` is what the rooms need to know of the configuration, `server` the whole datanode.
"""
