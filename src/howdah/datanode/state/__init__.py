"""Hold what a datanode knows and decides, without its files and sockets (pure)."""
