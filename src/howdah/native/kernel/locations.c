/*
 * Part of howdah.native._kernel: where the blocks of a file are, from a request's bytes to an answer's.
 *
 *     block_locations   `getBlockLocations` from a namespace's tables and its datanodes
 *                       (twin: `howdah.namenode.service.protocols.fast_path.locations`)
 *
 * It returns None for whatever is rare, and what it lacks where its caller can supply that. The
 * same tests run over both.
 */
#include "kernel.h"

#include <string.h>

#include "locations.h"
#include "protobuf.h"
#include "reads.h"

enum { MAX_PLACES = 3, MAX_LOCATED = 64 };

/* Of a datanode, what `messages.shown_datanode` keeps it by. */
enum { HEARTBEAT, REGISTRATIONS, RACK, IDENTITY, STATE, DOMAIN, SHOWN_BY };

/* Names of attributes; made once, for good. */
static PyObject *name_node, *name_shown, *name_id, *name_type, *name_uuid, *names_shown_by[SHOWN_BY];

static int
make_names(void)
{
    static const struct {
        PyObject **to;
        const char *name;
    } wanted[] = {
        {&name_node, "node"},
        {&name_shown, "shown"},
        {&name_id, "storage_id"},
        {&name_type, "storage_type"},
        {&name_uuid, "uuid"},
        {&names_shown_by[HEARTBEAT], "last_heartbeat_ms"},
        {&names_shown_by[REGISTRATIONS], "registrations"},
        {&names_shown_by[RACK], "location"},
        {&names_shown_by[IDENTITY], "identity"},
        {&names_shown_by[STATE], "admin_state"},
        {&names_shown_by[DOMAIN], "upgrade_domain"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (*wanted[i].to == NULL &&
            (*wanted[i].to = PyUnicode_InternFromString(wanted[i].name)) == NULL)
            return -1;
    return 0;
}

/* ---- places ----------------------------------------------------------------- */

/* A replica's place; it owns its objects. */
typedef struct {
    PyObject *storage, *node, *shown, *id;
    const char *info_at, *id_at;
    Py_ssize_t info_bytes, id_bytes;
    uint64_t type;
    int64_t rank;
} place;

static PyObject *
part(const locating *with, int number)
{
    return PyTuple_GetItem(with->view, number);
}

static void
let_go(place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Py_CLEAR(places[i].storage);
        Py_CLEAR(places[i].node);
        Py_CLEAR(places[i].shown);
        Py_CLEAR(places[i].id);
    }
}

static int
lacks(locating *with, PyObject *what)
{
    Py_INCREF(what);
    Py_XDECREF(with->lacking);
    with->lacking = what;
    return 0;
}

/* How far a datanode is from the caller, nearest first. */
static int
read_rank(locating *with, PyObject *shown_by, int64_t *rank)
{
    if (PyTuple_GetItem(shown_by, STATE) != part(with, NORMAL))
        return 0;
    const long long heard_ms = PyLong_AsLongLong(PyTuple_GetItem(shown_by, HEARTBEAT));
    if (heard_ms == -1 && PyErr_Occurred())
        return -1;
    PyObject *rack = PyTuple_GetItem(shown_by, RACK);
    long far;
    const int is_here = PyObject_RichCompareBool(rack, part(with, LOCATION), Py_EQ);
    if (is_here < 0)
        return -1;
    if (is_here) {
        const int is_it =
            howdah_is_same(PyTuple_GetItem(shown_by, IDENTITY), name_uuid, part(with, NAME));
        if (is_it < 0)
            return -1;
        far = is_it ? 0 : 2;
    } else {
        PyObject *measured = PyDict_GetItemWithError(part(with, FAR), rack);
        if (measured == NULL)
            return PyErr_Occurred() ? -1 : lacks(with, rack);
        far = PyLong_AsLong(measured);
        if (far == -1 && PyErr_Occurred())
            return -1;
    }
    const int is_stale = with->now_ms - heard_ms > with->stale_ms;
    *rank = (int64_t)is_stale << 40 | (far & 0xffffff);
    return 1;
}

/* What clients are shown of a datanode, if that is still so. */
static int
read_shown(locating *with, place *to)
{
    to->shown = PyObject_GetAttr(to->node, name_shown);
    if (to->shown == NULL)
        return -1;
    if (!PyTuple_Check(to->shown) || PyTuple_Size(to->shown) != 3)
        return lacks(with, to->node);
    PyObject *shown_by = PyTuple_GetItem(to->shown, 0);
    if (!PyTuple_Check(shown_by) || PyTuple_Size(shown_by) != SHOWN_BY)
        return lacks(with, to->node);
    for (int i = 0; i < SHOWN_BY; i++) {
        PyObject *now = PyObject_GetAttr(to->node, names_shown_by[i]);
        if (now == NULL)
            return -1;
        /* By value: a compiled object makes a new number at each look. */
        const int is_same = PyObject_RichCompareBool(now, PyTuple_GetItem(shown_by, i), Py_EQ);
        Py_DECREF(now);
        if (is_same < 0)
            return -1;
        if (!is_same)
            return lacks(with, to->node);
    }
    char *at;
    if (PyBytes_AsStringAndSize(PyTuple_GetItem(to->shown, 2), &at, &to->info_bytes) < 0)
        return -1;
    to->info_at = at;
    return read_rank(with, shown_by, &to->rank);
}

static int
read_place(locating *with, uint64_t number, place *to)
{
    to->storage = PyList_GetItem(part(with, STORAGES), (Py_ssize_t)number - 1);
    if (to->storage == NULL)
        return -1;
    Py_INCREF(to->storage);
    to->node = PyObject_GetAttr(to->storage, name_node);
    to->id = to->node == NULL ? NULL : PyObject_GetAttr(to->storage, name_id);
    to->id_at = to->id == NULL ? NULL : PyUnicode_AsUTF8AndSize(to->id, &to->id_bytes);
    PyObject *type = to->id_at == NULL ? NULL : PyObject_GetAttr(to->storage, name_type);
    if (type == NULL)
        return -1;
    to->type = PyLong_AsUnsignedLongLong(type);
    Py_DECREF(type);
    if (to->type == (uint64_t)-1 && PyErr_Occurred())
        return -1;
    return read_shown(with, to);
}

/* Equals in any order, and then the nearest first. */
static void
sort_places(place *places, size_t count, uint64_t *dice)
{
    for (size_t i = count; i > 1; i--) {
        *dice = *dice * 6364136223846793005u + 1442695040888963407u;
        const size_t j = (size_t)(*dice >> 33) % i;
        const place other = places[i - 1];
        places[i - 1] = places[j];
        places[j] = other;
    }
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && places[j - 1].rank > places[j].rank; j--) {
            const place other = places[j];
            places[j] = places[j - 1];
            places[j - 1] = other;
        }
}

