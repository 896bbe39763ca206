"""HDFS over HTTP as a FileSystem: `webhdfs://` and `swebhdfs://`, without a port for RPC.

`filesystem` is the class, on the same methods as `hdfs`: `calls` makes a request of WebHDFS out
of each call of ClientProtocol (`howdah.web.webhdfs.requests` and `answers` say which), and finds
the active one of several namenodes. `input` and `output` move bytes from and to the datanodes to
which the namenode sends. Connections are kept by
`howdah.web.connections`, on `h11`, since Python's `http.client` cannot wait for the `100 Continue`
that says that a file is made.
"""
