"""What the namenode tells monitoring beside its status: who calls most, what was done since the
start, how far a start is, and whether it lives and serves. `activity` and `startup` are pure;
`watch` puts it together, and `starting` has the web port before there is a namenode."""
