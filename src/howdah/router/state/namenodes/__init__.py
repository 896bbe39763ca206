"""Remember which namenode of a nameservice is active and how far it is (pure)."""
