"""`howdah router`: several namespaces behind one address. Hadoop: router-based federation.

A router speaks ClientProtocol at the front. A *mount table* says which path of its tree is
which path of which nameservice; a call goes to the namenodes of that nameservice with its path
translated, and its answer comes back with the path translated again. Blocks go directly
between clients and datanodes. A router keeps nothing that another one would miss: the mount
table, and the delegation tokens of secured routers, are in a *state store* that several share.

- `state`       the mount table, the order of destinations, what is done with each method, and
                what is made of the answers of several namespaces (pure)
- `namenodes`   connections to the namenodes of each nameservice, and heartbeats
- `store`       the state store: a directory of files, or ZooKeeper
- `calls`       the methods of ClientProtocol, by family
- `admin`       RouterAdminProtocol, and who may use it
- `security`    who clients are, and who the router is for namenodes; `tokens` are its own
- `server`      the process, configured by `settings`
"""
