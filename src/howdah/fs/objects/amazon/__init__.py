"""What S3's protocol costs most time for, done without botocore.

- `listing`  pages of keys (pure)
"""
