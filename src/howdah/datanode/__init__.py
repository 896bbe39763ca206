"""datanode."""
