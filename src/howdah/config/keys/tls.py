"""Keys of TLS over HTTP: the policy, secure addresses, where keystores are described."""

from __future__ import annotations

from howdah.config.value_types import address, boolean, choice, listing, optional_string, string

DFS_HTTP_POLICY = choice(
    "dfs.http.policy",
    "HTTP_ONLY",
    ("HTTP_ONLY", "HTTPS_ONLY", "HTTP_AND_HTTPS"),
    "Whether servers answer HTTP, HTTP over TLS, or both; servers reach each other over TLS "
    "where it is HTTPS_ONLY.",
)
DFS_HTTPS_SERVER_KEYSTORE_RESOURCE = string(
    "dfs.https.server.keystore.resource",
    "ssl-server.xml",
    "The file that describes a server's keystore: a name in the configuration's directory, or a "
    "path.",
)
DFS_CLIENT_HTTPS_KEYSTORE_RESOURCE = optional_string(
    "dfs.client.https.keystore.resource",
    "The same for clients; else hadoop.ssl.client.conf says it.",
)
HADOOP_SSL_CLIENT_CONF = string(
    "hadoop.ssl.client.conf",
    "ssl-client.xml",
    "The file that describes whom clients trust: a name in the configuration's directory, or a "
    "path.",
)
HADOOP_SSL_SERVER_CONF = string(
    "hadoop.ssl.server.conf",
    "ssl-server.xml",
    "The file that describes the keystore of a gateway (howdah httpfs).",
)
HADOOP_SSL_HOSTNAME_VERIFIER = choice(
    "hadoop.ssl.hostname.verifier",
    "DEFAULT",
    ("DEFAULT", "DEFAULT_AND_LOCALHOST", "STRICT", "STRICT_IE6", "ALLOW_ALL"),
    "How clients hold the name of a server against its certificate: ALLOW_ALL not at all, "
    "DEFAULT_AND_LOCALHOST not for localhost, the others as RFC 2818 has it.",
)
HADOOP_SSL_ENABLED_PROTOCOLS = listing(
    "hadoop.ssl.enabled.protocols",
    "TLSv1.2,TLSv1.3",
    "Versions of TLS that are spoken; older ones are left out.",
)
DFS_CLIENT_HTTPS_NEED_AUTH = boolean(
    "dfs.client.https.need-auth",
    False,
    "Whether servers want a certificate of each client, signed by one of the truststore.",
)
DFS_NAMENODE_HTTPS_ADDRESS = address(
    "dfs.namenode.https-address", "127.0.0.1:9871", "The namenode's pages and WebHDFS, over TLS."
)
DFS_NAMENODE_HTTPS_BIND_HOST = optional_string(
    "dfs.namenode.https-bind-host", "The address to bind instead, with the port above."
)
DFS_NAMENODE_SECONDARY_HTTPS_ADDRESS = address(
    "dfs.namenode.secondary.https-address",
    "127.0.0.1:9869",
    "The secondary namenode's page and figures, over TLS; from its host images are taken.",
)
DFS_JOURNALNODE_HTTPS_ADDRESS = address(
    "dfs.journalnode.https-address", "127.0.0.1:8481", "A journal node's web port, over TLS."
)
DFS_JOURNALNODE_HTTPS_BIND_HOST = optional_string(
    "dfs.journalnode.https-bind-host", "The address to bind instead, with the port above."
)
DFS_FEDERATION_ROUTER_HTTPS_ADDRESS = address(
    "dfs.federation.router.https-address", "127.0.0.1:50072", "A router's web port, over TLS."
)
DFS_FEDERATION_ROUTER_HTTPS_BIND_HOST = optional_string(
    "dfs.federation.router.https-bind-host", "The address to bind instead, with the port above."
)
HTTPFS_SSL_ENABLED = boolean(
    "httpfs.ssl.enabled", False, "Whether a gateway speaks HTTP over TLS, and nothing else."
)
DFS_DATANODE_HTTPS_ADDRESS = address(
    "dfs.datanode.https.address", "127.0.0.1:9865", "A datanode's pages and WebHDFS, over TLS."
)
