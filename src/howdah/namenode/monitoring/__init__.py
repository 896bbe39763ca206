"""What the namenode tells monitoring beside its status: who calls most, what was done since the
start, how far a start is, and whether it lives and serves. `activity_bean` and `startup` are pure;
`metrics_service` puts it together, and `startup_http` has the web port before there is a
namenode."""
