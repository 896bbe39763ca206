"""Keep edit logs and images in directories; their bytes are `howdah.formats`'.

`segments` and `image_files` name, list and check the files; `layout` is what stands around them
in a storage directory, `transitions` its way to another version, `retention` what may go;
`dir_walk` finds all that is below a directory.
"""
