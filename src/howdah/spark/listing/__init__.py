"""Trees listed by rounds of tasks; the driver sees sums and no names.

`spark_rounds` is the driver's part of listing source and target of a copy (`howdah.copy.listing`),
`row_stores` where rows are kept. `tree` lists one tree for all other jobs. Knows no options of a
job.
"""
