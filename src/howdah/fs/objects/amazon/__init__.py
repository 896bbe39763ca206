"""What S3's protocol says, and what of it is done without botocore (nothing here asks a store).

- `additions`  what requests carry besides: encryption, access lists, storage classes
- `fields`     fields of requests and answers
- `listing`    pages of keys, which cost most of the time
"""
