"""HTTP faces of the servers. `http` reads requests and writes answers (pure);
`status` makes the namenode's status page from plain values."""
