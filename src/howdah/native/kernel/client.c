/*
 * Part of howdah.native._kernel: what a reading client writes and reads for every file.
 *
 *     read_request   the bytes that ask for a range of a block (twin: `howdah.protocol.data_transfer.op_requests`)
 *     located        the blocks in an answer of getBlockLocations (twin: `howdah.client.located_blocks_decoder`)
 *
 * Both take a microsecond or two, and keep the interpreter's lock. `located` understands what
 * namenodes nearly always answer: fields in the order of their numbers and none that is not known,
 * no token, no encryption, and datanodes that were seen before. Of all else it says None, and
 * protobuf decodes it.
 */
#include "kernel.h"

#include <string.h>

#include "protobuf.h"

enum {
    MOST_KEY = 1024, /* of what is known of a datanode */
    KINDS = 7,       /* of storages, with one of number 0 */
};

/* ---- read_request ------------------------------------------------------------------ */

static size_t
field_bytes(size_t inner)
{
    return 1 + varint_bytes(inner) + inner;
}

/* read_request(start, pool, token, client, rest, id, stamp, length, offset, count) -> bytes */
PyObject *
howdah_read_request(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    enum { START, POOL, TOKEN, CLIENT, REST, PARTS };
    enum { ID, STAMP, LENGTH, OFFSET, COUNT, NUMBERS };
    char *part[PARTS];
    Py_ssize_t bytes[PARTS];
    uint64_t number[NUMBERS];
    if (howdah_check_arity("read_request", PARTS + NUMBERS, nargs) < 0)
        return NULL;
    for (int i = 0; i < PARTS; i++) {
        if (PyBytes_AsStringAndSize(args[i], &part[i], &bytes[i]) < 0)
            return NULL;
    }
    for (int i = 0; i < NUMBERS; i++) {
        /* Ids of striped blocks are below zero, and have all their bits on the wire. */
        number[i] = PyLong_AsUnsignedLongLongMask(args[PARTS + i]);
        if (number[i] == UINT64_MAX && PyErr_Occurred())
            return NULL;
    }
    const size_t block = (size_t)bytes[POOL] + 3 + varint_bytes(number[ID]) +
                         varint_bytes(number[STAMP]) + varint_bytes(number[LENGTH]);
    const size_t base = field_bytes(block) + (size_t)bytes[TOKEN];
    const size_t header = field_bytes(base) + (size_t)bytes[CLIENT];
    const size_t message = field_bytes(header) + 2 + varint_bytes(number[OFFSET]) +
                           varint_bytes(number[COUNT]) + (size_t)bytes[REST];
    PyObject *made = PyBytes_FromStringAndSize(
        NULL, (Py_ssize_t)((size_t)bytes[START] + varint_bytes(message) + message));
    if (made == NULL)
        return NULL;
    uint8_t *to = (uint8_t *)PyBytes_AsString(made);
    to = put_bytes(to, part[START], (size_t)bytes[START]);
    to = put_varint(to, message);
    to = put_field(to, 0x0a, header);
    to = put_field(to, 0x0a, base);
    to = put_field(to, 0x0a, block);
    to = put_bytes(to, part[POOL], (size_t)bytes[POOL]);
    to = put_field(to, 0x10, number[ID]);
    to = put_field(to, 0x18, number[STAMP]);
    to = put_field(to, 0x20, number[LENGTH]);
    to = put_bytes(to, part[TOKEN], (size_t)bytes[TOKEN]);
    to = put_bytes(to, part[CLIENT], (size_t)bytes[CLIENT]);
    to = put_field(to, 0x10, number[OFFSET]);
    to = put_field(to, 0x18, number[COUNT]);
    put_bytes(to, part[REST], (size_t)bytes[REST]);
    return made;
}

/* ---- located ----------------------------------------------------------------------- */

typedef struct {
    const uint8_t *at, *end;
} piece;

/* Each of what follows gives 1, or 0 for what is not ordinary, or -1 with an error of Python. */

static int
take_varint(piece *from, uint64_t *value)
{
    const uint8_t *end = get_varint(from->at, from->end, value);
    if (end == NULL)
        return 0;
    from->at = end;
    return 1;
}

static int
has_tag(const piece *from, uint8_t tag)
{
    return from->at < from->end && *from->at == tag;
}

static int
take_number(piece *from, uint8_t tag, uint64_t *value)
{
    if (!has_tag(from, tag))
        return 0;
    from->at++;
    return take_varint(from, value);
}

static int
take_flag(piece *from, uint8_t tag, uint64_t *flag)
{
    return take_number(from, tag, flag) && *flag <= 1;
}

static int
take_bytes(piece *from, piece *inner)
{
    uint64_t bytes;
    if (!take_varint(from, &bytes) || bytes > (uint64_t)(from->end - from->at))
        return 0;
    inner->at = from->at;
    from->at += bytes;
    inner->end = from->at;
    return 1;
}

