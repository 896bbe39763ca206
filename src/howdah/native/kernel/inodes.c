/*
 * Part of howdah.native._kernel: the inodes of an image, thousands in one call.
 *
 *     split_messages   bytes to messages, each of which stands behind its length
 *                      (twin: `howdah.formats.image.sections`)
 *     pack_files       messages of plain files to columns
 *                      (twin: `howdah.formats.image.columns.split_files`)
 *
 * What is not plain is left to others: files with what few have, and messages that are not written
 * as all writers of images write them. The same tests run over both.
 */
#include "kernel.h"

#include <string.h>

#include "buffer.h"
#include "protobuf.h"

/* ---- split_messages --------------------------------------------------------- */

enum { MOST_LENGTH_BYTES = 5 };

/* split_messages(data) -> (list of messages, where they end, bytes that the next one needs)
 *
 * That number is 0 where the next length has more than 32 bits. */
PyObject *
howdah_split_messages(PyObject *module, PyObject *data)
{
    (void)module;
    char *begin;
    Py_ssize_t end, at = 0, needed = 1;
    if (PyBytes_AsStringAndSize(data, &begin, &end) < 0)
        return NULL;
    PyObject *messages = PyList_New(0);
    if (messages == NULL)
        return NULL;
    while (at < end) {
        const uint8_t *from = (const uint8_t *)begin + at;
        uint64_t length = 0;
        unsigned digits = 0;
        int is_whole = 0;
        while (!is_whole && digits < MOST_LENGTH_BYTES && at + digits < end) {
            length |= (uint64_t)(from[digits] & 0x7f) << (7 * digits);
            is_whole = from[digits] < 0x80;
            digits++;
        }
        if (!is_whole) {
            needed = digits < MOST_LENGTH_BYTES ? end - at + 1 : 0;
            break;
        }
        if (length > (uint64_t)(end - at - digits)) {
            needed = (Py_ssize_t)(digits + length);
            break;
        }
        PyObject *message =
            PyBytes_FromStringAndSize((const char *)from + digits, (Py_ssize_t)length);
        const int kept = message == NULL ? -1 : PyList_Append(messages, message);
        Py_XDECREF(message);
        if (kept < 0) {
            Py_DECREF(messages);
            return NULL;
        }
        at += digits + (Py_ssize_t)length;
    }
    return Py_BuildValue("Nnn", messages, at, needed);
}

/* ---- messages of files ------------------------------------------------------ */

/* A field: its tag, and a number or bytes. */
typedef struct {
    uint64_t tag, number;
    const uint8_t *at;
} field;

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

/* Where the field ends that begins at `from`; NULL for one of another kind, or that has no end. */
static const uint8_t *
get_field(const uint8_t *from, const uint8_t *end, field *to)
{
    from = get_varint(from, end, &to->tag);
    if (from == NULL)
        return NULL;
    to->at = from;
    switch (to->tag & 7) {
    case VARINT:
        return get_varint(from, end, &to->number);
    case FIXED64:
        if (end - from < 8)
            return NULL;
        to->number = 0;
        for (unsigned i = 0; i < 8; i++)
            to->number |= (uint64_t)from[i] << (8 * i);
        return from + 8;
    case BYTES:
        from = get_varint(from, end, &to->number);
        if (from == NULL || to->number > (uint64_t)(end - from))
            return NULL;
        to->at = from;
        return from + to->number;
    default:
        return NULL;
    }
}

/* What a file's message has of each field that all files have, by the field's number. */
enum { REPLICATION = 1, MODIFIED = 2, ACCESSED = 3, BLOCK_SIZE = 4, PERMISSION = 5, BLOCKS = 6,
       POLICY = 10, BLOCK_TYPE = 11, FILE_FIELDS = 12 };
enum { BLOCK_ID = 1, BLOCK_STAMP = 2, BLOCK_BYTES = 3, BLOCK_FIELDS = 4 };
enum { LOOK_NUMBERS = 4 };

typedef struct {
    output places, ids, ends, names, mtimes, atimes, looks, counts, block_ids, stamps, lengths;
    output known; /* the different looks, LOOK_NUMBERS each */
    size_t last_look;
} packed;

static int
put_int64(output *to, uint64_t number)
{
    uint8_t *at = make_room(to, 8);
    if (at == NULL)
        return -1;
    memcpy(at, &number, 8);
    to->used += 8;
    return 1;
}

static int
put_int32(output *to, uint64_t number)
{
    const int32_t narrow = (int32_t)number;
    uint8_t *at = make_room(to, 4);
    if (at == NULL)
        return -1;
    memcpy(at, &narrow, 4);
    to->used += 4;
    return 1;
}

