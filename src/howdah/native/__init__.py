"""The compiled kernel `howdah.native._kernel`: where it is found, and whether it is to be used.

`loader` finds it, built in place or `zip_loader` in a zip. Whoever has work for it asks for it by
`kernel()`, and has a twin in Python for where it is not: it is optional. `socket_io` is what two of
these twins have in common; `records` makes Python itself quicker. Knows nobody above.
"""
