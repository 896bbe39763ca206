"""What a mirror knows, and what it does next (pure). Arrows: `planner -> record -> names`."""
