"""What S3's protocol says, and what of it is done without botocore.

- `connection` botocore's client of a process, and how a request is made (shell)
- `request_options`  what requests carry besides: encryption, access lists, storage classes
- `field_codec`     fields of requests and answers
- `listing`    pages of keys, which cost most of the time
- `http_requests`      the requests that are made most, without botocore (shell)
- `signing`    signatures of requests
- `roles`      keys of roles that are assumed (the one that asks somebody)
"""
