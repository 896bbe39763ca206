"""The life of a file that is being written (pure).

In order: `opening`, `allocation`, `pipelines`, `closing`; `truncation` and `concat` change
finished files; `lease_recovery` and `block_recovery` close what silent writers left;
`held_appends` wait for reports. Arrows: `writing -> calls, blocks`.
"""
