"""`distcp`, from the driver's side (Hadoop's DistCp class and its input formats).

`job` is the whole of a run; `copy_listing` begins the listing, `partitions` and `placement`
assign rows to tasks and nodes, `job` commits, `outcome` has the sums and exit codes. Reads no
byte of a file. Arrows: `copy_job -> snapshots, copy, listing`; no other room imports this one.
"""
