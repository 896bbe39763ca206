"""Read and write Hadoop's formats on disk: edit logs, images, VERSION (pure).

- `edits`    what an edit is, and its bytes
- `image`    a namespace image
- `viewers`  both for people

`primitives` are the encodings that all of them are made of. The files are in `howdah.storage`.
"""
