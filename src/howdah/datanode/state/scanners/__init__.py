"""Decide what the scanners of volumes and directories look at next (pure)."""
