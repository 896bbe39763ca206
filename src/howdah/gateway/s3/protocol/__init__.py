"""The rules of S3's protocol, without a connection or a filesystem (pure).

- `operations` the table of operations: those that are served, and the others by name
- `requests`   a request's bucket, key and parameters
- `names`      which buckets and keys there can be
- `signatures` who has signed a request (Signature Version 4), and how its body is secured
- `chunks`     bodies in signed or unsigned chunks (`aws-chunked`)
- `checksums`  the sums that a body has to have
- `conditions` ETags, conditions and times
- `listing`    keys in S3's order, out of directories
- `documents`  XML of requests and answers
- `metadata`   what is kept with an object beside its bytes
- `tags`       pairs of texts that objects are marked with
- `multipart`  uploads in parts
- `forms`      uploads of browsers, as they come
- `policies`   what such a form may upload, and who says so
- `cors`       what pages of other servers may do in a browser
- `refusals`   errors in S3's words
"""
