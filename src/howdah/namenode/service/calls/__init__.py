"""Requests to edits: what a caller may do, and which edit it becomes (pure).

One module a family of calls. `path_resolver`, `permissions`, `limits` and `retry_cache` stand
before all; `service.namesystem` has them, and the step from request to edit. Knows no protobuf
and no socket. Arrows: `namesystem -> path_resolver, limits, permissions`; each family
`-> namesystem`.
"""
