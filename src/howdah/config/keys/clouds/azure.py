"""Keys of Azure's containers: Hadoop's `fs.azure.*`, for `az://`, `abfs[s]://` and `wasb[s]://`.

Keys with names of accounts and containers in them, secrets above all, are read by
`howdah.fs.objects.azure.settings`.
"""

from __future__ import annotations

from howdah.config.value_types import boolean, duration, integer, optional_string, size

FS_AZURE_ABFS_ENDPOINT = optional_string(
    "fs.azure.abfs.endpoint",
    "HOST:PORT of an emulator, or its URL, which has the account in paths; else Azure's.",
)
FS_AZURE_ALWAYS_USE_HTTPS = boolean(
    "fs.azure.always.use.https", True, "Whether `abfs://` goes over TLS, as `abfss://` does."
)
FS_AZURE_WRITE_REQUEST_SIZE = size(
    "fs.azure.write.request.size",
    "8M",
    "Bytes in a block; what is smaller goes up in one request. Blocks grow where 10,000 of them "
    "would not hold the file.",
    minimum=16 << 10,
    maximum=100 << 20,
)
FS_AZURE_BLOCK_UPLOAD_ACTIVE_BLOCKS = integer(
    "fs.azure.block.upload.active.blocks",
    20,
    "Blocks of one stream that are in memory while they are uploaded.",
    minimum=1,
)
FS_AZURE_READAHEAD_RANGE = size(
    "fs.azure.readahead.range",
    "64K",
    "Bytes that are read at least once reads are at random; a gap up to that is read over.",
    minimum=1,
)
FS_AZURE_LIST_MAX_RESULTS = integer(
    "fs.azure.list.max.results", 5000, "Names in a page of a listing.", minimum=1
)
FS_AZURE_IO_RETRY_MAX_RETRIES = integer(
    "fs.azure.io.retry.max.retries",
    30,
    "How often a request is made again that failed or was not answered.",
    minimum=0,
)
FS_AZURE_IO_RETRY_MIN_BACKOFF_INTERVAL = duration(
    "fs.azure.io.retry.min.backoff.interval",
    "500ms",
    "ms",
    "The pause before the first repetition; it doubles.",
)
FS_AZURE_HTTP_CONNECTION_TIMEOUT = duration(
    "fs.azure.http.connection.timeout", "2s", "ms", "How long a connection may take."
)
FS_AZURE_HTTP_READ_TIMEOUT = duration(
    "fs.azure.http.read.timeout", "30s", "ms", "How long a connection may be silent."
)
