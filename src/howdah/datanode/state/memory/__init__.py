"""Count the replicas that are kept in memory (pure)."""