/* ---- blocks ----------------------------------------------------------------- */

/* LocatedBlockProto, in `with->block`; field numbers are those of Hadoop's hdfs.proto. */
static int
put_block(locating *with, int64_t id, const int64_t *row, uint64_t offset, const place *places,
          size_t count)
{
    static const uint8_t NO_TOKEN[] = {0x2a, 8, 0x0a, 0, 0x12, 0, 0x1a, 0, 0x22, 0};
    const uint64_t stamp = (uint64_t)row[STAMP] >> 3, length = (uint64_t)row[LENGTH];
    const uint64_t pool_bytes = (uint64_t)with->pool_bytes;
    size_t room = 128 + (size_t)pool_bytes;
    for (size_t i = 0; i < count; i++)
        room += 48 + (size_t)places[i].info_bytes + (size_t)places[i].id_bytes;
    with->block.used = 0;
    uint8_t *to = make_room(&with->block, room);
    if (to == NULL)
        return -1;
    to = put_field(to, 0x0a,
                   1 + varint_bytes(pool_bytes) + pool_bytes + 1 + varint_bytes((uint64_t)id) + 1 +
                       varint_bytes(stamp) + 1 + varint_bytes(length));
    to = put_text(to, 0x0a, with->pool, with->pool_bytes);
    to = put_field(to, 0x10, (uint64_t)id);
    to = put_field(to, 0x18, stamp);
    to = put_field(to, 0x20, length);
    to = put_field(to, 0x10, offset);
    for (size_t i = 0; i < count; i++)
        to = put_text(to, 0x1a, places[i].info_at, places[i].info_bytes);
    to = put_field(to, 0x20, 0); /* not corrupt */
    to = put_bytes(to, NO_TOKEN, sizeof NO_TOKEN);
    to = put_field(to, 0x32, count); /* cached nowhere */
    memset(to, 0, count);
    to += count;
    for (size_t i = 0; i < count; i++)
        to = put_field(to, 0x38, places[i].type);
    for (size_t i = 0; i < count; i++)
        to = put_text(to, 0x42, places[i].id_at, places[i].id_bytes);
    with->block.used = (size_t)(to - with->block.bytes);
    return 1;
}

