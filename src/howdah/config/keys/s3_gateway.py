"""Keys of a gateway for S3 (`howdah s3`), which Hadoop does not have."""

from __future__ import annotations

from howdah.config.value_types import (
    address,
    boolean,
    duration,
    listing,
    optional_boolean,
    optional_string,
    string,
)

HOWDAH_S3_ADDRESS = address(
    "howdah.s3.address", "127.0.0.1:9878", "Where a gateway for S3 listens."
)
HOWDAH_S3_SSL_ENABLED = boolean(
    "howdah.s3.ssl.enabled",
    False,
    "Whether a gateway for S3 speaks HTTP over TLS, and nothing else.",
)
HOWDAH_S3_ROOT = string(
    "howdah.s3.root",
    "/s3",
    "The directory whose children are the buckets of a gateway for S3; new ones are made there.",
)
HOWDAH_S3_BUCKETS = listing(
    "howdah.s3.buckets",
    "",
    "Further buckets of a gateway for S3 and their directories, as NAME=/PATH; they go before "
    "those of howdah.s3.root.",
)
HOWDAH_S3_KEYS_FILE = optional_string(
    "howdah.s3.keys.file",
    "The file of access keys of a gateway for S3, which howdah s3 keys writes.",
)
HOWDAH_S3_KEYS_PASSPHRASE_FILE = optional_string(
    "howdah.s3.keys.passphrase.file",
    "The file whose first line is the passphrase of an encrypted file of access keys.",
)
HOWDAH_S3_ANONYMOUS_USER = optional_string(
    "howdah.s3.anonymous.user",
    "As whom a gateway for S3 serves unsigned requests; without a value it refuses them.",
)
HOWDAH_S3_DOMAINS = listing(
    "howdah.s3.domains",
    "",
    "Host names of a gateway for S3 below which buckets are hosts: with s3.example.com, "
    "http://BUCKET.s3.example.com/KEY.",
)
HOWDAH_S3_CORS_ORIGINS = listing(
    "howdah.s3.cors.origins",
    "",
    "The origins whose pages may send signed requests to a gateway for S3 from a browser, such as "
    "https://app.example.com or https://*.example.com; * for all.",
)
HOWDAH_S3_IMPERSONATION = optional_boolean(
    "howdah.s3.impersonation",
    "Whether a gateway for S3 connects under its own name and acts for its users; without a value, "
    "if hadoop.proxyuser.* has rules for that name.",
)
HOWDAH_S3_KERBEROS_PRINCIPAL = optional_string(
    "howdah.s3.kerberos.principal",
    "As whom a gateway for S3 logs in before a secured cluster; _HOST stands for its host.",
)
HOWDAH_S3_KERBEROS_KEYTAB = optional_string(
    "howdah.s3.kerberos.keytab", "The keytab by which a gateway for S3 logs in."
)
HOWDAH_S3_CLIENTS_IDLE = duration(
    "howdah.s3.clients.idle",
    "60",
    "s",
    "How long a gateway for S3 keeps the client of a user who asks for nothing.",
)
HOWDAH_S3_UPLOADS_LIFETIME = duration(
    "howdah.s3.uploads.lifetime",
    "7d",
    "s",
    "How long a gateway for S3 keeps what came of a multipart upload that nobody goes on with.",
)
