"""What is kept for snapshots beside the tree, and what two states differ in (pure).

`snapshots` has the links and versions that an earlier state needs, `snapshot_model` what they are
made of, `edits` what each edit means to them, `diff` the report on two states. Knows
inodes; `tree` calls it before and after each edit. Arrows: `edits, diff -> snapshots -> parts`.
"""
