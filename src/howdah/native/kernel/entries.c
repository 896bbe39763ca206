/*
 * Part of howdah.native._kernel: what is in a directory, for an image (`howdah.namenode.state.images.rows`, which
 * has the twins).
 *
 *     file_ids      the ids of the entries, if all of them are files
 *     ids_in_order  the same, as Hadoop orders their names (`howdah.formats.image.name_order`)
 *
 * An image is written by a forked child, where memory is shared until it is written to: so names and
 * ids are looked at where they are, without a reference more of each.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    Py_ssize_t bytes;
    int64_t id;
} entry;

/* Of two of which one begins with the other. */
static int
by_length(const entry *one, const entry *other)
{
    return (one->bytes > other->bytes) - (one->bytes < other->bytes);
}

static int
as_ascii(const void *first, const void *second)
{
    const entry *one = first, *other = second;
    const int order = memcmp(one->name, other->name,
                             (size_t)(one->bytes < other->bytes ? one->bytes : other->bytes));
    return order ? order : by_length(one, other);
}

/* As Java compares bytes: from -128 to 127. */
static int
as_signed(const void *first, const void *second)
{
    const entry *one = first, *other = second;
    for (Py_ssize_t i = 0; i < one->bytes && i < other->bytes; i++) {
        const int8_t a = (int8_t)one->name[i], b = (int8_t)other->name[i];
        if (a != b)
            return a < b ? -1 : 1;
    }
    return by_length(one, other);
}

static int
is_ascii(const entry *one)
{
    for (Py_ssize_t i = 0; i < one->bytes; i++)
        if ((unsigned char)one->name[i] >= 0x80)
            return 0;
    return 1;
}

static void
put_in_order(entry *entries, Py_ssize_t count)
{
    int (*order)(const void *, const void *) = as_ascii;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!is_ascii(&entries[i])) {
            order = as_signed;
            break;
        }
    for (Py_ssize_t i = 1; i < count; i++)
        if (order(&entries[i - 1], &entries[i]) > 0) {
            qsort(entries, (size_t)count, sizeof *entries, order);
            return;
        }
}

/* 1, or 0 for what is not plain, or -1 with an error. Names are asked for only where there is a
 * place for them. */
static int
take_entry(PyObject *key, PyObject *value, entry *names, int64_t *id)
{
    if (!PyLong_CheckExact(value))
        return 0;
    *id = PyLong_AsLongLong(value);
    if (*id == -1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    if (names == NULL)
        return 1;
    if (!PyUnicode_Check(key))
        return 0;
    names->id = *id;
    names->name = PyUnicode_AsUTF8AndSize(key, &names->bytes);
    if (names->name != NULL)
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return -1;
    PyErr_Clear();
    return 0;
}

/* The ids of the entries, in the dict's order or the names': bytes; None where one is no file's. */
static PyObject *
ids_of(PyObject *entries, int sorted)
{
    if (!PyDict_Check(entries)) {
        PyErr_SetString(PyExc_TypeError, "entries have to be a dict");
        return NULL;
    }
    const Py_ssize_t count = PyDict_Size(entries);
    entry *named = NULL;
    if (sorted && (named = PyMem_Calloc((size_t)count + 1, sizeof *named)) == NULL)
        return PyErr_NoMemory();
    PyObject *made = PyBytes_FromStringAndSize(NULL, count * 8), *key, *value;
    char *to = made == NULL ? NULL : PyBytes_AsString(made);
    Py_ssize_t at = 0, taken = 0;
    int result = made == NULL ? -1 : 1;
    while (result == 1 && taken < count && PyDict_Next(entries, &at, &key, &value)) {
        int64_t id;
        result = take_entry(key, value, sorted ? &named[taken] : NULL, &id);
        if (result == 1)
            memcpy(to + 8 * taken++, &id, 8);
    }
    if (result == 1 && sorted) {
        put_in_order(named, taken);
        for (Py_ssize_t i = 0; i < taken; i++)
            memcpy(to + 8 * i, &named[i].id, 8);
    }
    PyMem_Free(named);
    if (result == 1)
        return made;
    Py_XDECREF(made);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* file_ids(entries) -> bytes | None */
PyObject *
howdah_file_ids(PyObject *module, PyObject *entries)
{
    (void)module;
    return ids_of(entries, 0);
}

/* ids_in_order(entries) -> bytes | None */
PyObject *
howdah_ids_in_order(PyObject *module, PyObject *entries)
{
    (void)module;
    return ids_of(entries, 1);
}
