"""Keys of web ports of secured servers: how who asks proves who he is, and who may look at what."""

from __future__ import annotations

from howdah.config.value_types import boolean, integer, optional_string, string

DFS_WEB_AUTHENTICATION_KERBEROS_PRINCIPAL = optional_string(
    "dfs.web.authentication.kerberos.principal",
    "The principal of a secured server's web ports, HTTP/_HOST@REALM; _HOST stands for the host.",
)
DFS_WEB_AUTHENTICATION_KERBEROS_KEYTAB = optional_string(
    "dfs.web.authentication.kerberos.keytab",
    "The keytab that has the key of that principal; else hadoop.http.authentication.kerberos."
    "keytab, else the server's own.",
)
DFS_NAMENODE_KERBEROS_INTERNAL_SPNEGO_PRINCIPAL = optional_string(
    "dfs.namenode.kerberos.internal.spnego.principal",
    "The principal of a namenode's web ports, where dfs.web.authentication.kerberos.principal is "
    "not set.",
)
DFS_JOURNALNODE_KERBEROS_INTERNAL_SPNEGO_PRINCIPAL = optional_string(
    "dfs.journalnode.kerberos.internal.spnego.principal",
    "The same of a journal node's.",
)
DFS_FEDERATION_ROUTER_KERBEROS_INTERNAL_SPNEGO_PRINCIPAL = optional_string(
    "dfs.federation.router.kerberos.internal.spnego.principal",
    "The same of a router's.",
)
DFS_SECONDARY_NAMENODE_KERBEROS_PRINCIPAL = optional_string(
    "dfs.secondary.namenode.kerberos.principal",
    "The Kerberos principal of a secondary namenode, from which images are taken.",
)
DFS_SECONDARY_NAMENODE_KEYTAB_FILE = optional_string(
    "dfs.secondary.namenode.keytab.file", "The keytab by which a secondary namenode logs in."
)
DFS_SECONDARY_NAMENODE_KERBEROS_INTERNAL_SPNEGO_PRINCIPAL = optional_string(
    "dfs.secondary.namenode.kerberos.internal.spnego.principal",
    "The principal of a secondary namenode's web ports, where "
    "dfs.web.authentication.kerberos.principal is not set.",
)
HADOOP_HTTP_AUTHENTICATION_TYPE = string(
    "hadoop.http.authentication.type",
    "simple",
    "With kerberos the pages of secured servers ask for a ticket; where simple is set, everybody "
    "may look at those that are not an administrator's.",
)
HADOOP_HTTP_AUTHENTICATION_SIMPLE_ANONYMOUS_ALLOWED = boolean(
    "hadoop.http.authentication.simple.anonymous.allowed",
    True,
    "Whether such pages are open to who gives no name.",
)
HADOOP_HTTP_AUTHENTICATION_KERBEROS_PRINCIPAL = optional_string(
    "hadoop.http.authentication.kerberos.principal",
    "The principal of web ports, where no key says it for HDFS alone.",
)
HADOOP_HTTP_AUTHENTICATION_KERBEROS_KEYTAB = optional_string(
    "hadoop.http.authentication.kerberos.keytab", "The keytab of that principal."
)
HADOOP_HTTP_AUTHENTICATION_SIGNATURE_SECRET_FILE = string(
    "hadoop.http.authentication.signature.secret.file",
    "${user.home}/hadoop-http-auth-signature-secret",
    "What cookies are signed by, which servers may share; where there is no such file, a random "
    "key that ends with the process.",
)
HADOOP_HTTP_AUTHENTICATION_TOKEN_VALIDITY = integer(
    "hadoop.http.authentication.token.validity",
    36000,
    "For how many seconds a cookie counts.",
    minimum=1,
)
HADOOP_HTTP_AUTHENTICATION_COOKIE_DOMAIN = optional_string(
    "hadoop.http.authentication.cookie.domain",
    "The domain to whose servers browsers send the cookie; else the server alone.",
)
HADOOP_HTTP_AUTHENTICATION_COOKIE_PATH = string(
    "hadoop.http.authentication.cookie.path",
    "/",
    "The part of a server to which browsers send the cookie.",
)
HADOOP_SECURITY_INSTRUMENTATION_REQUIRES_ADMIN = boolean(
    "hadoop.security.instrumentation.requires.admin",
    False,
    "Whether figures and the configuration of a secured server are for administrators alone.",
)
