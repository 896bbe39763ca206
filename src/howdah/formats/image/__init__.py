"""A namespace image on disk (FSImageFormatProtobuf in Hadoop).

`records` are its values; `fsimage` puts `sections` in order, with `inodes`, `message_maps` and
`columns`; `image_files` names, writes and checks the file. Arrows: `fsimage -> sections ->
records`.
"""
