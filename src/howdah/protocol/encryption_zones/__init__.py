"""Encryption zones: what namenodes, key servers and clients tell each other of them (pure)."""
