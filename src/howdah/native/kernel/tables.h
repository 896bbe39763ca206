/*
 * The layout of the tables of `howdah.namenode.state.inodes`, which C reads in place. The module
 * shows these numbers as LAYOUT, and the tables compare theirs with them when they are imported
 * (`howdah.native.layout`).
 */
#ifndef HOWDAH_KERNEL_TABLES_H
#define HOWDAH_KERNEL_TABLES_H

/* A row of a table is on page `id >> SHIFT`, and its pages are in sets of 1 << SET_SHIFT. */
enum { SHIFT = 6, MASK = (1 << SHIFT) - 1, SET_SHIFT = 12 };

/* Files: how many numbers a row has, and which is where. */
enum { FILE_WIDTH = 5, TRAITS = 1, MTIME = 2, ATIME = 3, BLOCK = 4 };

/* Blocks. COMPLETE is what lies below the stamp of a complete block that is there. */
enum { BLOCK_WIDTH = 4, LENGTH = 1, STAMP = 2, REPLICAS = 3, STORAGE_BITS = 21, COMPLETE = 5 };

#endif
