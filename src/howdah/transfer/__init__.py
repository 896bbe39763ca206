"""DataTransferProtocol v28: how blocks travel between clients and datanodes.

`packets`, `packet_stream`, `ops`, `responses`, `varint`, `status` and `blocks`
are pure: bytes in, bytes out. `checksum` sums chunks. `sockets` is the one
module that does I/O.
"""
