"""S3 in front of any filesystem of howdah's: buckets are directories, and keys are paths below.

`protocol` has the rules, and does no I/O. `service` answers requests by `operations`, which work on
`buckets`, `objects` and `uploads`; `body` reads and checks what a client sends, `access_keys` knows
whose key a request was signed with, and `server` is the process of `howdah s3`.
"""
