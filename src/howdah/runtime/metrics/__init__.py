"""What servers count of themselves: how long calls and syncs take, and who calls most (pure).

`histogram` is a histogram, `rpc` has the calls of one port, `top_users` the windows of `nntop`,
`quantiles` percentiles by interval.
Counters are plain integers, without a lock: each has one thread that adds to it, such as a
loop, and any thread may read. Knows nothing of pages; `howdah.web.monitoring` shows it."""
