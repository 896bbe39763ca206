"""Peers of a secured cluster for tests: the server's side of the exchanges, and hostile ones."""
