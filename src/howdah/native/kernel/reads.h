/* Of reads.c, for locations.c: a namespace's tables, and how a file is found. All
 * functions return 1 for yes, 0 for what is left to others, and -1 with an error. */
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

#endif
