"""What a key server knows: its keys, and who may do what with them (pure)."""
