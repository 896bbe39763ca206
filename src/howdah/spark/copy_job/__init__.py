"""`distcp`, from the driver's side (Hadoop's DistCp class and its input formats).

`job` is the whole of a run; `lister` begins the listing, `partitions` and `placement` deal rows
out to tasks and nodes, `atomic` commits, `outcome` has the sums and exit codes. Sees no byte
of a file. Arrows: `copy_job -> snapshots, copy, listing`; nothing imports it but the face.
"""
