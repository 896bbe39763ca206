"""Routers that run beside the namenodes that they ask, on one loop, and clients that call from
an address of their own."""
