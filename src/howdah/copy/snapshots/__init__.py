"""`-diff` and `-rdiff`: a copy that follows a report on two snapshots (DistCpSync).

`changes` turns the report into moves and copies, `resuming` says what of them is left after a
run that was stopped; `following` does the moves. Knows nothing of how files are copied. Arrows:
`following -> resuming -> changes`.
"""
