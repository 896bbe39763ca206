"""HTTP for all servers and tools. `http` reads requests and writes answers (pure), `server`
serves them beside a loop; `status`, `jmx` and `configuration` make pages from plain values
(pure), and `image_transfer` has the requests of checkpoints. Knows none of the servers."""
