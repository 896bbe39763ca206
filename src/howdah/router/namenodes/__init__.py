"""The namenodes behind a router.

- `membership`    pure: what is known of those of a nameservice, and whom to ask first
- `identity`      pure: the client and call ids under which a call is passed on
- `connections`   the calling side on asyncio: a connection carries the calls of one user
- `nameservices`  calls of the active one; heartbeats
"""
