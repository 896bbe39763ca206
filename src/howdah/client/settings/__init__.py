"""What a client goes by, read once from the configuration.

`settings` is all of it; `pipeline_rules` has the patience of writers and when they replace a
datanode (pure), `short_circuit` whether files of this machine are read directly. Imports
no other room of the client.
"""
