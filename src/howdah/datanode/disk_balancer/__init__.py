"""Evens out the volumes of this datanode, by a plan that an administrator submits.

DiskBalancer in Hadoop. `checks` says whether a plan is taken, `work` what a move is to do and when
it has done enough (both pure); `worker` is the one thread that moves, and what is answered about
it. A plan is forgotten when the datanode ends; no replica is. Arrows: `worker -> replicas`.
"""
