/*
 * Part of howdah.native._kernel: entries of a directory as the answer to a listing shows them.
 *
 *     list_entries   `getListing`, entry by entry, from a namespace's tables
 *                    (twin: `howdah.namenode.service.protocols.fast_path.listing`)
 *
 * It stops at the first entry that is not plain, which its caller shows. The same tests run over
 * both.
 */
#include "kernel.h"

#include "locations.h"
#include "protobuf.h"
#include "reads.h"

enum { LISTED, ENTRIES, AT, TYPE, POLICY, TABLES_HERE, VIEW_HERE, PLACES_LEFT, LIST_ARGS };

typedef struct {
    PyObject *names, *entries, *tables, *type;
    uint64_t policy;
    locating *with; /* NULL where nobody asks for blocks */
    Py_ssize_t at, end;
    long long places_left;
    output out, located;
} page;

/* DirectoryListingProto.partialListing, and BatchedDirectoryListingProto's. */
static int
put_entry(page *of, PyObject *name, status *s)
{
    s->policy = of->policy;
    s->name = PyUnicode_AsUTF8AndSize(name, &s->name_bytes);
    if (s->name == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    const size_t room =
        MAX_STATUS_BYTES + 16 + (size_t)s->name_bytes + (size_t)s->located_bytes;
    /* Its length stands before it. */
    uint8_t *begin = make_room(&of->out, room + 1 + MOST_VARINT_BYTES);
    if (begin == NULL)
        return -1;
    uint8_t *behind = begin + 1 + MOST_VARINT_BYTES;
    const size_t count = (size_t)(howdah_put_status(behind, s) - behind);
    uint8_t *to = put_field(begin, 0x0a, count);
    memmove(to, behind, count);
    of->out.used = (size_t)(to + count - of->out.bytes);
    return 1;
}

/* The blocks of a file, which become part of its status. */
static int
read_blocks(page *of, int64_t inode_id, int64_t block_id, status *s)
{
    int result = howdah_read_length(of->tables, inode_id, block_id, s);
    if (result != 1)
        return result;
    range whole = {.end = s->length};
    of->with->places = 0;
    result = howdah_locate_file(of->with, inode_id, block_id, &whole);
    if (result != 1)
        return result;
    const size_t bytes = howdah_located_bytes(of->with, &whole);
    of->located.used = 0;
    uint8_t *to = make_room(&of->located, bytes);
    if (to == NULL)
        return -1;
    howdah_put_located(to, of->with, &whole);
    s->located = to;
    s->located_bytes = (Py_ssize_t)bytes;
    return 1;
}

static int
list_file(page *of, PyObject *name, PyObject *entry)
{
    const int is_special = PyDict_Contains(PyTuple_GetItem(of->tables, FEATURES), entry);
    if (is_special)
        return is_special < 0 ? -1 : 0;
    const int64_t inode_id = PyLong_AsLongLong(entry);
    if (inode_id == -1 && PyErr_Occurred())
        return -1;
    int64_t row[FILE_WIDTH];
    status s = {0};
    int result = howdah_read_file(of->tables, inode_id, row, &s);
    if (result == 1)
        result = of->with == NULL ? howdah_read_length(of->tables, inode_id, row[BLOCK], &s)
                                  : read_blocks(of, inode_id, row[BLOCK], &s);
    if (result == 1)
        result = put_entry(of, name, &s);
    if (result == 1 && of->with != NULL)
        of->places_left -= (long long)of->with->places;
    return result;
}

static int
list_directory(page *of, PyObject *name, PyObject *entry)
{
    status s = {0};
    PyObject *held[2];
    int result = howdah_read_directory(of->tables, entry, &s, held);
    if (result == 1)
        result = put_entry(of, name, &s);
    Py_XDECREF(held[0]);
    Py_XDECREF(held[1]);
    return result;
}

/* As many entries as are plain, and may be listed. -1 with an error. */
static int
list_plain(page *of)
{
    for (; of->at < of->end && (of->with == NULL || of->places_left > 0); of->at++) {
        PyObject *name = PyList_GetItem(of->names, of->at);
        PyObject *entry = PyList_GetItem(of->entries, of->at);
        if (name == NULL || entry == NULL)
            return -1;
        Py_INCREF(name);
        Py_INCREF(entry);
        int result = 0;
        if (PyLong_Check(entry))
            result = list_file(of, name, entry);
        else if ((PyObject *)Py_TYPE(entry) == of->type)
            result = list_directory(of, name, entry);
        Py_DECREF(name);
        Py_DECREF(entry);
        if (result != 1)
            return result;
    }
    return 0;
}

/*
 * list_entries(names, entries, at, directory_type, policy, tables, view, places_left)
 *     -> (bytes, at, places_left, what is lacking | None)
 *
 * From the entry `at` on. `directory_type` is None where directories are not plain, `view` where
 * nobody asks for blocks.
 */
PyObject *
howdah_list_entries(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (howdah_check_arity("list_entries", LIST_ARGS, nargs) < 0)
        return NULL;
    if (!PyList_Check(args[LISTED]) || !PyList_Check(args[ENTRIES]) ||
        PyList_Size(args[LISTED]) != PyList_Size(args[ENTRIES]) ||
        !howdah_are_tables(args[TABLES_HERE])) {
        PyErr_SetString(PyExc_TypeError,
                        "list_entries takes as many names as entries, and tables");
        return NULL;
    }
    locating with = {0};
    page of = {
        .names = args[LISTED],
        .entries = args[ENTRIES],
        .tables = args[TABLES_HERE],
        .type = args[TYPE],
        .at = PyLong_AsSsize_t(args[AT]),
        .end = PyList_Size(args[ENTRIES]),
        .policy = PyLong_AsUnsignedLongLong(args[POLICY]),
        .places_left = PyLong_AsLongLong(args[PLACES_LEFT]),
    };
    if (PyErr_Occurred())
        return NULL;
    if (of.at < 0) {
        PyErr_SetString(PyExc_ValueError, "an entry's place is not below zero");
        return NULL;
    }
    if (args[VIEW_HERE] != Py_None) {
        if (howdah_open_view(args[VIEW_HERE], of.tables, &with) < 0)
            return NULL;
        of.with = &with;
    }
    PyObject *made = NULL;
    if (list_plain(&of) == 0)
        made = Py_BuildValue("y#nLO", of.out.bytes == NULL ? "" : (const char *)of.out.bytes,
                             (Py_ssize_t)of.out.used, of.at, of.places_left,
                             with.lacking == NULL ? Py_None : with.lacking);
    howdah_close_view(&with);
    PyMem_Free(of.out.bytes);
    PyMem_Free(of.located.bytes);
    return made;
}
