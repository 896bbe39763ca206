"""ClientProtocol of a router. Hadoop: RouterRpcServer, RouterClientProtocol.

- `core`        what the calls share: resolving, checking, asking one or all destinations
- `paths`       calls about one path that go on as they are
- `files`       those of writers: files, blocks, leases
- `tree`        those that make, move and remove names
- `listing`     directories over all their destinations and mount points
- `cluster`     nameservices as a whole
- `caching`     cache pools and directives
- `fast_path`       the short way of a call that goes to one destination
- `forwarding`  every method with its home, and how many calls are under way
"""
