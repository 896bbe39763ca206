"""Buckets of Google's Cloud Storage: `gs://BUCKET/path`.

The JSON API, by requests of our own, with tokens by google-auth. The XML API is S3's and would
have been free, but has no conditions for uploads in parts, so that a new file could overwrite
another; google-cloud-storage keeps chunks, repetitions and checksums behind its back.

- `documents`    what the service answers: resources, listings, errors
- `resumable`    where a resumable upload stands, and what to send next (pure)
- `settings`     Hadoop's keys `fs.gs.*`, for one bucket
- `credentials`  tokens, by google-auth over our connections
- `store`        one bucket
- `uploads`      a resumable upload
- `filesystem`   the class of the scheme

An upload is a session: one request after the other, none of it seen before the last. Google
drops it after a week, and has no list of them. An object is known by its generation.
"""
