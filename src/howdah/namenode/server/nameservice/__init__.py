"""A namenode among those that share its log.

`identity` says which of them this process is and where the log is, `bound_addresses` where it is to
listen; `peers` calls the others; `high_availability` puts together what such a namenode has
and others have not. Arrows:
`nameservice -> ha, quorum, checkpoints, journal, protocols`; `high_availability -> peers`.
"""
