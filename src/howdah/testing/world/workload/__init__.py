"""What clients do in a world, and what has to be there for it: random operations over the model.

`trees` says what a directory has to hold, `operations` draws the next operation on one, `clients`
runs them and keeps what is certain, `checking` holds the filesystem against it.
"""
