"""The whole write path as one simulation: a cluster, its clients and their bad luck.

    Simulation(choices, POWER) runs writers, readers, datanodes and a namenode as tasks of
    one scheduler. `choices` says who goes next, what breaks when, and what clients do; so
    the same choices make the same run, and its `world.trace` tells what happened.

**Real** are the write pipeline and its queues, the packetizer, the namenode's namesystem under
both of its protocols with its log and its replay, requests and answers of both protocols,
the rules of replicas, of where bytes of a packet go, and of what a recovery agrees on.

**Modelled** are the shells around them, step by step, with a gap for others wherever a
thread, a process or a machine could stop in between: the streamer and the ack reader
(`writing`), the datanode's receiver and responder, its store, reopened and recovered
replicas, its control process, and disks that forget in a power cut what was not synced
(`datanodes`), the namenode's journal (`namenode`), readers (`reading`), sockets and calls
(`network`).

Who plays is on the `config`; writers and readers have their `workloads`; what breaks, and how
often, is in `faults` and `fault_rates`; `cluster` runs it all.

**Not there**: several volumes, full disks, racks, block tokens, truncate, concat, hedged
and local reads, more than one file and one namenode; and time that passes while somebody
computes: it passes when all wait, or when the choices say so.

**What must hold** is checked after each step (`checks`, `history`) and in the end, when
everything works again: the file gets closed, its blocks get their replicas, and a reader
gets what was promised, all of it written by those who had the file, in their order.
"""
