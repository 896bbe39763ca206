"""Files over HTTP for those who have no client, through our own client. `transfers` does the
operations of WebHDFS that move bytes; `files` is what a datanode's control process serves,
`httpfs` a gateway for all operations at one port, with `clients` for each user, and `server` its
process. `pages` is what it answers beside that, made by `overview` of what `metrics` counts and
`pages` has found. `s3` is a gateway for S3."""
