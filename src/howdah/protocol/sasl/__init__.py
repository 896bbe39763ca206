"""SASL as Hadoop's RPC and DataTransferProtocol use it (pure): mechanisms, layers, principals.

A mechanism (`mechanism`) is one side of an exchange of tokens. What it cannot know by itself is
given to it: nonces to `digest_md5`, a security context to `gssapi`. Who carries the tokens from
one side to the other is no business of a mechanism: `howdah.protocol.rpc.negotiation` does in RPC,
`howdah.protocol.data_transfer.handshake` on data connections.
"""
