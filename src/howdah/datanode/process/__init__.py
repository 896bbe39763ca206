"""The data process: the second process of a datanode, which moves the bytes.

`data_process` serves the data port and the IPC port (`ipc`) and obeys the control process;
`volume_workers` delete and check, a thread a volume, and take a `volume_workers`; `ipc`
deletes a pool, `hot_swap` has volumes come and go, `reconfiguration` is what is told of that.
Arrows: `process -> transfer, recovery, replicas`.
"""
