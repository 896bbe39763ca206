"""Hold the states of replicas and plan what a writer may do (pure)."""