/* Whether nothing but its replicas, of which a row has three at most, is to be told of a block. */
static int
is_plain_block(locating *with, int64_t id, const int64_t *row)
{
    if ((row[STAMP] & 7) != COMPLETE || row[REPLICAS] <= 0)
        return 0;
    PyObject *key = PyLong_FromLongLong(id);
    if (key == NULL)
        return -1;
    int is_special = PyDict_Contains(part(with, EXTRAS), key);
    if (is_special == 0)
        is_special = PyDict_Contains(part(with, CACHED), key);
    Py_DECREF(key);
    return is_special < 0 ? -1 : !is_special;
}

/* A block with its places, in `with->block`. */
static int
locate(locating *with, int64_t id, const int64_t *row, uint64_t offset)
{
    int result = is_plain_block(with, id, row);
    if (result != 1)
        return result;
    place places[MAX_PLACES] = {{0}};
    size_t count = 0;
    for (uint64_t left = (uint64_t)row[REPLICAS]; result == 1 && left && count < MAX_PLACES;
         left >>= STORAGE_BITS) {
        result = read_place(with, left & ((1u << STORAGE_BITS) - 1), &places[count]);
        count++;
    }
    for (size_t i = 0; result == 1 && i + 1 < count; i++)
        for (size_t j = i + 1; j < count; j++)
            result = result && places[i].node != places[j].node;
    if (result == 1) {
        sort_places(places, count, &with->dice);
        result = put_block(with, id, row, offset, places, count);
    }
    with->located = count;
    let_go(places, count);
    return result;
}

/* What is in `with->block`, as a field of the answer. */
static int
keep_block(locating *with, uint8_t tag)
{
    uint8_t *to = make_room(&with->blocks, with->block.used + 12);
    if (to == NULL)
        return -1;
    to = put_text(to, tag, (const char *)with->block.bytes, (Py_ssize_t)with->block.used);
    with->blocks.used = (size_t)(to - with->blocks.bytes);
    return 1;
}

/* The blocks in the range, in `with->blocks`, and behind them the file's last one. */
static int
locate_all(locating *with, range *of)
{
    PyObject *pages = PyTuple_GetItem(with->tables, BLOCKS);
    int64_t id = 0, row[BLOCK_WIDTH];
    int located = 0, is_last = 0;
    for (Py_ssize_t i = 0; i < of->count; i++) {
        memcpy(&id, of->ids + 8 * i, 8);
        int result = howdah_read_row(pages, id, BLOCK_WIDTH, row);
        if (result != 1)
            return result;
        if (row[LENGTH] < 0 || (row[STAMP] & 7) != COMPLETE)
            return 0;
        const uint64_t begin = of->length;
        of->length += (uint64_t)row[LENGTH];
        is_last = begin < of->end && of->length > of->offset;
        if (!is_last)
            continue;
        if (++located > MAX_LOCATED)
            return 0;
        result = locate(with, id, row, begin);
        if (result == 1)
            result = keep_block(with, 0x12);
        with->places += with->located;
        if (result != 1)
            return result;
    }
    int result = is_last ? 1 : locate(with, id, row, of->length - (uint64_t)row[LENGTH]);
    if (result == 1) {
        static const uint8_t CLOSED[] = {0x18, 0}; /* underConstruction */
        uint8_t *to = make_room(&with->blocks, sizeof CLOSED);
        if (to == NULL)
            return -1;
        put_bytes(to, CLOSED, sizeof CLOSED);
        with->blocks.used += sizeof CLOSED;
        result = keep_block(with, 0x22);
    }
    return result;
}

