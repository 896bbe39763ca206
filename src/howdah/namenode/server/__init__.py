"""Run the namenode: processes, high availability, web pages, monitoring."""
