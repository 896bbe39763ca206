"""Tokens of Hadoop (pure): their bytes, the files that carry them, what is inside of them.

Clients keep a token as it is. What its identifier says is looked at to name its owner and its end.
"""
