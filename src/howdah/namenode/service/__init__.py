"""Serve the namenode's calls: check a request, make its edits, encode the answer (pure).

`namesystem` is the state with the edits that change it; it owns `block_manager` and
`datanode_manager`, and shares `role` with them. Arrows: `namesystem -> datanode_manager ->
block_manager -> role`.
"""
