"""What S3's protocol says, and what of it is done without botocore.

- `additions`  what requests carry besides: encryption, access lists, storage classes
- `fields`     fields of requests and answers
- `listing`    pages of keys, which cost most of the time
- `roles`      keys of roles that are assumed (the one that asks somebody)
"""
