"""The commands of `howdah dfs` that carry bytes: put, get, cp, mv, getmerge, appendToFile.

`destination` says where things go, `transfer` how one file is copied, `copies` and `merge`
are the commands over them, `progress` shows how far a copy is. Imports `shell` alone.
"""
