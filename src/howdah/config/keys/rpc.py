"""Keys of Hadoop RPC, at both ends."""

from __future__ import annotations

from howdah.config.value_types import boolean, duration, integer, size

IPC_MAXIMUM_DATA_LENGTH = size(
    "ipc.maximum.data.length", "134217728", "The longest request that a server reads.", minimum=1
)
IPC_MAXIMUM_RESPONSE_LENGTH = size(
    "ipc.maximum.response.length", "134217728", "The longest answer that a client reads."
)
IPC_PING_INTERVAL = duration(
    "ipc.ping.interval", "60000", "ms", "Time between pings of a client that waits."
)
IPC_CLIENT_PING = boolean("ipc.client.ping", True, "Whether a client that waits sends pings.")
IPC_CLIENT_RPC_TIMEOUT_MS = duration(
    "ipc.client.rpc-timeout.ms", "120000", "ms", "How long a call may take; 0: for ever."
)
IPC_CLIENT_CONNECT_TIMEOUT = duration(
    "ipc.client.connect.timeout", "20000", "ms", "How long one attempt to connect may take."
)
IPC_CLIENT_CONNECT_MAX_RETRIES = integer(
    "ipc.client.connect.max.retries", 10, "Further attempts after a refused one.", minimum=0
)
IPC_CLIENT_CONNECT_MAX_RETRIES_ON_TIMEOUTS = integer(
    "ipc.client.connect.max.retries.on.timeouts",
    45,
    "Further attempts after one that timed out.",
    minimum=0,
)
IPC_CLIENT_CONNECT_RETRY_INTERVAL = duration(
    "ipc.client.connect.retry.interval", "1000", "ms", "Pause between attempts to connect."
)
IPC_CLIENT_CONNECTION_MAXIDLETIME = duration(
    "ipc.client.connection.maxidletime", "10000", "ms", "When an idle connection is closed."
)
IPC_CLIENT_IDLETHRESHOLD = integer(
    "ipc.client.idlethreshold", 4000, "Connections above which a server looks for idle ones."
)
IPC_CLIENT_TCPNODELAY = boolean(
    "ipc.client.tcpnodelay", True, "Whether a client switches Nagle's algorithm off."
)
IPC_SERVER_LISTEN_QUEUE_SIZE = integer(
    "ipc.server.listen.queue.size", 256, "The listen backlog of a server.", minimum=1
)
IPC_SERVER_MAX_CONNECTIONS = integer(
    "ipc.server.max.connections", 0, "Connections a server takes at once; 0: any number."
)
