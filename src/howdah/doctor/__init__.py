"""What is wrong with an installation, and what to do about it (`howdah doctor`).

`inputs` says what was seen: the configuration, this machine, the other servers. The checks
(`configuration`, `addresses`, `durability`, `host`, `secured`, `timeouts`, `tls`) are pure
functions from facts to findings; `checks` calls them all. `collect` (with `build`, `ports`,
`clock`, `disks`, `certificates` and `kerberos`) is the shell that looks: it changes nothing, asks
each server once, and waits a few seconds at most.
"""
