"""The executable specification: what a filesystem is, pure and tiny; the tests' oracle.

- `namespace`   paths, and what operations on them do: `entries`, what there is at a path;
                `attributes`, `acls`, `quotas`, what it has besides its content
- `caching`     what is asked to be kept in memory: pools and directives
- `streams`     an output stream: (path, open, buffer)
- `filesystem`  a map of paths to bytes with streams on it, and what readers may find

Nothing here imports the rest of howdah, so that a test which holds the one against
the other compares two things.
"""
