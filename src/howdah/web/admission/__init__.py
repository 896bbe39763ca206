"""Who comes in at a web port, at what pace, and what a head may look like.

`pending_connections` accepts and waits for first bytes; `cpu_budget` and `cost_limiter` say for
how long somebody has to wait, and `head_limits` looks at the bytes of a head before a parser does.
The last three are pure.
"""
