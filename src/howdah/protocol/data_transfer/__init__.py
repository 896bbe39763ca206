"""DataTransferProtocol v28: how blocks travel between clients and datanodes (pure).

`packets`, `packet_stream`, `op_requests`, `op_request_decoder`, `responses`, `status` and
`blocks` turn bytes into values and back. `checksum` sums chunks. The sockets are
`howdah.runtime.sockets`.
"""

from __future__ import annotations

from typing import Final

MAX_PACKET_BYTES: Final = 16 * 1024 * 1024
"""Default of `dfs.data.transfer.max.packet.size`: lengths, header, sums and data."""
