"""Foundations of all servers and programs: processes, threads, time, users, TLS, metrics."""
