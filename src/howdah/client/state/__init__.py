"""Hold the state of files that a client reads and writes (pure)."""
