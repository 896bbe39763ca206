"""`howdah mount`: any filesystem of howdah's as a directory of this machine, by FUSE.

`protocol` is what the kernel says, and `state` what a mount keeps in mind; both are pure. `calls`
answers requests, with `reading`, `writing`, `listing` for what is open, `accounts` for names and
numbers of users, `callers` for who asks whom, and `failures` for what programs hear of errors.
`session` reads requests from the kernel and has threads answer them, `device` mounts and unmounts,
and `server` is the process.
"""
