"""Run the state machine of a file that is written: pipeline, queues, recovery (pure)."""
