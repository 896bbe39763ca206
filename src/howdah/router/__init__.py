"""`howdah router`: several namespaces behind one address. Hadoop: router-based federation.

A router speaks ClientProtocol at the front. A *mount table* says which path of its tree is
which path of which nameservice; a call goes to the namenodes of that nameservice with its path
translated, and its answer comes back with the path translated again. Blocks go directly
between clients and datanodes. A router keeps nothing that another one would miss: the mount
table is in a *state store* that several routers share.

- `table`      pure: the mount table, the order of destinations, and what is made of the
               answers of several of them
- `namenodes`  the namenodes of each nameservice, connections to them, whom to ask
- `calls`      the methods of ClientProtocol, by family
- `methods`    pure: what is done with each method
- `store`      the state store: a directory of files, or ZooKeeper
- `deferred`  what becomes of what the work for a call raises
- `admin`      RouterAdminProtocol, and who may use it
- `refreshing` pure: what a router is asked to read anew
- `settings`, `server`  the process
"""
