"""Hold the namespace, its blocks and its log's state, changed by edits alone (pure)."""
