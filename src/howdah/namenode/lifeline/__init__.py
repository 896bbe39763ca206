"""Signs of life that datanodes send while the namenode is late with their heartbeats.

`lifelines` keeps them (pure), `lifeline` takes them on threads beside the loop. The loop picks
them up before it looks for dead datanodes. It imports `blocks.datanode_claims` at most.
"""
