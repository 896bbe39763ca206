"""Everything that a secured cluster can be asked, by everyone who may ask it, and what they are
told.

The rows are made from the registries of the code (`calls`), a call that has no verdict fails a
test; `requests` has a harmless request for each, `asking` sends it to a cluster, and `page` writes
docs/who-may.md.
"""
