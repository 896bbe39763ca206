"""Decide what a namenode may do in its role, and when it has to (pure)."""
