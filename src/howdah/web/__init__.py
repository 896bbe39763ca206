"""HTTP for all servers and tools. `http` has requests and answers as values (pure), `channel`
one connection with its parser, `server` a thread for each. `status`, `jmx` and `configuration`
make pages from plain values (pure), and `image_transfer` has the requests of checkpoints. Knows
none of the servers."""
