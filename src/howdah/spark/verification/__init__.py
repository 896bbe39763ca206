"""`verify`: every replica of every block, read and compared.

`job` is a run; `tasks` look replicas up and read them, `job` has them read at their own
nodes, `verdict` compares those of a block (pure), `manifest` keeps digests over time. Changes
no file. Arrows: `job -> placement -> tasks -> verdict`.
"""
