"""Figures for monitoring: `/prom` and `/metrics` for Prometheus, `/health` and `/ready` for
orchestrators, and the beans of `/jmx` that all servers have. `families`, `health`, `rpc_beans`
and `namenode_beans` (what a namenode's status says) are pure; `process` asks the operating
system, `prometheus` writes with `prometheus_client`, which is imported when somebody asks for it
first. `pages` puts them together for a server."""
