"""Simulated datanodes (pure): the process, the pipeline's middle, its replicas, and its disk."""