static int
take_piece(piece *from, uint8_t tag, piece *inner)
{
    if (!has_tag(from, tag))
        return 0;
    from->at++;
    return take_bytes(from, inner);
}

static int
take_text(piece *from, uint8_t tag, PyObject **made)
{
    piece text;
    if (!take_piece(from, tag, &text))
        return 0;
    *made = PyUnicode_DecodeUTF8((const char *)text.at, text.end - text.at, NULL);
    if (*made != NULL)
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        return -1;
    PyErr_Clear();
    return 0;
}

/* The kinds of DatanodeInfoProto's fields from 2 to 18: 'n' for numbers, 't' for texts. */
static const char INFO_FIELDS[] = "nnnnnntnnnnntnnnt";

/* A datanode that is `known` by its id and its location, as they are on the wire. */
static int
take_node(piece *from, PyObject *known, PyObject **node)
{
    uint8_t key[MOST_KEY];
    piece info, inner;
    if (!take_piece(from, 0x1a, &info))
        return 0;
    const uint8_t *begin = info.at;
    if (!take_piece(&info, 0x0a, &inner) || info.at - begin > MOST_KEY)
        return 0;
    size_t key_bytes = (size_t)(info.at - begin);
    memcpy(key, begin, key_bytes);
    uint64_t tag, number, last = 1;
    while (info.at < info.end) {
        begin = info.at;
        if (!take_varint(&info, &tag))
            return 0;
        const uint64_t field = tag >> 3;
        if (field <= last || field > sizeof INFO_FIELDS)
            return 0;
        last = field;
        const int is_text = INFO_FIELDS[field - 2] == 't';
        if ((tag & 7) != (is_text ? 2 : 0) ||
            !(is_text ? take_bytes(&info, &inner) : take_varint(&info, &number)))
            return 0;
        if (field == 8) {
            const size_t bytes = (size_t)(info.at - begin);
            if (bytes > MOST_KEY - key_bytes)
                return 0;
            memcpy(key + key_bytes, begin, bytes);
            key_bytes += bytes;
        }
    }
    PyObject *name = PyBytes_FromStringAndSize((const char *)key, (Py_ssize_t)key_bytes);
    if (name == NULL)
        return -1;
    *node = PyDict_GetItemWithError(known, name);
    Py_DECREF(name);
    if (*node == NULL)
        return PyErr_Occurred() ? -1 : 0;
    Py_INCREF(*node);
    return 1;
}

/* Add what was made to `list`, and let go of it. */
static int
append(PyObject *list, int result, PyObject *made)
{
    if (result == 1 && (made == NULL || PyList_Append(list, made) < 0))
        result = -1;
    Py_XDECREF(made);
    return result;
}

typedef struct {
    PyObject *nodes, *ids, *kinds, *cached;
} replicas;

static int
begin_replicas(replicas *found)
{
    found->nodes = PyList_New(0);
    found->ids = PyList_New(0);
    found->kinds = PyList_New(0);
    found->cached = PyList_New(0);
    return found->nodes && found->ids && found->kinds && found->cached ? 1 : -1;
}

static void
end_replicas(replicas *found)
{
    Py_XDECREF(found->nodes);
    Py_XDECREF(found->ids);
    Py_XDECREF(found->kinds);
    Py_XDECREF(found->cached);
}

/* What stands in a LocatedBlockProto behind the flag for corrupt ones. */
static int
take_storages(piece *from, PyObject *all_kinds, replicas *found)
{
    static const uint8_t no_token[] = {0x2a, 8, 0x0a, 0, 0x12, 0, 0x1a, 0, 0x22, 0};
    if ((size_t)(from->end - from->at) < sizeof no_token ||
        memcmp(from->at, no_token, sizeof no_token) != 0)
        return 0;
    from->at += sizeof no_token;
    int result = 1;
    piece flags;
    if (has_tag(from, 0x32)) {
        if (!take_piece(from, 0x32, &flags))
            return 0;
        for (; result == 1 && flags.at < flags.end; flags.at++) {
            if (*flags.at > 1)
                return 0;
            result = append(found->cached, 1, PyBool_FromLong(*flags.at));
        }
    }
    while (result == 1 && has_tag(from, 0x38)) {
        uint64_t kind;
        if (!take_number(from, 0x38, &kind) || kind < 1 || kind >= KINDS)
            return 0;
        PyObject *its = PyTuple_GetItem(all_kinds, (Py_ssize_t)kind);
        Py_XINCREF(its);
        result = append(found->kinds, 1, its);
    }
    while (result == 1 && has_tag(from, 0x42)) {
        PyObject *id = NULL;
        result = take_text(from, 0x42, &id);
        result = append(found->ids, result, id);
    }
    return result == 1 ? from->at == from->end : result;
}

typedef struct {
    PyObject *known, *kinds;
} context;

