"""The life of a file that is being written (pure).

In order: `create_append`, `allocation`, `pipelines`, `complete`; `truncation` and `concat` change
finished files; `lease_recovery` and `block_recovery` close what silent writers left;
`pending_appends` wait for reports. Arrows: `writing -> calls, blocks`.
"""
