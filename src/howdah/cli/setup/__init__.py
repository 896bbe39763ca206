"""Commands of those who set a cluster up: `init` writes its configuration, `doctor` judges it,
`hdfs` answers tools that call Hadoop's command.
"""
