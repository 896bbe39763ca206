/*
 * Part of howdah.native._kernel: replicas of a block report that hold no surprise.
 *
 * Nearly all replicas of nearly all reports are good replicas of complete blocks:
 * counted already, or to be counted now. Others are of blocks that were deleted, by the
 * thousand. In Python each costs 2 to 4 microseconds.
 *
 *     take_reported   from the bytes of a report to the rows of the block table
 *
 * Its twin is `BlockMap.reported` with `Remaining.cross_out`, one replica after the
 * other, which also takes whatever this leaves alone; the same tests run over both.
 */
#include "kernel.h"
#include "protobuf.h"
#include "tables.h"

#include <string.h>

enum { MOST_INLINE = 3 };
#define STORAGE_MASK (((int64_t)1 << STORAGE_BITS) - 1)
#define ROWS (1 << SHIFT)
#define SET_SIZE (1 << SET_SHIFT)
#define FINALIZED 0
#define LAST_STATE 4
#define MOST_STAMP ((uint64_t)1 << 60)
enum { MOST_SIBLINGS = 64, MOST_EXCEPTIONS = 8 };
enum { IS_THERE = 1 };

typedef struct {
    int64_t block_id;
    uint64_t length, stamp, state;
} replica;

static const uint8_t *
get_replica(const uint8_t *from, const uint8_t *end, replica *to)
{
    uint64_t raw;
    if ((from = get_varint(from, end, &raw)) == NULL ||
        (from = get_varint(from, end, &to->length)) == NULL ||
        (from = get_varint(from, end, &to->stamp)) == NULL ||
        (from = get_varint(from, end, &to->state)) == NULL)
        return NULL;
    to->block_id = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
    return from;
}

/* ---- the report's storage --------------------------------------------------- */

typedef struct {
    int64_t number;
    int64_t siblings[MOST_SIBLINGS];
    int sibling_count;
    PyObject *exceptions[MOST_EXCEPTIONS];
    int exception_count;
} storage;

/* The numbers of the node's other storages, and who is an exception, where anybody is. */
static int
open_storage(PyObject *number, PyObject *siblings, PyObject *exceptions, storage *to)
{
    to->number = PyLong_AsLongLong(number);
    if (to->number == -1 && PyErr_Occurred())
        return -1;
    if (to->number < 1 || to->number > STORAGE_MASK) {
        PyErr_Format(PyExc_ValueError, "no storage has the number %lld", (long long)to->number);
        return -1;
    }
    if (!PyTuple_Check(siblings) || PyTuple_Size(siblings) > MOST_SIBLINGS ||
        !PyTuple_Check(exceptions) || PyTuple_Size(exceptions) > MOST_EXCEPTIONS) {
        PyErr_SetString(PyExc_TypeError, "siblings and exceptions have to be short tuples");
        return -1;
    }
    to->sibling_count = (int)PyTuple_Size(siblings);
    for (int i = 0; i < to->sibling_count; i++) {
        to->siblings[i] = PyLong_AsLongLong(PyTuple_GetItem(siblings, i));
        if (to->siblings[i] == -1 && PyErr_Occurred())
            return -1;
    }
    to->exception_count = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(exceptions); i++) {
        PyObject *each = PyTuple_GetItem(exceptions, i);
        const Py_ssize_t size = PyObject_Size(each);
        if (size < 0)
            return -1;
        if (size > 0)
            to->exceptions[to->exception_count++] = each;
    }
    return 0;
}

static int
is_exception(const storage *at, int64_t block_id)
{
    if (at->exception_count == 0)
        return 0;
    PyObject *key = PyLong_FromLongLong(block_id);
    if (key == NULL)
        return -1;
    int found = 0;
    for (int i = 0; i < at->exception_count && found == 0; i++)
        found = PySequence_Contains(at->exceptions[i], key);
    Py_DECREF(key);
    return found;
}

/* ---- rows of blocks --------------------------------------------------------- */

typedef struct {
    PyObject *pages;
    Py_buffer page;
    int64_t number;
} block_rows;

static void
close_page(block_rows *rows)
{
    if (rows->page.obj != NULL)
        PyBuffer_Release(&rows->page);
    rows->page.obj = NULL;
}

