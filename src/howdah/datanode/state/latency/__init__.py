"""Find peers and volumes that are slower than the others (pure)."""
