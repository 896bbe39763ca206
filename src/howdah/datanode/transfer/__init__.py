"""The data port: DataTransferProtocol as a datanode serves it, a thread a connection.

`data_server` accepts, `operations` reads what is asked; `receiver` with `responder` and
`mirror` takes a block (BlockReceiver and PacketResponder in Hadoop), of which `relay` lets the
ordinary packets pass through the kernel; `sender` sends one, `copies` sends one to another
datanode; `short_circuit` passes descriptors. Arrows: `transfer -> replicas`; the namenode is
unknown here.
"""
