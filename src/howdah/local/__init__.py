"""A cluster on this machine: real servers, one directory.

`layout` decides ports, directories and configuration files; `servers` starts a server and
`processes` watches and signals it; `cluster` starts and stops all of a layout, and waits
until they can serve. What `howdah up` has left running is found by `runtime.running_cluster`.
`howdah.cli` and `howdah.testing` are made of this; it knows neither of them, and servers are
programs to it (`python -m howdah`).
"""
