"""`howdah router` and `howdah routeradmin`.

`process` runs a router; `admin` manages the mount table. The work is `howdah.router`.
"""
