"""Who calls a server. `proxy_users` says who may act for whom (pure), `impersonation` asks what
those rules depend on, and `groups` knows the groups of users. `lookups` asks beside a loop whatever
may take long."""
