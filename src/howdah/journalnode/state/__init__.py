"""Decide what a journal node accepts: epochs, segments, elections (pure)."""
