"""Requests to edits: what a caller may do, and which edit it becomes (pure).

`service.namesystem` has the state in one place and the step from request to edit, `checks` what
stands before that step; one module a family of calls; `permissions` and `retry_cache` stand
before all. Knows no protobuf and no socket. Arrows: `namesystem -> checks`; each
family `-> namesystem`.
"""
