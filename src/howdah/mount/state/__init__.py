"""What a mount keeps in mind (pure).

`nodes` are the files and directories that the kernel knows, with their names, and `read_plan` how
the requests of one open file are turned into reads of whole megabytes.
"""