/* ---- the request ------------------------------------------------------------ */

/* Offset and length, which follow the path: fields 2 and 3. */
static int
read_range(const uint8_t *at, const uint8_t *end, range *of)
{
    uint64_t length = 0;
    if (at >= end || *at != 0x10 || (at = get_varint(at + 1, end, &of->offset)) == NULL ||
        of->offset > INT64_MAX)
        return 0;
    if (at >= end || *at != 0x18 || (at = get_varint(at + 1, end, &length)) == NULL ||
        length > INT64_MAX)
        return 0;
    of->end = of->offset + length;
    return at == end;
}

/* Whether the file is the caller's to read. */
static int
may_read(PyObject *traits, PyObject *user, PyObject *groups)
{
    if (!PyTuple_Check(traits) || PyTuple_Size(traits) != 5) {
        PyErr_SetString(PyExc_TypeError, "traits are five");
        return -1;
    }
    long bit = 0400;
    int is = PyObject_RichCompareBool(PyTuple_GetItem(traits, 0), user, Py_EQ);
    if (is == 0) {
        is = PySequence_Contains(groups, PyTuple_GetItem(traits, 1));
        bit = is == 0 ? 0004 : 0040;
    }
    if (is < 0)
        return -1;
    const long mode = PyLong_AsLong(PyTuple_GetItem(traits, 2));
    if (mode == -1 && PyErr_Occurred())
        return -1;
    return (mode & bit) != 0;
}

int
howdah_locate_file(locating *with, int64_t inode_id, int64_t block_id, range *of)
{
    with->blocks.used = 0;
    if (block_id == 0) {
        uint8_t *to = make_room(&with->blocks, 2);
        if (to == NULL)
            return -1;
        put_field(to, 0x18, 0); /* underConstruction */
        with->blocks.used = 2;
        return 1;
    }
    if (block_id > 0) {
        of->ids = (const char *)&block_id;
        of->count = 1;
        return locate_all(with, of);
    }
    PyObject *key = PyLong_FromLongLong(inode_id);
    if (key == NULL)
        return -1;
    PyObject *ids = PyDict_GetItemWithError(PyTuple_GetItem(with->tables, BLOCK_LISTS), key);
    Py_DECREF(key);
    if (ids == NULL)
        return PyErr_Occurred() ? -1 : 0;
    Py_buffer view;
    if (PyObject_GetBuffer(ids, &view, PyBUF_SIMPLE) < 0)
        return -1;
    of->ids = view.buf;
    of->count = view.len / 8;
    const int result = of->count == 0 ? 0 : locate_all(with, of);
    PyBuffer_Release(&view);
    return result;
}

/* What is told of the file that was found. */
static int
answer_file(locating *with, PyObject *const *args, int64_t inode_id, range *of)
{
    int64_t row[FILE_WIDTH];
    int result = howdah_read_row(PyTuple_GetItem(with->tables, FILES), inode_id, FILE_WIDTH, row);
    if (result != 1)
        return result;
    const long long before_ms = PyLong_AsLongLong(part(with, TOUCHED_BEFORE_MS));
    if (before_ms == -1 && PyErr_Occurred())
        return -1;
    if (!(row[TRAITS] & 1) || row[ATIME] < before_ms)
        return 0;
    const int is_exempt = PyObject_IsTrue(args[IS_EXEMPT]);
    if (is_exempt < 0)
        return -1;
    if (!is_exempt) {
        PyObject *traits = PyList_GetItem(PyTuple_GetItem(with->tables, TRAITS_LIST),
                                          (Py_ssize_t)(row[TRAITS] >> 1));
        if (traits == NULL)
            return -1;
        Py_INCREF(traits);
        result = may_read(traits, args[USER], args[GROUPS]);
        Py_DECREF(traits);
        if (result != 1)
            return result;
    }
    return howdah_locate_file(with, inode_id, row[BLOCK], of);
}

