"""Files over HTTP for those who have no client: `files` does the operations of WebHDFS that
move bytes, through our own client. A datanode serves it from its keeper."""
