"""The filesystem's own data as tables and streams of Spark: namespaces, edits, audit logs, blocks
and changes.

A table (`table`) plans parts in the driver and reads each part in a task, as batches of Arrow. It
knows no Spark. `sources` shows tables by Spark's Python Data Source API
(`spark.read.format("howdah.edits")`), `frames` by functions for older versions of Spark. What a row
is made of is pure: `inode_rows`, `listing_rows`, `edit_rows`, `audit_lines`, `block_rows`.

Arrows: `sources, frames -> catalog -> one module for each table -> rows -> columns, predicates`.
"""