/* All of these: 1, or 0 for what is not plain, or -1 with an error. */

static int
read_block(packed *to, const uint8_t *at, const uint8_t *end)
{
    uint64_t numbers[BLOCK_FIELDS] = {0};
    unsigned seen = 0;
    field found;
    while (at < end) {
        at = get_field(at, end, &found);
        const uint64_t number = at == NULL ? 0 : found.tag >> 3;
        if (number == 0 || number >= BLOCK_FIELDS || (found.tag & 7) != VARINT ||
            seen & 1u << number)
            return 0;
        seen |= 1u << number;
        numbers[number] = found.number;
    }
    if (seen != (1u << BLOCK_ID | 1u << BLOCK_STAMP | 1u << BLOCK_BYTES) || !numbers[BLOCK_ID])
        return 0;
    if (put_int64(&to->block_ids, numbers[BLOCK_ID]) < 0 ||
        put_int64(&to->stamps, numbers[BLOCK_STAMP]) < 0 ||
        put_int64(&to->lengths, numbers[BLOCK_BYTES]) < 0)
        return -1;
    return 1;
}

/* The number of a look. Most files look as the one before. */
static int
put_look(packed *to, const uint64_t *look)
{
    const size_t size = LOOK_NUMBERS * sizeof *look, count = to->known.used / size;
    size_t at = to->last_look;
    if (at >= count || memcmp(to->known.bytes + at * size, look, size)) {
        for (at = 0; at < count && memcmp(to->known.bytes + at * size, look, size); at++)
            continue;
        if (at == count) {
            uint8_t *room = make_room(&to->known, size);
            if (room == NULL)
                return -1;
            memcpy(room, look, size);
            to->known.used += size;
        }
        to->last_look = at;
    }
    return put_int32(&to->looks, at);
}

static int
read_file(packed *to, const uint8_t *at, const uint8_t *end)
{
    static const unsigned NEEDED = 1u << REPLICATION | 1u << MODIFIED | 1u << ACCESSED |
                                   1u << BLOCK_SIZE | 1u << PERMISSION;
    uint64_t numbers[FILE_FIELDS] = {0}, blocks = 0;
    unsigned seen = 0;
    field found;
    while (at < end) {
        at = get_field(at, end, &found);
        const uint64_t number = at == NULL ? 0 : found.tag >> 3;
        if (number == BLOCKS && (found.tag & 7) == BYTES) {
            const int result = read_block(to, found.at, found.at + found.number);
            if (result != 1)
                return result;
            blocks++;
            continue;
        }
        const unsigned kind = number == PERMISSION ? FIXED64 : VARINT;
        if (number == 0 || number >= FILE_FIELDS || (found.tag & 7) != kind || seen & 1u << number)
            return 0;
        seen |= 1u << number;
        numbers[number] = found.number;
    }
    if (seen & ~(NEEDED | 1u << POLICY | 1u << BLOCK_TYPE) || (seen & NEEDED) != NEEDED ||
        numbers[BLOCK_TYPE] || numbers[REPLICATION] > INT32_MAX || numbers[POLICY] > INT32_MAX)
        return 0;
    const uint64_t look[LOOK_NUMBERS] = {numbers[PERMISSION], numbers[REPLICATION],
                                         numbers[BLOCK_SIZE], numbers[POLICY]};
    if (put_look(to, look) < 0 || put_int64(&to->mtimes, numbers[MODIFIED]) < 0 ||
        put_int64(&to->atimes, numbers[ACCESSED]) < 0 || put_int64(&to->counts, blocks) < 0)
        return -1;
    return 1;
}

/* Whether these are characters of UTF-8 as Arrow and Spark take them. */
static int
is_utf8(const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        const uint8_t first = *at++;
        if (first < 0x80)
            continue;
        const unsigned more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
        if (first < 0xc2 || first > 0xf4 || (size_t)(end - at) < more)
            return 0;
        if ((first == 0xe0 && at[0] < 0xa0) || (first == 0xed && at[0] > 0x9f) ||
            (first == 0xf0 && at[0] < 0x90) || (first == 0xf4 && at[0] > 0x8f))
            return 0;
        for (unsigned i = 0; i < more; i++)
            if ((*at++ & 0xc0) != 0x80)
                return 0;
    }
    return 1;
}

