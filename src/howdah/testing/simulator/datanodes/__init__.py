"""Simulated datanodes: the process, the pipeline's middle, its replicas, and its disk."""
