"""DatanodeProtocol: what datanodes tell, and the orders they take home (pure).

`protocol` answers the calls; `registration` knows who may be a datanode, `commands` what one is
to do, `report_decoder` bounds the figures that come. Arrows: `protocol -> registration, orders,
told`.
"""
