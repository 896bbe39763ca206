"""Who calls. `names` are names of users, `proxy_users` says who may act for whom (both pure).
`current` says as whom this process calls, `groups` knows the groups of users, `impersonation` asks
what rules depend on, and `async_groups` asks beside a loop whatever may take long."""
