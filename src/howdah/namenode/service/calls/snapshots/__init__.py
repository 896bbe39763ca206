"""Calls that make, rename, remove and compare snapshots (pure).

`rules` says what a snapshot forbids; `changes` and `diff` are the two families of calls.
Arrows: `diff -> changes -> rules`, all `-> namesystem`.
"""
