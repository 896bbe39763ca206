"""Run the state machines of election, health and fencing (pure)."""
