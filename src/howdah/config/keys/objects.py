"""Keys of object stores: Hadoop's `fs.s3a.*`, which hold for `s3://` and `s3a://`.

`fs.s3a.bucket.NAME.X` is `fs.s3a.X` for one bucket (`howdah.fs.objects.settings`).
"""

from __future__ import annotations

from howdah.config.value_types import (
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
FS_S3A_ASSUMED_ROLE_ARN = optional_string(
    "fs.s3a.assumed.role.arn", "The role that AssumedRoleCredentialProvider assumes."
)
FS_S3A_ASSUMED_ROLE_SESSION_NAME = optional_string(
    "fs.s3a.assumed.role.session.name", "What a role's use is called in logs; else howdah-USER."
)
FS_S3A_ASSUMED_ROLE_SESSION_DURATION = duration(
    "fs.s3a.assumed.role.session.duration", "30m", "s", "How long the keys of a role hold."
)
FS_S3A_ASSUMED_ROLE_POLICY = optional_string(
    "fs.s3a.assumed.role.policy", "What the keys of a role may, if it is less than the role."
)
FS_S3A_ASSUMED_ROLE_STS_ENDPOINT = optional_string(
    "fs.s3a.assumed.role.sts.endpoint", "Who gives keys of roles; else Amazon."
)
FS_S3A_ASSUMED_ROLE_STS_ENDPOINT_REGION = optional_string(
    "fs.s3a.assumed.role.sts.endpoint.region", "The region of the former; else the session's."
)
FS_S3A_ASSUMED_ROLE_CREDENTIALS_PROVIDER = listing(
    "fs.s3a.assumed.role.credentials.provider",
    "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "Where the keys are looked for that may assume the role.",
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
FS_S3A_CREATE_CONDITIONAL_ENABLED = boolean(
    "fs.s3a.create.conditional.enabled",
    True,
    "Whether the last request of a new file has the store make sure that there is none; without "
    "it the one look at the beginning counts, for stores that know no conditions.",
)
FS_S3A_CREATE_PERFORMANCE = boolean(
    "fs.s3a.create.performance",
    False,
    "Whether a new file is not looked for at the beginning: a small one is one request then. "
    "Without overwrite close tells of a file that is there, and nobody of such a directory.",
)
FS_S3A_PERFORMANCE_FLAGS = listing(
    "fs.s3a.performance.flags",
    "",
    "Of `create`, `delete`, `mkdir` and `open`, or `*`: `create` is create.performance, the others "
    "change nothing.",
)
FS_S3A_OBJECT_CONTENT_ENCODING = optional_string(
    "fs.s3a.object.content.encoding", "The Content-Encoding that new objects are said to have."
)
FS_S3A_ENCRYPTION_ALGORITHM = optional_string(
    "fs.s3a.encryption.algorithm",
    "How the store encrypts objects: `AES256`, `SSE-KMS`, `DSSE-KMS` or `SSE-C`.",
)
FS_S3A_ENCRYPTION_KEY = optional_string(
    "fs.s3a.encryption.key", "The name of a key of KMS's, or for `SSE-C` the key itself, in Base64."
)
FS_S3A_ENCRYPTION_CONTEXT = optional_string(
    "fs.s3a.encryption.context", "What KMS binds its keys to: `NAME=VALUE, NAME=VALUE`."
)
FS_S3A_ACL_DEFAULT = optional_string(
    "fs.s3a.acl.default", "The access list that new objects get, as `BucketOwnerFullControl`."
)
FS_S3A_CREATE_STORAGE_CLASS = optional_string(
    "fs.s3a.create.storage.class", "The storage class of new objects, as `intelligent_tiering`."
)
FS_S3A_REQUESTER_PAYS_ENABLED = boolean(
    "fs.s3a.requester.pays.enabled", False, "Whether requests say that who makes them pays."
)
FS_S3A_ENDPOINT_FIPS = boolean(
    "fs.s3a.endpoint.fips", False, "Whether Amazon's FIPS endpoint of the region is asked."
)
FS_S3A_MULTIOBJECTDELETE_ENABLE = boolean(
    "fs.s3a.multiobjectdelete.enable",
    True,
    "Whether one request removes many objects; without it each has one of its own.",
)
FS_S3A_INPUT_FADVISE = optional_string(
    "fs.s3a.input.fadvise",
    "How files are read: `sequential`, `random`, or `default`, which finds out.",
)
FS_S3A_BULK_DELETE_PAGE_SIZE = integer(
    "fs.s3a.bulk.delete.page.size",
    250,
    "Objects that one request deletes.",
    minimum=1,
    maximum=1000,
)