/* A message that begins with type, id and name, in that order, and has a file behind them. */
static int
read_inode(packed *to, const uint8_t *at, const uint8_t *end)
{
    enum { TYPE = 1 << 3 | VARINT, ID = 2 << 3 | VARINT, NAME = 3 << 3 | BYTES,
           FILE_OF = 4 << 3 | BYTES, IS_FILE = 1 };
    field id, name, found;
    if ((at = get_field(at, end, &found)) == NULL || found.tag != TYPE || found.number != IS_FILE)
        return 0;
    if ((at = get_field(at, end, &id)) == NULL || id.tag != ID)
        return 0;
    if ((at = get_field(at, end, &name)) == NULL || name.tag != NAME || name.number > INT32_MAX ||
        !is_utf8(name.at, name.at + name.number))
        return 0;
    if (get_field(at, end, &found) != end || found.tag != FILE_OF)
        return 0;
    if (to->names.used + name.number > INT32_MAX)
        return 0;
    const int result = read_file(to, found.at, end);
    if (result != 1)
        return result;
    uint8_t *room = make_room(&to->names, (size_t)name.number);
    if (room == NULL)
        return -1;
    put_bytes(room, name.at, (size_t)name.number);
    to->names.used += (size_t)name.number;
    if (put_int64(&to->ids, id.number) < 0 || put_int32(&to->ends, to->names.used) < 0)
        return -1;
    return 1;
}

/* The same, and nothing of a message that is not plain is left. */
static int
take_inode(packed *to, PyObject *message)
{
    char *at;
    Py_ssize_t bytes;
    if (PyBytes_AsStringAndSize(message, &at, &bytes) < 0)
        return -1;
    const size_t blocks[] = {to->block_ids.used, to->stamps.used, to->lengths.used};
    const int result = read_inode(to, (const uint8_t *)at, (const uint8_t *)at + bytes);
    if (result == 0) {
        to->block_ids.used = blocks[0];
        to->stamps.used = blocks[1];
        to->lengths.used = blocks[2];
    }
    return result;
}

static PyObject *
bytes_of(const output *from)
{
    return PyBytes_FromStringAndSize(from->bytes == NULL ? "" : (const char *)from->bytes,
                                     (Py_ssize_t)from->used);
}

static PyObject *
looks_of(const output *known)
{
    const size_t count = known->used / (LOOK_NUMBERS * sizeof(uint64_t));
    PyObject *made = PyList_New(0);
    for (size_t i = 0; made != NULL && i < count; i++) {
        uint64_t look[LOOK_NUMBERS];
        memcpy(look, known->bytes + i * sizeof look, sizeof look);
        PyObject *one = Py_BuildValue("KKLK", (unsigned long long)look[0],
                                      (unsigned long long)look[1], (long long)look[2],
                                      (unsigned long long)look[3]);
        if (one == NULL || PyList_Append(made, one) < 0)
            Py_CLEAR(made);
        Py_XDECREF(one);
    }
    return made;
}

/* pack_files(messages) -> (places, ids, ends of names, names, mtimes, atimes, looks, the different
 * looks, counts of blocks, block ids, stamps, lengths)
 *
 * `places` are those of the plain files among the messages, as 32 bits each, as are ends and looks;
 * other numbers have 64 bits. */
PyObject *
howdah_pack_files(PyObject *module, PyObject *messages)
{
    (void)module;
    if (!PyList_Check(messages)) {
        PyErr_SetString(PyExc_TypeError, "pack_files takes a list of messages");
        return NULL;
    }
    packed to = {.last_look = 0};
    output *const columns[] = {&to.places, &to.ids,    &to.ends,      &to.names,
                               &to.mtimes, &to.atimes, &to.looks,     &to.known,
                               &to.counts, &to.block_ids, &to.stamps, &to.lengths};
    enum { COLUMNS = sizeof columns / sizeof *columns, KNOWN = 7 };
    PyObject *made = NULL;
    int result = put_int32(&to.ends, 0);
    for (Py_ssize_t i = 0; result >= 0 && i < PyList_Size(messages); i++) {
        PyObject *message = PyList_GetItem(messages, i);
        if (message == NULL) {
            result = -1;
            break;
        }
        Py_INCREF(message);
        result = take_inode(&to, message);
        Py_DECREF(message);
        if (result == 1)
            result = put_int32(&to.places, (uint64_t)i);
    }
    if (result >= 0)
        made = PyTuple_New(COLUMNS);
    for (Py_ssize_t i = 0; made != NULL && i < COLUMNS; i++) {
        PyObject *column = i == KNOWN ? looks_of(columns[i]) : bytes_of(columns[i]);
        if (column == NULL || PyTuple_SetItem(made, i, column) < 0)
            Py_CLEAR(made);
    }
    for (Py_ssize_t i = 0; i < COLUMNS; i++)
        PyMem_Free(columns[i]->bytes);
    return made;
}
