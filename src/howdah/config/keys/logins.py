"""Keys of logins at web ports of clusters without Kerberos, which Hadoop does not have."""

from __future__ import annotations

from howdah.config.value_types import boolean, choice, optional_string

HOWDAH_HTTP_AUTHENTICATION = choice(
    "howdah.http.authentication",
    "none",
    ("none", "file"),
    "How users of web pages and WebHDFS prove who they are on a cluster without Kerberos: file "
    "(names and passwords of howdah.http.authentication.file), or not at all.",
)
HOWDAH_HTTP_AUTHENTICATION_FILE = optional_string(
    "howdah.http.authentication.file",
    "The file of names and hashes of passwords, which howdah passwd writes.",
)
HOWDAH_HTTP_AUTHENTICATION_ALLOW_PLAIN_HTTP = boolean(
    "howdah.http.authentication.allow-plain-http",
    False,
    "Whether passwords and cookies of logins are taken over HTTP without TLS from other machines, "
    "where whoever is in the network can read them.",
)
