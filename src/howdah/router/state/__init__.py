"""Hold the mount table and the view of the namenodes, and merge answers (pure)."""
