"""Reach the namenodes behind a router.

- `connections`   the calling side on asyncio: a connection carries the calls of one user
- `nameservices`  calls of the active one; heartbeats
- `locality`      which destination is near a client

Whom to ask first, and under which ids, is `howdah.router.state.namenodes`.
"""
