"""HTTP for all servers and tools. `http` has requests and answers as values (pure), `channel`
one connection with its parser, `admission` those that have said nothing yet and those that have
to wait, `server` a thread for each of the others. `status`, `jmx` and `configuration` make pages
from plain values (pure), and `image_transfer` has the requests of checkpoints. A client's side
are `connections`, which are kept, and `http_client`, of one file. Knows none of the servers."""
