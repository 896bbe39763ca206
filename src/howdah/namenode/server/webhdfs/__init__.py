"""WebHDFS of the namenode. `calls` makes the calls of ClientProtocol that an operation
consists of as the RPC server makes them; `pages` answers requests; `target_selection` picks the
datanode that a request is sent to (pure)."""
