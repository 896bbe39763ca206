"""Decide from where a block is read, and when a read is tried again (pure)."""
