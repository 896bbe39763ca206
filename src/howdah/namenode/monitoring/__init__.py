"""What the namenode tells monitoring beside its status: who calls most, what was done since the
start, and whether it lives and serves. `activity` is pure; `watch` puts it together."""
