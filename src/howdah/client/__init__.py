"""The DFS client: from a path and bytes to RPCs, packets and acks, and back.

`dfs.DFSClient` opens files; `output` and `input` are its streams. Writing goes
`packetizer` (bytes to packets, pure) -> `pipeline` (what happens next, pure) ->
`streamer` (threads and sockets). Reading goes `locations` (which blocks, where) ->
`block_reader` (one replica, checked) over connections that `peers` keeps. `namenode`
is ClientProtocol, `lease` keeps leases alive, `checksum` sums whole files up.

Nothing here knows the FileSystem interface, which is `howdah.fs`.
"""
