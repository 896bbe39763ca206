"""Routers that run beside the namenodes that they ask, on one loop."""
