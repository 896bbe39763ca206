"""Listing source and target of a copy (Hadoop's SimpleCopyListing).

`walking` lists both side by side, one directory after the other; `entries` are its rows. Knows no
options of a job. Arrows: `listing -> locks, common`.
"""