size_t
howdah_located_bytes(const locating *with, const range *of)
{
    return 1 + varint_bytes(of->length) + with->blocks.used + 2;
}

uint8_t *
howdah_put_located(uint8_t *to, const locating *with, const range *of)
{
    to = put_field(to, 0x08, of->length);
    to = put_bytes(to, with->blocks.bytes, with->blocks.used);
    return put_field(to, 0x28, of->count != 0); /* isLastBlockComplete */
}

/* GetBlockLocationsResponseProto with the parts that were put together. */
static PyObject *
answer_of(const locating *with, const range *of)
{
    const size_t inner = howdah_located_bytes(with, of);
    const size_t count = 1 + varint_bytes(inner) + inner;
    PyObject *made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)count);
    if (made == NULL)
        return NULL;
    uint8_t *to = (uint8_t *)PyBytes_AsString(made);
    howdah_put_located(put_field(to, 0x0a, inner), with, of);
    return made;
}

int
howdah_open_view(PyObject *view, PyObject *tables, locating *with)
{
    if (make_names() < 0)
        return -1;
    with->tables = tables;
    if (!PyTuple_Check(view) || PyTuple_Size(view) != VIEW)
        goto wrong;
    with->view = view;
    if (!PyUnicode_Check(part(with, POOL)) || !PyList_Check(part(with, STORAGES)) ||
        !PyDict_Check(part(with, EXTRAS)) || !PyDict_Check(part(with, CACHED)) ||
        !PyUnicode_Check(part(with, LOCATION)) || !PyUnicode_Check(part(with, NAME)) ||
        !PyDict_Check(part(with, FAR)))
        goto wrong;
    with->pool = PyUnicode_AsUTF8AndSize(part(with, POOL), &with->pool_bytes);
    if (with->pool == NULL)
        return -1;
    with->now_ms = PyLong_AsLongLong(part(with, NOW_MS));
    with->stale_ms = PyLong_AsLongLong(part(with, STALE_MS));
    with->dice = PyLong_AsUnsignedLongLong(part(with, DICE));
    return PyErr_Occurred() ? -1 : 0;
wrong:
    PyErr_SetString(PyExc_TypeError, "what is seen of the datanodes is a View");
    return -1;
}

void
howdah_close_view(locating *with)
{
    Py_CLEAR(with->lacking);
    PyMem_Free(with->block.bytes);
    PyMem_Free(with->blocks.bytes);
}

/*
 * block_locations(request, ways, user, groups, is_exempt, tables, view)
 *     -> bytes | None | what is lacking
 */
PyObject *
howdah_block_locations(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (howdah_check_arity("block_locations", READ_ARGS + 1, nargs) < 0)
        return NULL;
    char *request;
    Py_ssize_t end, bytes, behind;
    if (PyBytes_AsStringAndSize(args[REQUEST], &request, &end) < 0)
        return NULL;
    if (!PyDict_Check(args[WAYS]) || !PyUnicode_Check(args[USER]) ||
        !howdah_are_tables(args[TABLES_ARG])) {
        PyErr_SetString(PyExc_TypeError, "block_locations takes ways, a user, and tables");
        return NULL;
    }
    locating with = {0};
    range of = {0};
    if (howdah_open_view(args[READ_ARGS], args[TABLES_ARG], &with) < 0)
        return NULL;
    const uint8_t *data = (const uint8_t *)request, *path;
    int64_t inode_id = 0;
    int result = howdah_read_path(data, end, &path, &bytes, &behind);
    if (result == 1)
        result = read_range(data + behind, data + end, &of);
    if (result == 1)
        result = howdah_find_file(path, bytes, args, &inode_id, NULL);
    if (result == 1)
        result = inode_id == 0 ? 0 : answer_file(&with, args, inode_id, &of);
    PyObject *made = NULL;
    if (result == 1) {
        made = answer_of(&with, &of);
    } else if (result == 0) {
        made = with.lacking == NULL ? Py_None : with.lacking;
        Py_INCREF(made);
    }
    howdah_close_view(&with);
    return made;
}