/* The block's row; NULL where its page is not there, or with an error. */
static int64_t *
row_of(block_rows *rows, int64_t block_id)
{
    const int64_t number = block_id >> SHIFT;
    if (rows->page.obj == NULL || number != rows->number) {
        close_page(rows);
        PyObject *key = PyLong_FromLongLong(number);
        PyObject *found = key == NULL ? NULL : PyDict_GetItemWithError(rows->pages, key);
        Py_XDECREF(key);
        if (found == NULL ||
            PyObject_GetBuffer(found, &rows->page, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) {
            rows->page.obj = NULL;
            return NULL;
        }
        rows->number = number;
        if (rows->page.len != ROWS * BLOCK_WIDTH * 8) {
            PyErr_Format(PyExc_ValueError, "page %lld has %zd bytes", (long long)number,
                         rows->page.len);
            return NULL;
        }
    }
    return (int64_t *)rows->page.buf + (block_id & (ROWS - 1)) * BLOCK_WIDTH;
}

/*
 * How many good replicas the block has with this one if it is new, 0 if it was
 * counted before, -1 if it takes more thought than that.
 */
static int
count_replica(int64_t *row, const replica *told, const storage *at)
{
    if (told->state != FINALIZED || told->stamp >= MOST_STAMP || told->length > INT64_MAX ||
        row[STAMP] != (int64_t)(told->stamp << 3 | COMPLETE) ||
        row[LENGTH] != (int64_t)told->length || row[REPLICAS] < 0)
        return -1;
    int64_t left = row[REPLICAS];
    int count = 0, has_sibling = 0;
    for (; left != 0; left >>= STORAGE_BITS, count++) {
        const int64_t other = left & STORAGE_MASK;
        if (other == at->number)
            return 0;
        for (int i = 0; i < at->sibling_count; i++)
            has_sibling |= other == at->siblings[i];
    }
    if (count == MOST_INLINE || has_sibling)
        return -1;
    row[REPLICAS] |= at->number << count * STORAGE_BITS;
    return count + 1;
}

/* ---- what the report is expected to have ------------------------------------ */

typedef struct {
    PyObject *touched, *parts;
    char *flags;
    int64_t upper;
    int is_open;
} remaining;

/* Those ids are flags of a byte each from now on. */
static PyObject *
touch(remaining *of, PyObject *key, PyObject *part)
{
    Py_buffer lows;
    if (PyObject_GetBuffer(part, &lows, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
        return NULL;
    PyObject *flags = NULL;
    if (lows.itemsize != 2 || lows.format == NULL || strcmp(lows.format, "H"))
        PyErr_SetString(PyExc_TypeError, "a part has to be unsigned numbers of 16 bits");
    else
        flags = PyByteArray_FromStringAndSize(NULL, SET_SIZE);
    if (flags != NULL) {
        char *at = PyByteArray_AsString(flags);
        memset(at, 0, SET_SIZE);
        const uint16_t *low = lows.buf;
        for (Py_ssize_t i = 0; i < lows.len / 2; i++)
            at[low[i] & (SET_SIZE - 1)] = 1;
    }
    PyBuffer_Release(&lows);
    if (flags != NULL &&
        (PyDict_SetItem(of->touched, key, flags) < 0 || PyDict_DelItem(of->parts, key) < 0))
        Py_CLEAR(flags);
    return flags;
}

static int
cross_out(remaining *of, int64_t block_id)
{
    const int64_t upper = block_id >> SET_SHIFT;
    if (!of->is_open || upper != of->upper) {
        of->is_open = 1;
        of->upper = upper;
        of->flags = NULL;
        PyObject *key = PyLong_FromLongLong(upper);
        PyObject *flags = key == NULL ? NULL : PyDict_GetItemWithError(of->touched, key);
        Py_XINCREF(flags);
        if (flags == NULL && !PyErr_Occurred()) {
            PyObject *part = PyDict_GetItemWithError(of->parts, key);
            if (part != NULL)
                flags = touch(of, key, part);
        }
        Py_XDECREF(key);
        if (flags == NULL)
            return PyErr_Occurred() ? -1 : 0;
        if (!PyByteArray_Check(flags) || PyByteArray_Size(flags) != SET_SIZE) {
            Py_DECREF(flags);
            PyErr_SetString(PyExc_TypeError, "flags have to be a bytearray, a byte for each id");
            return -1;
        }
        /* The dict keeps it, and nobody else changes it meanwhile. */
        of->flags = PyByteArray_AsString(flags);
        Py_DECREF(flags);
    }
    if (of->flags != NULL)
        of->flags[block_id & (SET_SIZE - 1)] = 0;
    return 0;
}

/* ---- take_reported ---------------------------------------------------------- */

/* What is told of the replicas that were taken; as many of each as were asked for at most. */
typedef struct {
    /* The blocks with one more replica, and how many each has with it. */
    int64_t *ids;
    uint8_t *counts;
    /* Ids and generation stamps of replicas that belong to no block; NULL where these are not
     * taken. */
    uint64_t *orphaned;
    /* The highest generation stamp that one of these may have. */
    uint64_t last_stamp;
    Py_ssize_t added, orphans;
} taking;

/* Whether the replica is one that is taken, and not left to others; -1 with an error. */
static int
take(const replica *told, block_rows *rows, const storage *at, taking *to)
{
    /* Of a block group: it has no row of its own here, and is no orphan for that. */
    if (told->block_id < 0)
        return 0;
    int64_t *row = row_of(rows, told->block_id);
    if (row == NULL && PyErr_Occurred())
        return -1;
    const int is_known = row != NULL && row[STAMP] & IS_THERE;
    if (!is_known && (to->orphaned == NULL || told->state > LAST_STATE ||
                      told->stamp > to->last_stamp))
        return 0;
    const int is_else = is_exception(at, told->block_id);
    if (is_else != 0)
        return is_else < 0 ? -1 : 0;
    if (!is_known) {
        to->orphaned[2 * to->orphans] = (uint64_t)told->block_id;
        to->orphaned[2 * to->orphans + 1] = told->stamp;
        to->orphans++;
        return 1;
    }
    const int count = count_replica(row, told, at);
    if (count < 0)
        return 0;
    if (count > 0) {
        to->ids[to->added] = told->block_id;
        to->counts[to->added++] = (uint8_t)count;
    }
    return 1;
}

/*
 * take_reported(report, position, most, pages, number, siblings, exceptions, touched,
 *               parts, last_orphaned) -> (position, how many, ids, counts, orphaned)
 *
 * From `position` of a report's bytes on, at most `most` replicas, as long as each is
 * a good replica of a complete block, and no exception: it is counted in its row, if it
 * was not, and crossed out. `ids` are those of the blocks that have one more, 8 bytes
 * each, and `counts` how many each of them has now, a byte each. Up to the generation
 * stamp `last_orphaned` also replicas that belong to no block, in whatever state, or none
 * of them if it is negative: they are crossed out, and `orphaned` has the id and the
 * generation stamp of each, 8 bytes each. It ends before the first replica that is
 * anything else, or no replica.
 */
PyObject *
howdah_take_reported(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (nargs != 10) {
        PyErr_Format(PyExc_TypeError, "take_reported takes 10 arguments, not %zd", nargs);
        return NULL;
    }
    if (!PyBytes_Check(args[0]) || !PyDict_Check(args[3]) || !PyDict_Check(args[7]) ||
        !PyDict_Check(args[8])) {
        PyErr_SetString(PyExc_TypeError, "a report is bytes; pages, touched and parts are dicts");
        return NULL;
    }
    const Py_ssize_t size = PyBytes_Size(args[0]);
    const Py_ssize_t position = PyLong_AsSsize_t(args[1]), most = PyLong_AsSsize_t(args[2]);
    if (PyErr_Occurred())
        return NULL;
    if (position < 0 || position > size || most < 0 || most > 1 << 24) {
        PyErr_Format(PyExc_ValueError, "at most %zd replicas from %zd of %zd bytes", most, position,
                     size);
        return NULL;
    }
    const int64_t last_orphaned = PyLong_AsLongLong(args[9]);
    if (last_orphaned == -1 && PyErr_Occurred())
        return NULL;
    const int takes_orphaned = last_orphaned >= 0;
    storage at;
    if (open_storage(args[4], args[5], args[6], &at) < 0)
        return NULL;
    block_rows rows = {.pages = args[3], .page = {.obj = NULL}};
    remaining left = {.touched = args[7], .parts = args[8]};
    const size_t room = (size_t)(most ? most : 1);
    uint64_t *made = PyMem_Malloc(room * ((takes_orphaned ? 3 : 1) * sizeof(uint64_t) + 1));
    if (made == NULL)
        return PyErr_NoMemory();
    taking to = {.ids = (int64_t *)made,
                 .orphaned = takes_orphaned ? made + room : NULL,
                 .last_stamp = takes_orphaned ? (uint64_t)last_orphaned : 0,
                 .counts = (uint8_t *)(made + (takes_orphaned ? 3 : 1) * room)};
    const uint8_t *begin = (const uint8_t *)PyBytes_AsString(args[0]);
    const uint8_t *from = begin + position, *end = begin + size;
    Py_ssize_t taken = 0;
    while (taken < most && from < end) {
        replica told;
        const uint8_t *next = get_replica(from, end, &told);
        if (next == NULL || take(&told, &rows, &at, &to) != 1 ||
            cross_out(&left, told.block_id) < 0)
            break;
        from = next;
        taken++;
    }
    close_page(&rows);
    PyObject *result = NULL;
    if (!PyErr_Occurred())
        result = Py_BuildValue(
            "nny#y#y#", (Py_ssize_t)(from - begin), taken, (const char *)to.ids,
            (Py_ssize_t)(to.added * sizeof(int64_t)), (const char *)to.counts, to.added,
            takes_orphaned ? (const char *)to.orphaned : "",
            (Py_ssize_t)(to.orphans * 2 * sizeof(uint64_t)));
    PyMem_Free(made);
    return result;
}
