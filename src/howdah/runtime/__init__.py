"""What every process uses: threads, forks, time, files, users, TLS, traces, metrics.

Knows nothing of HDFS but its configuration.
"""
