"""Output streams: from bytes to packets, pipelines and a completed file.

`output` is the stream (DFSOutputStream in Hadoop) and `striped_output` that of an erasure coded
file; what holds for both is in `output_stream`. `streamer` has their threads and sockets
(DataStreamer); between them a state machine without either: `pipeline` by the table in
`phases`, with `packetizer`, `queues`, `recovery` and `actions` (pure).
Arrows: `output -> streamer -> pipeline -> actions`.
"""
