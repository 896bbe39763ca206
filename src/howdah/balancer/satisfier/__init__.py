"""Moves the blocks of marked paths to the storages of their policies: the satisfier.

Hadoop's `org.apache.hadoop.hdfs.server.sps` and `namenode.sps`. Users mark paths by
satisfyStoragePolicy; the satisfier, one for a namespace, asks the namenode for marks, moves what
has to be moved, and takes the marks off. `satisfier_queue` is the state machine (pure), and has the
rules; `scan` lists what is below a mark; `runner` has threads, the clock and the questions. What is
moved where, and how, is the mover's: `violations` and `moves`, a floor below.
"""
