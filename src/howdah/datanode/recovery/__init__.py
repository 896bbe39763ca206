"""Block recovery: the datanodes of an open block agree on its length (FS-127).

`block_recovery` has the rules (pure); `worker` is the primary, `inter_datanode` how it asks
the others, `replica_recovery` what one replica goes through. Arrows: `worker ->
inter_datanode -> replica_recovery -> replicas`.
"""
