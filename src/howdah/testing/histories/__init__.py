"""Histories of what clients did at once and were told: `recording` makes them, `linearizability`
checks them."""
