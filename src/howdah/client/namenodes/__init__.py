"""Calls to the namenodes of one namespace: which one is asked, and what follows a failure.

- `target`      what an authority such as `host:8020` or the name of a nameservice stands for
- `connections` one RPC client a namenode, all under one client id
- `calls`       what is asked of a namespace: `NamenodeCalls`; `SingleNamenode` asks one namenode
- `call_loop`   what the two that follow have in common
- `failover`    ConfiguredFailoverProxyProvider: one after the other
- `hedging`     RequestHedgingProxyProvider: all at once, and then the first that answered
- `failover_probe`  a namenode that hangs is left when another one is active
- `observers`   ObserverReadProxyProvider: reads go to observers
- `active_cache`  which namenode was active when this process last asked
- `providers`   which of them a configuration asks for
"""
