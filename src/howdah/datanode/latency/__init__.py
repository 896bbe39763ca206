"""How long other datanodes and the own disks take, and which of them are much slower than the rest.

`outliers` and `window` are the rules (pure). `monitor` collects in the data process, and says at
intervals what stands out; the control process puts that into heartbeats. It knows nothing of
replicas: volumes and the write path hand in what they measured.
"""
