"""The protocol between Linux's kernel and a filesystem outside of it, FUSE (pure).

`operations` has its numbers, `requests` makes a request of the kernel's bytes, `answers` bytes of
an answer, and `negotiation` agrees on version and features. It is `linux/fuse.h`, version 7.31.
"""
