"""An object store for tests: moto's server in a process of its own, and a proxy with troubles.

- `server`   the process; it ends when its standard input does
- `stub`     a quick one that does less: for measuring, and for streams longer than memory
- `serving`  starting both, and handlers in threads
- `store`    starting them, and what a test says to connect to it
- `changes`  what is done to a tree while there is trouble
- `trouble`  a proxy that cuts, delays and refuses requests by number
"""
