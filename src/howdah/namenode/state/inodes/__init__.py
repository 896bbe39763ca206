"""What the tree consists of: directories, files, links, their blocks, and what they have (pure).

Files and blocks are rows of tables of numbers (`row_table`, `files`, `block_table`);
directories and links are objects (`inodes`). ACLs, extended attributes, storage policies
and paths are values without a tree. Knows no namespace, no datanode's replica, no caller.
Arrows: `inodes -> files -> block_table -> row_table`; nothing here imports another room.
"""
