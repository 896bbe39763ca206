"""`howdah mount`: any filesystem of howdah's as a directory of this machine, by FUSE.

`protocol` is what the kernel says, and `state` what a mount keeps in mind; both are pure.
`mounted_tree` is the directory as the kernel knows it, and `calls` answers requests: those about
names, directories, attributes and files are in `name_calls`, `directory_calls`, `attribute_calls`
and `file_calls`. `open_files` is what processes have open, with `reading`, `writing` and `listing`.
`accounts` has names and numbers of users, `callers` who asks whom, `failures` what programs hear of
errors. `session` reads requests from the kernel and has threads answer them, `device` mounts and
unmounts, and `server` is the process.
"""
