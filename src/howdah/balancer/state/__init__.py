"""Plan the moves of the balancer, the mover and the satisfier (pure)."""