/* (pool, id, stamp, length, offset, nodes, storage ids, storage types, cached, corrupt) */
static int
take_block(piece from, const context *with, PyObject **made)
{
    piece block;
    uint64_t id, stamp, length = 0, offset, corrupt;
    PyObject *pool = NULL;
    if (!take_piece(&from, 0x0a, &block) || !take_number(&from, 0x10, &offset))
        return 0;
    int result = take_text(&block, 0x0a, &pool);
    if (result != 1)
        return result;
    replicas found = {0};
    result = take_number(&block, 0x10, &id) && take_number(&block, 0x18, &stamp);
    if (result && block.at < block.end)
        result = take_number(&block, 0x20, &length) && block.at == block.end;
    if (result)
        result = begin_replicas(&found);
    while (result == 1 && has_tag(&from, 0x1a)) {
        PyObject *node = NULL;
        result = take_node(&from, with->known, &node);
        result = append(found.nodes, result, node);
    }
    if (result == 1)
        result = take_flag(&from, 0x20, &corrupt);
    if (result == 1)
        result = take_storages(&from, with->kinds, &found);
    if (result == 1) {
        PyObject *nodes = PyList_AsTuple(found.nodes), *ids = PyList_AsTuple(found.ids),
                 *kinds = PyList_AsTuple(found.kinds), *cached = PyList_AsTuple(found.cached);
        if (nodes && ids && kinds && cached)
            *made = Py_BuildValue("(OLLLKOOOOO)", pool, (long long)id, (long long)stamp,
                                  (long long)length, (unsigned long long)offset, nodes, ids, kinds,
                                  cached, corrupt ? Py_True : Py_False);
        Py_XDECREF(nodes);
        Py_XDECREF(ids);
        Py_XDECREF(kinds);
        Py_XDECREF(cached);
        result = *made == NULL ? -1 : 1;
    }
    end_replicas(&found);
    Py_DECREF(pool);
    return result;
}

/* All blocks, into `blocks`; where the last of them was is `*last`. */
static int
take_blocks(piece *from, const context *with, PyObject *blocks, piece *last)
{
    while (has_tag(from, 0x12)) {
        PyObject *block = NULL;
        if (!take_piece(from, 0x12, last))
            return 0;
        int result = take_block(*last, with, &block);
        result = append(blocks, result, block);
        if (result != 1)
            return result;
    }
    return 1;
}

/* The last block of the file: the same object if it is the last one of the answer. */
static int
take_last(piece *from, const context *with, PyObject *blocks, const piece *before, PyObject **made)
{
    piece last;
    if (!has_tag(from, 0x22)) {
        *made = Py_None;
        Py_INCREF(Py_None);
        return 1;
    }
    if (!take_piece(from, 0x22, &last))
        return 0;
    const size_t bytes = (size_t)(last.end - last.at);
    if (before->at == NULL || (size_t)(before->end - before->at) != bytes ||
        memcmp(last.at, before->at, bytes) != 0)
        return take_block(last, with, made);
    *made = PyList_GetItem(blocks, PyList_Size(blocks) - 1);
    if (*made == NULL)
        return -1;
    Py_INCREF(*made);
    return 1;
}

/* located(answer, known, kinds) ->
 * (length, blocks, under construction, the last block or None, whether that is complete) | None */
PyObject *
howdah_located(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    char *answer;
    Py_ssize_t bytes;
    if (howdah_check_arity("located", 3, nargs) < 0 ||
        PyBytes_AsStringAndSize(args[0], &answer, &bytes) < 0)
        return NULL;
    if (!PyDict_Check(args[1]) || !PyTuple_Check(args[2]) || PyTuple_Size(args[2]) != KINDS) {
        PyErr_SetString(PyExc_TypeError, "located takes what is known of datanodes, and 7 kinds");
        return NULL;
    }
    const context with = {.known = args[1], .kinds = args[2]};
    piece all = {(const uint8_t *)answer, (const uint8_t *)answer + bytes};
    piece inner, before = {NULL, NULL};
    uint64_t length, growing, complete;
    PyObject *last = NULL, *made = NULL, *blocks = PyList_New(0);
    if (blocks == NULL)
        return NULL;
    int result = take_piece(&all, 0x0a, &inner) && all.at == all.end &&
                 take_number(&inner, 0x08, &length);
    if (result == 1)
        result = take_blocks(&inner, &with, blocks, &before);
    if (result == 1)
        result = take_flag(&inner, 0x18, &growing);
    if (result == 1)
        result = take_last(&inner, &with, blocks, &before, &last);
    if (result == 1)
        result = take_flag(&inner, 0x28, &complete) && inner.at == inner.end;
    if (result == 1)
        made = Py_BuildValue("(KOOOO)", (unsigned long long)length, blocks,
                             growing ? Py_True : Py_False, last, complete ? Py_True : Py_False);
    else if (result == 0) {
        made = Py_None;
        Py_INCREF(Py_None);
    }
    Py_XDECREF(last);
    Py_DECREF(blocks);
    return made;
}
