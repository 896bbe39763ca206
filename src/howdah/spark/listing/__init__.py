"""Trees listed by rounds of tasks; the driver sees sums and no names.

For a copy (Hadoop's SimpleCopyListing): `walking` is a task that lists source and target side
by side, `entries` its rows, `rounds` the driver's part, `row_stores` where rows are kept. `tree`
lists one tree for all other jobs. Arrows: `listing -> locks, common`; knows no options of a job.
"""
