"""Keys of object stores: Hadoop's `fs.s3a.*`, which hold for `s3://` and `s3a://`.

`fs.s3a.bucket.NAME.X` is `fs.s3a.X` for one bucket (`howdah.fs.objects.settings`).
"""

from __future__ import annotations

from howdah.kinds import (
    boolean,
    choice,
    duration,
    integer,
    listing,
    optional_string,
    size,
)

FS_S3A_ENDPOINT = optional_string(
    "fs.s3a.endpoint",
    "The store's host, or its URL; else Amazon's of the region.",
)
FS_S3A_ENDPOINT_REGION = optional_string(
    "fs.s3a.endpoint.region",
    "The region for which requests are signed; else the endpoint's, AWS_REGION's, or us-east-1.",
)
FS_S3A_ACCESS_KEY = optional_string("fs.s3a.access.key", "The id of the key, with secret.key.")
FS_S3A_SECRET_KEY = optional_string("fs.s3a.secret.key", "The secret half of the key.")
FS_S3A_SESSION_TOKEN = optional_string(
    "fs.s3a.session.token", "What a temporary key needs besides."
)
FS_S3A_AWS_CREDENTIALS_PROVIDER = listing(
    "fs.s3a.aws.credentials.provider",
    "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider,"
    "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider,"
    "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider,"
    "org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider",
    "Where keys are looked for, in order, by Hadoop's and Amazon's class names.",
)
FS_S3A_PATH_STYLE_ACCESS = boolean(
    "fs.s3a.path.style.access",
    False,
    "Whether the bucket is in the path of a request instead of in the name of the host.",
)
FS_S3A_CONNECTION_SSL_ENABLED = boolean(
    "fs.s3a.connection.ssl.enabled",
    True,
    "Whether an endpoint without a scheme is reached by TLS.",
)
FS_S3A_CONNECTION_MAXIMUM = integer(
    "fs.s3a.connection.maximum", 500, "Connections that are kept.", minimum=1
)
FS_S3A_CONNECTION_ESTABLISH_TIMEOUT = duration(
    "fs.s3a.connection.establish.timeout", "30s", "ms", "How long a connection may take."
)
FS_S3A_CONNECTION_TIMEOUT = duration(
    "fs.s3a.connection.timeout", "200s", "ms", "How long a connection may be silent."
)
FS_S3A_RETRY_LIMIT = integer(
    "fs.s3a.retry.limit",
    7,
    "How often a request is made again that failed or was not answered.",
    minimum=0,
)
FS_S3A_RETRY_INTERVAL = duration(
    "fs.s3a.retry.interval", "500ms", "ms", "The pause before the first repetition; it doubles."
)
FS_S3A_RETRY_THROTTLE_LIMIT = integer(
    "fs.s3a.retry.throttle.limit",
    20,
    "How often a request is made again for which the store had no time.",
    minimum=0,
)
FS_S3A_RETRY_THROTTLE_INTERVAL = duration(
    "fs.s3a.retry.throttle.interval",
    "100ms",
    "ms",
    "The pause before the first of these repetitions; it doubles.",
)
FS_S3A_PAGING_MAXIMUM = integer(
    "fs.s3a.paging.maximum",
    5000,
    "Keys in a page of a listing; S3 gives 1,000 at most.",
    minimum=1,
)
FS_S3A_THREADS_MAX = integer(
    "fs.s3a.threads.max", 96, "Uploads and copies that run at a time.", minimum=1
)
FS_S3A_FAST_UPLOAD_ACTIVE_BLOCKS = integer(
    "fs.s3a.fast.upload.active.blocks",
    4,
    "Parts of one stream that are in memory while they are uploaded.",
    minimum=1,
)
FS_S3A_MULTIPART_SIZE = size(
    "fs.s3a.multipart.size",
    "64M",
    "Bytes in a part; what is smaller goes up in one request. Parts grow where 10,000 of "
    "them would not hold the file.",
    minimum=5 << 20,
    maximum=5 << 30,
)
FS_S3A_MULTIPART_THRESHOLD = size(
    "fs.s3a.multipart.threshold",
    "128M",
    "From how many bytes on a file is copied in parts.",
    minimum=5 << 20,
)
FS_S3A_READAHEAD_RANGE = size(
    "fs.s3a.readahead.range",
    "64K",
    "Bytes that are read at least once reads are at random; a gap up to that is read over.",
    minimum=1,
)
FS_S3A_VECTORED_READ_MIN_SEEK_SIZE = size(
    "fs.s3a.vectored.read.min.seek.size",
    "128K",
    "Gaps between ranges of a vectored read below that are read over.",
)
FS_S3A_VECTORED_READ_MAX_MERGED_SIZE = size(
    "fs.s3a.vectored.read.max.merged.size",
    "2M",
    "What one request of a vectored read may grow to by merging.",
)
FS_S3A_CHANGE_DETECTION_SOURCE = choice(
    "fs.s3a.change.detection.source",
    "etag",
    ("etag", "versionid"),
    "By what an open file is recognised: with `versionid` a reader stays with its version.",
)
FS_S3A_CHANGE_DETECTION_VERSION_REQUIRED = boolean(
    "fs.s3a.change.detection.version.required",
    True,
    "Whether a file without a version is refused with `versionid`; else its ETag counts.",
)
FS_S3A_CHANGE_DETECTION_MODE = choice(
    "fs.s3a.change.detection.mode",
    "server",
    ("server", "client", "warn", "none"),
    "Who compares, the store or the reader; `warn` says so in the log and reads on, `none` "
    "reads whatever is there.",
)
FS_S3A_CREATE_CHECKSUM_ALGORITHM = choice(
    "fs.s3a.create.checksum.algorithm",
    "CRC32C",
    ("CRC32C", "NONE"),
    "The checksum that goes with uploads, which the store checks and keeps. Hadoop has none.",
)
FS_S3A_BULK_DELETE_PAGE_SIZE = integer(
    "fs.s3a.bulk.delete.page.size",
    250,
    "Objects that one request deletes.",
    minimum=1,
    maximum=1000,
)
