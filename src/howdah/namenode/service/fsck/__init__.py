"""fsck: whether files have their blocks, as text that scripts read (pure).

Hadoop's `NamenodeFsck`. A run walks the tree (`traversal`), judges every block by its replicas
(`replicas`), counts (`summary`) and writes (`check`, `report`). It is a generator: each step
is a slice of a few milliseconds, after which others have their turn, and yields the text that
the slice has made. `-blockId` and `-list-corruptfileblocks` are runs of their own
(`block_ids`, `corrupt_files`).

The text is an interface: scripts grep it, and Hadoop's client takes its exit code from the
last line.
"""
