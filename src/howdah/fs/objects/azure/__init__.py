"""Containers of Azure's Blob Storage: `az://`, and Hadoop's `abfs[s]://` and `wasb[s]://`.

The Blob service's REST protocol, by requests of our own: Microsoft's azure-storage-blob reads an
object by pieces that it buffers, splits and repeats itself, where `ObjectInput` holds one answer
and reads it as it comes; and what it would bring besides is a signature of twenty lines.

- `signing`     Shared Key signatures (pure)
- `documents`   what the service reads and writes: XML (pure)
- `names`       keys and names of blobs: a directory's marker is a blob without a slash (pure)
- `settings`    Hadoop's keys `fs.azure.*`, for one container
- `requests`    refusals of the service as errors of howdah
- `store`       one container
- `filesystem`  the classes of the schemes

An upload is the blocks of one writer, which nobody sees before their list is committed. Azure
has no name for it: blocks that nobody commits go after a week, or when somebody else commits
the blob, and there is neither a list of them nor a way to remove them.
"""
