"""Objects of a store as files: `s3://BUCKET/path` and `s3a://BUCKET/path`, and, in rooms of
their own, Azure's containers and Google's buckets.

A store has keys and no directories, takes an object whole or not at all, and renames nothing.
What that makes of a FileSystem:

1. A file is there when its stream is closed. Parts go up while it is written; `close` makes
   the object, or raises and leaves none.
2. A directory is a prefix that keys have, or an empty object whose key ends with a slash, as
   Hadoop's S3A makes it.
3. A rename copies at the server and deletes, object by object, and says so
   (`path_capabilities`).
4. A reader stays with the object that it opened, and says when there is another.

Pure:

- `names`      paths and keys
- `store`      what is asked of a store, and its answers
- `parts`      how large the parts are, which bytes each of a copy has
- `batches`    several requests in one
- `read_plan`  what to ask for when a reader wants bytes

Shells:

- `tuning`       sizes and times, as every store has them
- `settings`     Hadoop's keys `fs.s3a.*`, for one bucket
- `credentials`  Hadoop's providers of keys, as botocore has them
- `failures`     errors of botocore as those of howdah
- `retrying`     making a request again
- `s3`           a store that speaks S3's protocol, through botocore
- `http_client`         requests to stores that are asked without a client of others
- `prefetching_lister`        the directories of a tree, many in a request
- `input`, `output`, `tree`, `copying`, `filesystem`
"""
