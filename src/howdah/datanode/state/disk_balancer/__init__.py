"""Check a plan of the disk balancer and choose what it moves next (pure)."""
