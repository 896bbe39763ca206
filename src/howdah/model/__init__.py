"""The executable specification: what a filesystem is, pure and tiny; the tests' oracle.

- `namespace`   paths, and what operations on them do

Nothing here imports the rest of howdah, so that a test which holds the one against
the other compares two things.
"""
