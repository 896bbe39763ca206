/* Of reads.c, for locations.c and listing.c: a namespace's tables, how a file is found, and what is
 * shown of an inode. All functions return 1 for yes, 0 for what is left to others, and -1 with an
 * error. */
#ifndef HOWDAH_KERNEL_READS_H
#define HOWDAH_KERNEL_READS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "tables.h"

/* What `tables_of` returns. */
enum { FILES, TRAITS_LIST, FEATURES, BLOCK_LISTS, BLOCKS, SNAPSHOT_ROOTS, NO_FEATURES, TABLES };

/* The arguments that a read begins with. */
enum { REQUEST, WAYS, USER, GROUPS, IS_EXEMPT, TABLES_ARG, READ_ARGS };

/* The path in field 1, with which a request begins, and where that ends. */
int howdah_read_path(const uint8_t *data, Py_ssize_t end, const uint8_t **path, Py_ssize_t *bytes,
                     Py_ssize_t *behind);

/* With the arguments of a read: the id of the plain file at the path, 0 if nothing is there. A
 * directory goes to `other`, a new reference, if that is not NULL. */
int howdah_find_file(const uint8_t *path, Py_ssize_t bytes, PyObject *const *args,
                     int64_t *inode_id, PyObject **other);

/* Whether these are what `tables_of` returns. */
int howdah_are_tables(PyObject *tables);

/* Numbers of a row of a page, copied. */
int howdah_read_row(PyObject *pages, int64_t id, unsigned width, int64_t *row);

/* Whether an attribute is this text. */
int howdah_is_same(PyObject *of, PyObject *name, PyObject *text);

/* Of owner and group together, and of a status without a name and locations. */
enum { MAX_NAMES_BYTES = 160, MAX_STATUS_BYTES = 320 };

typedef struct {
    const char *owner, *group;
    Py_ssize_t owner_bytes, group_bytes;
    uint64_t mode, replication, block_size;
} traits;

enum { IS_DIR = 1, IS_FILE = 2 };

/* HdfsFileStatusProto; field numbers are those of Hadoop's hdfs.proto. `located` are the bytes of
 * LocatedBlocksProto, which is there if it has any. */
typedef struct {
    uint64_t kind, length, mtime, atime, inode_id, children, policy;
    traits traits;
    const char *name;
    Py_ssize_t name_bytes, located_bytes;
    const uint8_t *located;
} status;

/* The status as bytes: at most MAX_STATUS_BYTES, and those of the name and the locations, with 16
 * more. */
uint8_t *howdah_put_status(uint8_t *to, const status *s);

/* What a file's row says, which is copied; not its length. */
int howdah_read_file(PyObject *tables, int64_t inode_id, int64_t *row, status *s);

/* The length of a file whose row has this block. */
int howdah_read_length(PyObject *tables, int64_t inode_id, int64_t block_id, status *s);

/* A directory without an ACL, attributes and snapshots. `held` are new references, or NULL, to be
 * dropped when the status is not needed any more. */
int howdah_read_directory(PyObject *tables, PyObject *directory, status *s, PyObject *held[2]);

#endif
