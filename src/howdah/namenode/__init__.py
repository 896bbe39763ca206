"""namenode."""
