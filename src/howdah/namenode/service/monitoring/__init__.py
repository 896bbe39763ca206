"""Say what a namenode reports about itself (pure)."""
