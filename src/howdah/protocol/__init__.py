"""What crosses the wire (pure).

- `rpc`             Hadoop RPC v9, from frames to sessions
- `data_transfer`   DataTransferProtocol v28
- `client_methods`  the table of ClientProtocol's methods
- `varint`          varints, and messages behind their length
- `zookeeper`       ZooKeeper's messages
"""
