"""Formats on disk: edit logs, namespace images, and the directories they are in.

Rooms, from the bottom to the top:

- `edits`    what an edit is, its bytes, and the files of a log
- `image`    a namespace image
- `viewers`  both for people

`disk` is every change of metadata files, `atomic_files` the one way in which a small file is
replaced; `layout` and `version` are what stands around logs and images in a storage
directory, `transitions` its way to another version, `retention` what may go; `dir_walk` finds
all that is below a directory; `primitives` are the encodings that all Hadoop's files are made of.
"""
