"""Keys of Google's buckets: Hadoop's `fs.gs.*`, for `gs://`."""

from __future__ import annotations

from howdah.config.value_types import duration, integer, optional_string, size

FS_GS_STORAGE_ROOT_URL = optional_string(
    "fs.gs.storage.root.url", "The store's URL; else STORAGE_EMULATOR_HOST's, or Google's."
)
FS_GS_AUTH_TYPE = optional_string(
    "fs.gs.auth.type",
    "Who one is: APPLICATION_DEFAULT, COMPUTE_ENGINE, SERVICE_ACCOUNT_JSON_KEYFILE, "
    "USER_CREDENTIALS, WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE or UNAUTHENTICATED; "
    "else APPLICATION_DEFAULT (Hadoop: COMPUTE_ENGINE, which is the last of what that looks for).",
)
FS_GS_AUTH_SERVICE_ACCOUNT_JSON_KEYFILE = optional_string(
    "fs.gs.auth.service.account.json.keyfile", "The file with the key of a service account."
)
FS_GS_AUTH_WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE = optional_string(
    "fs.gs.auth.workload.identity.federation.credential.config.file",
    "The file that says where a token of another provider is.",
)
FS_GS_AUTH_CLIENT_ID = optional_string("fs.gs.auth.client.id", "Of USER_CREDENTIALS.")
FS_GS_AUTH_CLIENT_SECRET = optional_string("fs.gs.auth.client.secret", "Of USER_CREDENTIALS.")
FS_GS_AUTH_REFRESH_TOKEN = optional_string("fs.gs.auth.refresh.token", "Of USER_CREDENTIALS.")
FS_GS_TOKEN_SERVER_URL = optional_string(
    "fs.gs.token.server.url", "Where tokens are asked for; else where the credentials say."
)
FS_GS_OUTPUTSTREAM_BUFFER_SIZE = size(
    "fs.gs.outputstream.buffer.size",
    "8M",
    "Bytes in a request of an upload, in whole 256 KiB; what is smaller goes up in one request.",
    minimum=256 << 10,
    maximum=1 << 30,
)
FS_GS_LIST_MAX_ITEMS_PER_CALL = integer(
    "fs.gs.list.max.items.per.call",
    5000,
    "Names in a page of a listing; Google gives 1,000 at most.",
    minimum=1,
)
FS_GS_HTTP_MAX_RETRY = integer(
    "fs.gs.http.max.retry",
    10,
    "How often a request is made again that failed or was not answered.",
    minimum=0,
)
FS_GS_HTTP_CONNECT_TIMEOUT = duration(
    "fs.gs.http.connect-timeout", "5s", "ms", "How long a connection may take."
)
FS_GS_HTTP_READ_TIMEOUT = duration(
    "fs.gs.http.read-timeout", "5s", "ms", "How long a connection may be silent."
)
FS_GS_INPUTSTREAM_MIN_RANGE_REQUEST_SIZE = size(
    "fs.gs.inputstream.min.range.request.size",
    "2M",
    "Bytes that are read at least once reads are at random; a gap up to that is read over.",
    minimum=1,
)
