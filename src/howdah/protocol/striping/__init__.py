"""Erasure coding: policies, how a file's bytes lie in block groups, and the coders (pure).

Servers and the client share this room. `policies` names the codecs and their numbers, `layout`
says which byte is in which internal block, `matrix` has the arithmetic that tells one codec from
another, and `coder` makes parity of data and any lost unit of the others.
"""
