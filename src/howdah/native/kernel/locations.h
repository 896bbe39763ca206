/* Of locations.c, for listing.c: where the blocks of a file are. All functions return 1 for yes, 0
 * for what is left to others or lacks something, and -1 with an error. */
#ifndef HOWDAH_KERNEL_LOCATIONS_H
#define HOWDAH_KERNEL_LOCATIONS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "buffer.h"

/* The parts of a `View`. */
enum {
    POOL, STORAGES, EXTRAS, CACHED, LOCATION, NAME, FAR, NOW_MS, STALE_MS, NORMAL, DICE,
    TOUCHED_BEFORE_MS, VIEW
};

typedef struct {
    PyObject *tables, *view;
    const char *pool;
    Py_ssize_t pool_bytes;
    long long now_ms, stale_ms;
    uint64_t dice;
    output block, blocks;
    /* Of the block looked at last, and of all blocks that were in a range. */
    size_t located, places;
    /* What the caller has to supply: a datanode that is to be described, or a rack to which the
     * distance is to be measured. */
    PyObject *lacking;
} locating;

/* Bytes of a file from `offset` to `end`; `length` becomes that of the file. */
typedef struct {
    const char *ids; /* of eight bytes each */
    Py_ssize_t count;
    uint64_t offset, end, length;
} range;

/* What is seen of the datanodes. Returns 0, or -1 with an error. */
int howdah_open_view(PyObject *view, PyObject *tables, locating *with);
void howdah_close_view(locating *with);

/* The blocks of a file that are in the range, and its last one. `block_id` is that of its row. */
int howdah_locate_file(locating *with, int64_t inode_id, int64_t block_id, range *of);

/* LocatedBlocksProto of what was located: how long it is, and its bytes. */
size_t howdah_located_bytes(const locating *with, const range *of);
uint8_t *howdah_put_located(uint8_t *to, const locating *with, const range *of);

#endif
