"""Serve the namenode's calls: check a request, make its edits, encode the answer (pure)."""
