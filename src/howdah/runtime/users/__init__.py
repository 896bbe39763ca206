"""Who calls. `names` are names of users, `proxy_users` says who may act for whom, and
`service_policy` who may speak which protocol (all pure). `current` says as whom this process calls,
`groups` knows the groups of users, `impersonation` and `service_authorization` ask what rules
depend on, and `async_groups` asks beside a loop whatever may take long."""
