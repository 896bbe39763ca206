/*
 * Part of howdah.native._kernel: rows of a namespace's tables, thousands in one call.
 *
 * Saving an image asks a million files for ten numbers each and writes them as
 * protobuf messages. In Python that is four microseconds a file.
 *
 *     take_rows     rows of `howdah.namenode.state.inodes.row_table`, by their ids
 *     shift_right   a column of numbers without their lowest bits
 *     frame_files   columns of `howdah.formats.image.columns` to an image's bytes
 *
 * Each has a twin in Python beside those who call it; the same tests run over both. An image is
 * written by a forked child, where memory is shared until it is written to: so names are looked at
 * where they are, without a reference more of each.
 */
#include "buffer.h"
#include "kernel.h"
#include "protobuf.h"

#include <string.h>

/* ---- arguments -------------------------------------------------------------- */

typedef struct {
    Py_buffer view;
    const int64_t *at;
    Py_ssize_t count;
} numbers;

/* A column: array("q"), or whatever else has signed numbers of 64 bits. */
static int
open_numbers(PyObject *from, const char *name, numbers *to)
{
    if (PyObject_GetBuffer(from, &to->view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
        return -1;
    const char *format = to->view.format;
    if (to->view.itemsize != 8 || format == NULL || (strcmp(format, "q") && strcmp(format, "l"))) {
        PyErr_Format(PyExc_TypeError, "%s has to be signed numbers of 64 bits", name);
        PyBuffer_Release(&to->view);
        return -1;
    }
    to->at = to->view.buf;
    to->count = to->view.len / 8;
    return 0;
}

/* ---- take_rows -------------------------------------------------------------- */

/* The page of an id, borrowed; NULL with an error, which is KeyError with the id where there is no
 * such page. */
static PyObject *
page_of(PyObject *pages, int64_t id, Py_ssize_t shift)
{
    PyObject *key = PyLong_FromLongLong(id >> shift);
    PyObject *found = key == NULL ? NULL : PyDict_GetItemWithError(pages, key);
    Py_XDECREF(key);
    if (found == NULL && !PyErr_Occurred()) {
        PyObject *missing = PyLong_FromLongLong(id);
        if (missing != NULL)
            PyErr_SetObject(PyExc_KeyError, missing);
        Py_XDECREF(missing);
    }
    return found;
}

/*
 * take_rows(pages, ids, shift, width) -> bytes
 *
 * `pages` is a dict from the upper bits of an id to a page of 1 << shift rows of
 * `width` numbers. KeyError with the first id whose page is not there.
 */
PyObject *
howdah_take_rows(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (howdah_check_arity("take_rows", 4, nargs) < 0)
        return NULL;
    if (!PyDict_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "pages have to be a dict");
        return NULL;
    }
    const Py_ssize_t shift = PyLong_AsSsize_t(args[2]), width = PyLong_AsSsize_t(args[3]);
    if (PyErr_Occurred())
        return NULL;
    if (shift < 0 || shift > 20 || width < 1 || width > 1024) {
        PyErr_Format(PyExc_ValueError, "no pages are of 1 << %zd rows of %zd", shift, width);
        return NULL;
    }
    numbers ids;
    if (open_numbers(args[1], "ids", &ids) < 0)
        return NULL;
    const Py_ssize_t row_bytes = width * 8, page_bytes = row_bytes << shift;
    Py_buffer page = {.obj = NULL};
    int64_t page_number = 0;
    PyObject *rows = NULL;
    if (ids.count > PY_SSIZE_T_MAX / row_bytes)
        PyErr_NoMemory();
    else
        rows = PyBytes_FromStringAndSize(NULL, ids.count * row_bytes);
    char *to = rows == NULL ? NULL : PyBytes_AsString(rows);
    for (Py_ssize_t i = 0; rows != NULL && i < ids.count; i++, to += row_bytes) {
        const int64_t id = ids.at[i], number = id >> shift;
        if (page.obj == NULL || number != page_number) {
            if (page.obj != NULL)
                PyBuffer_Release(&page);
            PyObject *found = page_of(args[0], id, shift);
            if (found == NULL) {
                Py_CLEAR(rows);
                break;
            }
            if (PyObject_GetBuffer(found, &page, PyBUF_C_CONTIGUOUS) < 0) {
                Py_CLEAR(rows);
                break;
            }
            page_number = number;
            if (page.len != page_bytes) {
                PyErr_Format(PyExc_ValueError, "page %lld has %zd bytes, not %zd",
                             (long long)number, page.len, page_bytes);
                Py_CLEAR(rows);
                break;
            }
        }
        const Py_ssize_t place = (Py_ssize_t)(id & (((int64_t)1 << shift) - 1));
        memcpy(to, (const char *)page.buf + place * row_bytes, (size_t)row_bytes);
    }
    if (page.obj != NULL)
        PyBuffer_Release(&page);
    PyBuffer_Release(&ids.view);
    return rows;
}

/* ---- shift_right ------------------------------------------------------------- */

/* shift_right(numbers, bits) -> bytes. A sign stays. */
PyObject *
howdah_shift_right(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (howdah_check_arity("shift_right", 2, nargs) < 0)
        return NULL;
    const Py_ssize_t bits = PyLong_AsSsize_t(args[1]);
    if (bits == -1 && PyErr_Occurred())
        return NULL;
    if (bits < 0 || bits > 63) {
        PyErr_Format(PyExc_ValueError, "no number of 64 bits is without its lowest %zd", bits);
        return NULL;
    }
    numbers from;
    if (open_numbers(args[0], "numbers", &from) < 0)
        return NULL;
    PyObject *made = PyBytes_FromStringAndSize(NULL, from.count * 8);
    if (made != NULL) {
        char *to = PyBytes_AsString(made);
        for (Py_ssize_t i = 0; i < from.count; i++) {
            const int64_t number = from.at[i] >> bits;
            memcpy(to + 8 * i, &number, 8);
        }
    }
    PyBuffer_Release(&from.view);
    return made;
}

/* ---- frame_files ------------------------------------------------------------ */

typedef struct {
    const char *at;
    Py_ssize_t bytes;
} piece;

typedef struct {
    int64_t id, mtime, atime;
    piece name;
    piece head, middle, tail; /* what files that look alike have around what differs */
    Py_ssize_t block, blocks; /* the first of its blocks, and how many they are */
} file;

typedef struct {
    numbers ids, stamps, lengths;
} block_columns;

static size_t
block_bytes(const block_columns *blocks, Py_ssize_t i)
{
    return 3 + varint_bytes((uint64_t)blocks->ids.at[i]) +
           varint_bytes((uint64_t)blocks->stamps.at[i]) +
           varint_bytes((uint64_t)blocks->lengths.at[i]);
}

/* One message of the section, with its length before it. */
static int
put_file(output *out, const file *f, const block_columns *blocks)
{
    size_t inner = (size_t)f->head.bytes + varint_bytes((uint64_t)f->mtime) + 1 +
                   varint_bytes((uint64_t)f->atime) + (size_t)f->middle.bytes +
                   (size_t)f->tail.bytes;
    for (Py_ssize_t i = f->block; i < f->block + f->blocks; i++) {
        const size_t bytes = block_bytes(blocks, i);
        inner += 1 + varint_bytes(bytes) + bytes;
    }
    const size_t outer = 3 + varint_bytes((uint64_t)f->id) + 1 +
                         varint_bytes((uint64_t)f->name.bytes) + (size_t)f->name.bytes + 1 +
                         varint_bytes(inner) + inner;
    const size_t framed = varint_bytes(outer) + outer;
    uint8_t *to = make_room(out, framed);
    if (to == NULL)
        return -1;
    to = put_varint(to, outer);
    to = put_bytes(to, "\x08\x01\x10", 3); /* type: FILE; id */
    to = put_varint(to, (uint64_t)f->id);
    *to++ = 0x1a; /* name */
    to = put_varint(to, (uint64_t)f->name.bytes);
    to = put_bytes(to, f->name.at, (size_t)f->name.bytes);
    *to++ = 0x22; /* file */
    to = put_varint(to, inner);
    to = put_bytes(to, f->head.at, (size_t)f->head.bytes);
    to = put_varint(to, (uint64_t)f->mtime);
    *to++ = 0x18; /* accessTime */
    to = put_varint(to, (uint64_t)f->atime);
    to = put_bytes(to, f->middle.at, (size_t)f->middle.bytes);
    for (Py_ssize_t i = f->block; i < f->block + f->blocks; i++) {
        *to++ = 0x32; /* blocks */
        to = put_varint(to, block_bytes(blocks, i));
        *to++ = 0x08;
        to = put_varint(to, (uint64_t)blocks->ids.at[i]);
        *to++ = 0x10;
        to = put_varint(to, (uint64_t)blocks->stamps.at[i]);
        *to++ = 0x18;
        to = put_varint(to, (uint64_t)blocks->lengths.at[i]);
    }
    put_bytes(to, f->tail.at, (size_t)f->tail.bytes);
    out->used += framed;
    return 0;
}

static int
bytes_of(PyObject *from, piece *to)
{
    char *at;
    if (PyBytes_AsStringAndSize(from, &at, &to->bytes) < 0)
        return -1;
    to->at = at;
    return 0;
}

/* The bytes of a file's look: a tuple of three. */
static int
open_look(PyObject *look, file *f)
{
    piece *pieces[] = {&f->head, &f->middle, &f->tail};
    if (!PyTuple_Check(look) || PyTuple_Size(look) != 3) {
        PyErr_SetString(PyExc_TypeError, "a look is a tuple of three");
        return -1;
    }
    for (Py_ssize_t i = 0; i < 3; i++)
        if (bytes_of(PyTuple_GetItem(look, i), pieces[i]) < 0)
            return -1;
    return 0;
}

/* Where names come from: a list, or pages of a table by the upper bits of the ids. */
typedef struct {
    PyObject *list, *pages;
    Py_ssize_t shift;
    int64_t page;
} names;

/* Borrowed; NULL with an error. */
static PyObject *
name_at(names *from, Py_ssize_t i, int64_t id)
{
    if (from->pages == NULL)
        return PyList_GetItem(from->list, i);
    const int64_t mask = ((int64_t)1 << from->shift) - 1;
    if (from->list == NULL || id >> from->shift != from->page) {
        PyObject *page = page_of(from->pages, id, from->shift);
        Py_CLEAR(from->list);
        from->list = page == NULL ? NULL : PyObject_GetAttrString(page, "names");
        if (from->list == NULL)
            return NULL;
        if (!PyList_Check(from->list) || PyList_Size(from->list) != mask + 1) {
            PyErr_SetString(PyExc_TypeError, "a page has to have a list of names");
            return NULL;
        }
        from->page = id >> from->shift;
    }
    return PyList_GetItem(from->list, (Py_ssize_t)(id & mask));
}

/* A list, or (pages, shift). */
static int
open_names(PyObject *argument, names *to)
{
    if (PyList_Check(argument)) {
        to->list = argument;
        return 0;
    }
    if (!PyTuple_Check(argument) || PyTuple_Size(argument) != 2 ||
        !PyDict_Check(PyTuple_GetItem(argument, 0))) {
        PyErr_SetString(PyExc_TypeError, "names have to be a list, or a dict of pages and a shift");
        return -1;
    }
    to->pages = PyTuple_GetItem(argument, 0);
    to->shift = PyLong_AsSsize_t(PyTuple_GetItem(argument, 1));
    if (to->shift == -1 && PyErr_Occurred())
        return -1;
    if (to->shift < 0 || to->shift > 20) {
        PyErr_Format(PyExc_ValueError, "no pages are of 1 << %zd rows", to->shift);
        return -1;
    }
    return 0;
}

static void
close_names(names *from)
{
    if (from->pages != NULL)
        Py_CLEAR(from->list);
}

static int
put_files(output *out, const numbers *ids, names *names, const numbers *mtimes,
          const numbers *atimes, PyObject *looks, const block_columns *blocks,
          const numbers *counts)
{
    Py_ssize_t block = 0;
    for (Py_ssize_t i = 0; i < ids->count; i++) {
        file f = {.id = ids->at[i], .mtime = mtimes->at[i], .atime = atimes->at[i],
                  .block = block, .blocks = 1};
        if (counts != NULL) {
            const int64_t count = counts->at[i];
            if (count < 0 || count > blocks->ids.count - block) {
                PyErr_SetString(PyExc_ValueError, "the files have not so many blocks");
                return -1;
            }
            f.blocks = (Py_ssize_t)count;
        }
        block += f.blocks;
        PyObject *name = name_at(names, i, ids->at[i]), *encoded = NULL;
        if (name == NULL || open_look(PyList_GetItem(looks, i), &f) < 0)
            return -1;
        if (!PyUnicode_Check(name)) {
            PyErr_SetString(PyExc_TypeError, "a name is a string");
            return -1;
        }
        f.name.at = PyUnicode_AsUTF8AndSize(name, &f.name.bytes);
        if (f.name.at == NULL) {
            if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
                return -1;
            /* Names may have halves of surrogate pairs, as Java's may. */
            PyErr_Clear();
            encoded = PyUnicode_AsEncodedString(name, "utf-8", "surrogatepass");
            if (encoded == NULL || bytes_of(encoded, &f.name) < 0) {
                Py_XDECREF(encoded);
                return -1;
            }
        }
        const int failed = put_file(out, &f, blocks);
        Py_XDECREF(encoded);
        if (failed)
            return -1;
    }
    if (block != blocks->ids.count) {
        PyErr_SetString(PyExc_ValueError, "there are more blocks than the files have");
        return -1;
    }
    return 0;
}

/*
 * frame_files(ids, names, mtimes, atimes, looks, block_ids, stamps, lengths, counts) -> bytes
 *
 * `names` are a list, or (pages, shift): a dict from the upper bits of an id to what has its rows'
 * `names`, 1 << shift of them in a list. `looks` are tuples of what the bytes of a file begin with, what is between its
 * times and its blocks, and what they end with. `counts` says how many blocks each
 * file has; None: one each.
 */
PyObject *
howdah_frame_files(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    static const char *const names_of[] = {"ids", "mtimes", "atimes", "block_ids", "stamps",
                                           "lengths", "counts"};
    enum { IDS, MTIMES, ATIMES, BLOCK_IDS, STAMPS, LENGTHS, COUNTS };
    static const int argument_of[] = {0, 2, 3, 5, 6, 7, 8};
    if (howdah_check_arity("frame_files", 9, nargs) < 0)
        return NULL;
    PyObject *looks = args[4];
    names names = {.list = NULL};
    if (open_names(args[1], &names) < 0)
        return NULL;
    if (!PyList_Check(looks)) {
        PyErr_SetString(PyExc_TypeError, "looks have to be a list");
        return NULL;
    }
    const int wanted = args[8] == Py_None ? COUNTS : COUNTS + 1;
    numbers columns[COUNTS + 1];
    int open = 0;
    PyObject *result = NULL;
    output out = {.bytes = NULL};
    while (open < wanted) {
        if (open_numbers(args[argument_of[open]], names_of[open], &columns[open]) < 0)
            goto done;
        open++;
    }
    const Py_ssize_t files = columns[IDS].count, blocks = columns[BLOCK_IDS].count;
    if ((names.pages == NULL && PyList_Size(names.list) != files) || PyList_Size(looks) != files ||
        columns[MTIMES].count != files || columns[ATIMES].count != files ||
        (wanted > COUNTS && columns[COUNTS].count != files) || columns[STAMPS].count != blocks ||
        columns[LENGTHS].count != blocks || (wanted == COUNTS && blocks != files)) {
        PyErr_SetString(PyExc_ValueError, "columns have to be of one length");
        goto done;
    }
    out.room = 1 << 16;
    out.bytes = PyMem_Malloc(out.room);
    if (out.bytes == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    const block_columns of_blocks = {columns[BLOCK_IDS], columns[STAMPS], columns[LENGTHS]};
    if (put_files(&out, &columns[IDS], &names, &columns[MTIMES], &columns[ATIMES], looks,
                  &of_blocks, wanted > COUNTS ? &columns[COUNTS] : NULL) == 0)
        result = PyBytes_FromStringAndSize((const char *)out.bytes, (Py_ssize_t)out.used);
done:
    close_names(&names);
    PyMem_Free(out.bytes);
    while (open > 0)
        PyBuffer_Release(&columns[--open].view);
    return result;
}
