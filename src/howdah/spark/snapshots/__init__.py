"""`-diff` and `-rdiff`: a copy that follows a report on two snapshots (DistCpSync).

`changes` turns the report into moves and copies, `resuming` says what of them is left after a
run that was stopped; `report_tasks` ask for the report; `sync` is the driver's side. Knows
nothing of how files are copied. Arrows: `sync -> report_tasks -> resuming -> changes`.
"""
