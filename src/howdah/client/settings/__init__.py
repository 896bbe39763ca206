"""What a client goes by, read once from the configuration.

`settings` is all of it; `pipeline_rules` and `replacement` are the patience and the policy
of writers (pure), `short_circuit` whether files of this machine are read directly. Imports
no other room of the client.
"""
