"""Name the files of blocks and choose the volume for a replica (pure)."""
