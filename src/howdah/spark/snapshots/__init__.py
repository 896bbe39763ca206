"""Reports on two snapshots, requested and read by tasks of Spark (DistCpSync).

`report_tasks` are the tasks; `report` is the driver's side. What is done with a report is
`howdah.copy.snapshots`. Arrow: `report -> report_tasks`.
"""
