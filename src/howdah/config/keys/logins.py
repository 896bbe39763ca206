"""Keys of logins at web ports of clusters without Kerberos, which Hadoop does not have."""

from __future__ import annotations

from howdah.config.value_types import boolean, choice, listing, optional_string, string

HOWDAH_HTTP_AUTHENTICATION = choice(
    "howdah.http.authentication",
    "none",
    ("none", "file", "oidc"),
    "How users of web pages and WebHDFS prove who they are on a cluster without Kerberos: file "
    "(names and passwords of howdah.http.authentication.file), oidc (OpenID Connect, by the "
    "provider of howdah.http.authentication.oidc.issuer), or not at all.",
)
HOWDAH_HTTP_AUTHENTICATION_FILE = optional_string(
    "howdah.http.authentication.file",
    "The file of names and hashes of passwords, which howdah passwd writes.",
)
HOWDAH_HTTP_AUTHENTICATION_ALLOW_PLAIN_HTTP = boolean(
    "howdah.http.authentication.allow-plain-http",
    False,
    "Whether passwords, tokens and cookies of logins are taken over HTTP without TLS from other "
    "machines, and a provider of OpenID Connect is asked so, where whoever is in the network can "
    "read them.",
)
HOWDAH_HTTP_AUTHENTICATION_OIDC_ISSUER = optional_string(
    "howdah.http.authentication.oidc.issuer",
    "The provider of OpenID Connect that users log in by: its address as it stands in its tokens.",
)
HOWDAH_HTTP_AUTHENTICATION_OIDC_CLIENT_ID = optional_string(
    "howdah.http.authentication.oidc.client-id",
    "The name of this cluster at the provider of OpenID Connect.",
)
HOWDAH_HTTP_AUTHENTICATION_OIDC_CLIENT_SECRET_FILE = optional_string(
    "howdah.http.authentication.oidc.client-secret-file",
    "The file with the secret that proves the client at the provider. Without it the client is a "
    "public one, which proves by PKCE alone that it began the login.",
)
HOWDAH_HTTP_AUTHENTICATION_OIDC_SCOPES = listing(
    "howdah.http.authentication.oidc.scopes",
    "openid,profile",
    "What the provider is asked to say of a user.",
)
HOWDAH_HTTP_AUTHENTICATION_OIDC_USERNAME_CLAIM = string(
    "howdah.http.authentication.oidc.username-claim",
    "preferred_username",
    "The claim of a token that names the user. Users must not be able to choose it: who can be "
    "called hdfs there is the superuser here.",
)
HOWDAH_HTTP_AUTHENTICATION_OIDC_USER_RULES = optional_string(
    "howdah.http.authentication.oidc.user-rules",
    "What makes a user's name of the claim, in the form of hadoop.security.auth_to_local: for "
    "addresses of email, say, RULE:[1:$1@$0](.*@example[.]com)s/@.*//. Without rules the claim has "
    "to be the name itself.",
)
HOWDAH_HTTP_AUTHENTICATION_OIDC_ALGORITHMS = listing(
    "howdah.http.authentication.oidc.algorithms",
    "RS256,RS384,RS512,PS256,PS384,PS512,ES256,ES384,ES512",
    "By which algorithms tokens may be signed.",
)
HOWDAH_HTTP_AUTHENTICATION_OIDC_BEARER_AUDIENCE = optional_string(
    "howdah.http.authentication.oidc.bearer-audience",
    "For whom access tokens have to be that programs show by Authorization: Bearer. Without it "
    "none are taken.",
)
HOWDAH_HTTP_AUTHENTICATION_OIDC_LOGOUT_AT_PROVIDER = boolean(
    "howdah.http.authentication.oidc.logout-at-provider",
    True,
    "Whether a log-out leads on to the provider's page for that (end_session_endpoint), if there "
    "is one.",
)
HOWDAH_HTTP_AUTHENTICATION_OIDC_CA_FILE = optional_string(
    "howdah.http.authentication.oidc.ca-file",
    "Certificates (PEM) of whoever signs the provider's. Without it the system's are believed.",
)
