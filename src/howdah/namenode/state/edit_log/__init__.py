"""Decide which segments are read, and when the log is rolled (pure)."""
