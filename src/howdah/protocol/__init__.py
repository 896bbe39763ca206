"""What the protocols share: ids, messages, and the table of calls (pure)."""
