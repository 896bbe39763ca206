"""Tell monitoring who calls most, how far a start is, and whether the namenode lives and serves.

`metrics_service` puts it together, and `startup_http` has the web port before there is a namenode.
"""
