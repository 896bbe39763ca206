/*
 * Part of howdah.native._kernel: what a namenode is asked most, from a request's bytes to an answer's.
 *
 *     file_info   `getFileInfo` from a namespace's tables
 *                 (twin: `howdah.namenode.service.protocols.fast_path.file_status`)
 *
 * It returns None for whatever is rare. The same tests run over both.
 */
#include "kernel.h"

#include <string.h>

#include "protobuf.h"
#include "reads.h"

/* ---- tables ----------------------------------------------------------------- */

/* Names of attributes; made once, for good. */
static PyObject *name_entries, *name_features, *name_acl, *name_xattrs, *name_owner, *name_group,
    *name_mode, *name_mtime, *name_atime, *name_inode_id;

static int
make_names(void)
{
    static const struct {
        PyObject **to;
        const char *name;
    } wanted[] = {
        {&name_entries, "entries"}, {&name_features, "features"}, {&name_acl, "acl"},
        {&name_xattrs, "xattrs"},   {&name_owner, "owner"},       {&name_group, "group"},
        {&name_mode, "mode"},       {&name_mtime, "mtime_ms"},    {&name_atime, "atime_ms"},
        {&name_inode_id, "inode_id"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (*wanted[i].to == NULL &&
            (*wanted[i].to = PyUnicode_InternFromString(wanted[i].name)) == NULL)
            return -1;
    return 0;
}

/* All of these: 1 for yes, 0 for no, -1 with an error. */

static int
is_empty_tuple(PyObject *of, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(of, name);
    if (found == NULL)
        return -1;
    const int is = PyTuple_Check(found) && PyTuple_Size(found) == 0;
    Py_DECREF(found);
    return is;
}

/* Has no ACL, and no attributes, of which one may be a storage policy. */
static int
is_plain(PyObject *directory, PyObject *no_features)
{
    PyObject *features = PyObject_GetAttr(directory, name_features);
    if (features == NULL)
        return -1;
    int is = 1;
    if (features != no_features) {
        is = is_empty_tuple(features, name_acl);
        if (is > 0)
            is = is_empty_tuple(features, name_xattrs);
    }
    Py_DECREF(features);
    return is;
}

int
howdah_is_same(PyObject *directory, PyObject *name, PyObject *text)
{
    PyObject *found = PyObject_GetAttr(directory, name);
    if (found == NULL)
        return -1;
    const int is = found == text ? 1 : PyObject_RichCompareBool(found, text, Py_EQ);
    Py_DECREF(found);
    return is;
}

static int
may_enter(PyObject *directory, PyObject *user, PyObject *groups)
{
    long bit = 0100;
    int is = howdah_is_same(directory, name_owner, user);
    if (is == 0) {
        PyObject *group = PyObject_GetAttr(directory, name_group);
        if (group == NULL)
            return -1;
        is = PySequence_Contains(groups, group);
        Py_DECREF(group);
        bit = is == 0 ? 0001 : 0010;
    }
    if (is < 0)
        return -1;
    PyObject *mode = PyObject_GetAttr(directory, name_mode);
    if (mode == NULL)
        return -1;
    const long bits = PyLong_AsLong(mode);
    Py_DECREF(mode);
    if (bits == -1 && PyErr_Occurred())
        return -1;
    return (bits & bit) != 0;
}

/* Whether the user comes along a way, which has nothing that others have to look at. */
static int
may_go(PyObject *trail, PyObject *user, PyObject *groups, int is_exempt, PyObject *no_features)
{
    if (!PyList_Check(trail)) {
        PyErr_SetString(PyExc_TypeError, "a trail is a list");
        return -1;
    }
    int may = 1;
    for (Py_ssize_t i = 0; may == 1 && i < PyList_Size(trail); i++) {
        PyObject *directory = PyList_GetItem(trail, i);
        Py_INCREF(directory);
        may = is_plain(directory, no_features);
        if (may == 1 && !is_exempt)
            may = may_enter(directory, user, groups);
        Py_DECREF(directory);
    }
    return may;
}

int
howdah_read_row(PyObject *pages, int64_t id, unsigned width, int64_t *row)
{
    PyObject *key = PyLong_FromLongLong(id >> SHIFT);
    if (key == NULL)
        return -1;
    PyObject *page = PyDict_GetItemWithError(pages, key);
    Py_DECREF(key);
    if (page == NULL)
        return PyErr_Occurred() ? -1 : 0;
    Py_buffer view;
    Py_INCREF(page);
    const int opened = PyObject_GetBuffer(page, &view, PyBUF_SIMPLE);
    Py_DECREF(page); /* the view keeps it */
    if (opened < 0)
        return -1;
    const size_t at = (size_t)(id & MASK) * width * sizeof *row;
    const int is_there = at + width * sizeof *row <= (size_t)view.len;
    if (is_there)
        memcpy(row, (const char *)view.buf + at, width * sizeof *row);
    PyBuffer_Release(&view);
    if (!is_there)
        PyErr_SetString(PyExc_ValueError, "a page has fewer rows than it has to");
    return is_there ? 1 : -1;
}

/* The sum of the lengths of blocks, whose ids are a buffer of numbers. */
static int
add_lengths(PyObject *pages, PyObject *block_ids, int64_t *length)
{
    Py_buffer view;
    if (PyObject_GetBuffer(block_ids, &view, PyBUF_SIMPLE) < 0)
        return -1;
    int result = 1;
    uint64_t sum = 0;
    for (Py_ssize_t at = 0; result == 1 && at + 8 <= view.len; at += 8) {
        int64_t id, row[BLOCK_WIDTH];
        memcpy(&id, (const char *)view.buf + at, 8);
        result = howdah_read_row(pages, id, BLOCK_WIDTH, row);
        if (result == 1)
            sum += (uint64_t)row[LENGTH];
    }
    PyBuffer_Release(&view);
    *length = (int64_t)sum;
    return result;
}

static int
read_length(PyObject *tables, int64_t inode_id, int64_t block_id, int64_t *length)
{
    *length = 0;
    if (block_id == 0)
        return 1;
    PyObject *pages = PyTuple_GetItem(tables, BLOCKS);
    if (block_id > 0) {
        int64_t row[BLOCK_WIDTH];
        const int result = howdah_read_row(pages, block_id, BLOCK_WIDTH, row);
        if (result == 1)
            *length = row[LENGTH];
        return result;
    }
    PyObject *key = PyLong_FromLongLong(inode_id);
    if (key == NULL)
        return -1;
    PyObject *block_ids = PyDict_GetItemWithError(PyTuple_GetItem(tables, BLOCK_LISTS), key);
    Py_DECREF(key);
    if (block_ids == NULL)
        return PyErr_Occurred() ? -1 : 1;
    Py_INCREF(block_ids);
    const int result = add_lengths(pages, block_ids, length);
    Py_DECREF(block_ids);
    return result;
}

/* ---- a file's way ------------------------------------------------------------ */

int
howdah_read_path(const uint8_t *data, Py_ssize_t end, const uint8_t **path, Py_ssize_t *bytes,
                 Py_ssize_t *behind)
{
    if (end < 3 || data[0] != 0x0a)
        return 0;
    Py_ssize_t length = data[1], start = 2;
    if (length >= 0x80) {
        if (data[2] >= 0x80)
            return 0;
        length = (length & 0x7f) | (Py_ssize_t)data[2] << 7;
        start = 3;
    }
    *path = data + start;
    *bytes = length;
    *behind = start + length;
    return *behind <= end;
}

/* Where the last name begins in a path that is written as nearly all; 0 for others. */
static Py_ssize_t
name_in(const uint8_t *path, Py_ssize_t bytes)
{
    if (bytes < 2 || path[0] != '/' || path[bytes - 1] == '/')
        return 0;
    Py_ssize_t name = 0;
    for (Py_ssize_t i = 0; i + 1 < bytes; i++) {
        if (path[i] != '/')
            continue;
        if (path[i + 1] == '/' || path[i + 1] == '.')
            return 0;
        name = i + 1;
    }
    return name;
}

/* UTF-8 to a string; NULL without an error where it is none. */
static PyObject *
decode(const uint8_t *text, Py_ssize_t bytes)
{
    PyObject *made = PyUnicode_DecodeUTF8((const char *)text, bytes, "strict");
    if (made == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        PyErr_Clear();
    return made;
}

/* What a directory's entries have under a name, as the id of a plain file; 0 where there is nothing.
 * Another directory goes to `other`, a new reference, if somebody wants it. */
static int
read_entry(PyObject *directory, PyObject *name, PyObject *features, int64_t *inode_id,
           PyObject **other)
{
    PyObject *entries = PyObject_GetAttr(directory, name_entries);
    if (entries == NULL)
        return -1;
    int result = -1;
    if (!PyDict_Check(entries)) {
        PyErr_SetString(PyExc_TypeError, "entries are a dictionary");
        goto done;
    }
    PyObject *entry = PyDict_GetItemWithError(entries, name);
    *inode_id = 0;
    if (entry == NULL) {
        result = PyErr_Occurred() ? -1 : 1;
    } else if (!PyLong_Check(entry)) {
        result = other != NULL && Py_TYPE(entry) == Py_TYPE(directory);
        if (result) {
            Py_INCREF(entry);
            *other = entry;
        }
    } else {
        const int is_special = PyDict_Contains(features, entry);
        result = is_special < 0 ? -1 : !is_special;
        *inode_id = PyLong_AsLongLong(entry);
        if (*inode_id == -1 && PyErr_Occurred())
            result = -1;
    }
done:
    Py_DECREF(entries);
    return result;
}

int
howdah_find_file(const uint8_t *path, Py_ssize_t bytes, PyObject *const *args, int64_t *inode_id,
                 PyObject **other)
{
    PyObject *ways = args[WAYS], *user = args[USER], *groups = args[GROUPS];
    PyObject *tables = args[TABLES_ARG];
    const Py_ssize_t begin = name_in(path, bytes);
    const int is_exempt = PyObject_IsTrue(args[IS_EXEMPT]);
    if (is_exempt < 0 || make_names() < 0)
        return -1;
    if (begin == 0)
        return 0;
    PyObject *head = decode(path, begin - 1), *way = NULL;
    if (head != NULL) {
        way = PyDict_GetItemWithError(ways, head);
        Py_DECREF(head);
    }
    if (way == NULL)
        return PyErr_Occurred() ? -1 : 0;
    if (!PyTuple_Check(way) || PyTuple_Size(way) != 3) {
        PyErr_SetString(PyExc_TypeError, "a way has names, a trail and an end");
        return -1;
    }
    Py_INCREF(way);
    int result = may_go(PyTuple_GetItem(way, 1), user, groups, is_exempt,
                        PyTuple_GetItem(tables, NO_FEATURES));
    if (result == 1) {
        PyObject *name = decode(path + begin, bytes - begin);
        if (name == NULL)
            result = PyErr_Occurred() ? -1 : 0;
        else
            result = read_entry(PyTuple_GetItem(way, 2), name, PyTuple_GetItem(tables, FEATURES),
                                inode_id, other);
        Py_XDECREF(name);
    }
    Py_DECREF(way);
    return result;
}

/* ---- file_info -------------------------------------------------------------- */

/* Of a row: owner, group, mode, replication and block size. */
static int
read_traits(PyObject *list, int64_t number, traits *to)
{
    PyObject *found = PyList_GetItem(list, (Py_ssize_t)number);
    if (found == NULL)
        return -1;
    if (!PyTuple_Check(found) || PyTuple_Size(found) != 5) {
        PyErr_SetString(PyExc_TypeError, "traits are five");
        return -1;
    }
    to->owner = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(found, 0), &to->owner_bytes);
    if (to->owner == NULL)
        return -1;
    to->group = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(found, 1), &to->group_bytes);
    if (to->group == NULL)
        return -1;
    uint64_t *const numbers[] = {&to->mode, &to->replication, &to->block_size};
    for (Py_ssize_t i = 0; i < 3; i++) {
        *numbers[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(found, 2 + i));
        if (*numbers[i] == (uint64_t)-1 && PyErr_Occurred())
            return -1;
    }
    return to->owner_bytes + to->group_bytes <= MAX_NAMES_BYTES;
}

uint8_t *
howdah_put_status(uint8_t *to, const status *s)
{
    static const uint8_t NO_FLAGS[] = {0x90, 1, 0};
    const traits *t = &s->traits;
    to = put_field(to, 0x08, s->kind);
    to = put_text(to, 0x12, s->name, s->name_bytes);
    to = put_field(to, 0x18, s->length);
    to = put_field(to, 0x22, 1 + varint_bytes(t->mode));
    to = put_field(to, 0x08, t->mode);
    to = put_text(to, 0x2a, t->owner, t->owner_bytes);
    to = put_text(to, 0x32, t->group, t->group_bytes);
    to = put_field(to, 0x38, s->mtime);
    to = put_field(to, 0x40, s->atime);
    to = put_field(to, 0x50, t->replication);
    to = put_field(to, 0x58, t->block_size);
    if (s->located_bytes > 0)
        to = put_text(to, 0x62, (const char *)s->located, s->located_bytes);
    to = put_field(to, 0x68, s->inode_id);
    to = put_field(to, 0x70, s->children);
    *to++ = 0x80;
    to = put_field(to, 0x01, s->policy);
    return put_bytes(to, NO_FLAGS, sizeof NO_FLAGS);
}

static PyObject *
answer_with(const status *s)
{
    uint8_t inner[MAX_STATUS_BYTES], answer[MAX_STATUS_BYTES + 8];
    const size_t count = (size_t)(howdah_put_status(inner, s) - inner);
    uint8_t *to = put_field(answer, 0x0a, count);
    to = put_bytes(to, inner, count);
    return PyBytes_FromStringAndSize((const char *)answer, to - answer);
}

static PyObject *
left_to_others(int result)
{
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}

int
howdah_read_file(PyObject *tables, int64_t inode_id, int64_t *row, status *s)
{
    int result = howdah_read_row(PyTuple_GetItem(tables, FILES), inode_id, FILE_WIDTH, row);
    if (result == 1)
        result = (row[TRAITS] & 1) != 0;
    if (result == 1)
        result = read_traits(PyTuple_GetItem(tables, TRAITS_LIST), row[TRAITS] >> 1, &s->traits);
    if (result != 1)
        return result;
    s->kind = IS_FILE;
    s->inode_id = (uint64_t)inode_id;
    s->mtime = (uint64_t)row[MTIME];
    s->atime = (uint64_t)row[ATIME];
    return 1;
}

int
howdah_read_length(PyObject *tables, int64_t inode_id, int64_t block_id, status *s)
{
    int64_t length = 0;
    const int result = read_length(tables, inode_id, block_id, &length);
    s->length = (uint64_t)length;
    return result;
}

static PyObject *
answer_file(PyObject *tables, int64_t inode_id)
{
    int64_t row[FILE_WIDTH];
    status s = {0};
    int result = howdah_read_file(tables, inode_id, row, &s);
    if (result == 1)
        result = howdah_read_length(tables, inode_id, row[BLOCK], &s);
    return result == 1 ? answer_with(&s) : left_to_others(result);
}

static int
read_number(PyObject *of, PyObject *name, uint64_t *number)
{
    PyObject *found = PyObject_GetAttr(of, name);
    if (found == NULL)
        return -1;
    const long long value = PyLong_AsLongLong(found);
    Py_DECREF(found);
    if (value == -1 && PyErr_Occurred())
        return -1;
    *number = (uint64_t)value;
    return 1;
}

/* A directory that is no root of snapshots, but for its owner and group. */
static int
read_own(PyObject *tables, PyObject *directory, status *s)
{
    int result = is_plain(directory, PyTuple_GetItem(tables, NO_FEATURES));
    if (result != 1)
        return result;
    PyObject *id = PyObject_GetAttr(directory, name_inode_id);
    if (id == NULL)
        return -1;
    const int is_root = PyDict_Contains(PyTuple_GetItem(tables, SNAPSHOT_ROOTS), id);
    Py_DECREF(id);
    if (is_root)
        return is_root < 0 ? -1 : 0;
    PyObject *entries = PyObject_GetAttr(directory, name_entries);
    if (entries == NULL)
        return -1;
    const Py_ssize_t children = PyObject_Size(entries);
    Py_DECREF(entries);
    if (children < 0)
        return -1;
    s->kind = IS_DIR;
    s->children = (uint64_t)children;
    if (read_number(directory, name_inode_id, &s->inode_id) < 0 ||
        read_number(directory, name_mtime, &s->mtime) < 0 ||
        read_number(directory, name_atime, &s->atime) < 0 ||
        read_number(directory, name_mode, &s->traits.mode) < 0)
        return -1;
    return 1;
}

int
howdah_read_directory(PyObject *tables, PyObject *directory, status *s, PyObject *held[2])
{
    held[0] = held[1] = NULL;
    if (make_names() < 0)
        return -1;
    const int result = read_own(tables, directory, s);
    if (result != 1)
        return result;
    traits *t = &s->traits;
    held[0] = PyObject_GetAttr(directory, name_owner);
    held[1] = held[0] == NULL ? NULL : PyObject_GetAttr(directory, name_group);
    if (held[1] == NULL)
        return -1;
    t->owner = PyUnicode_AsUTF8AndSize(held[0], &t->owner_bytes);
    t->group = t->owner == NULL ? NULL : PyUnicode_AsUTF8AndSize(held[1], &t->group_bytes);
    if (t->group == NULL)
        return -1;
    return t->owner_bytes + t->group_bytes <= MAX_NAMES_BYTES;
}

static PyObject *
answer_directory(PyObject *tables, PyObject *directory)
{
    status s = {0};
    PyObject *held[2];
    const int result = howdah_read_directory(tables, directory, &s, held);
    PyObject *made = result == 1 ? answer_with(&s) : left_to_others(result);
    Py_XDECREF(held[0]);
    Py_XDECREF(held[1]);
    return made;
}

int
howdah_are_tables(PyObject *tables)
{
    if (!PyTuple_Check(tables) || PyTuple_Size(tables) != TABLES)
        return 0;
    for (Py_ssize_t i = 0; i < NO_FEATURES; i++) {
        PyObject *table = PyTuple_GetItem(tables, i);
        if (i == TRAITS_LIST ? !PyList_Check(table) : !PyDict_Check(table))
            return 0;
    }
    return 1;
}

/* file_status(inode_id, tables) -> bytes | None: of a file that has no ACL and no policy */
PyObject *
howdah_file_status(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (howdah_check_arity("file_status", 2, nargs) < 0)
        return NULL;
    const int64_t inode_id = PyLong_AsLongLong(args[0]);
    if (inode_id == -1 && PyErr_Occurred())
        return NULL;
    if (!howdah_are_tables(args[1])) {
        PyErr_SetString(PyExc_TypeError, "file_status takes tables");
        return NULL;
    }
    return answer_file(args[1], inode_id);
}

/* file_info(request, ways, user, groups, is_exempt, tables) -> bytes | None */
PyObject *
howdah_file_info(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (howdah_check_arity("file_info", READ_ARGS, nargs) < 0)
        return NULL;
    char *request;
    Py_ssize_t end, bytes, behind;
    if (PyBytes_AsStringAndSize(args[0], &request, &end) < 0)
        return NULL;
    if (!PyDict_Check(args[1]) || !PyUnicode_Check(args[2]) || !howdah_are_tables(args[5])) {
        PyErr_SetString(PyExc_TypeError, "file_info takes ways, a user, and tables");
        return NULL;
    }
    const uint8_t *path;
    int64_t inode_id = 0;
    PyObject *directory = NULL;
    int result = howdah_read_path((const uint8_t *)request, end, &path, &bytes, &behind);
    result = result && behind == end;
    if (result == 1)
        result = howdah_find_file(path, bytes, args, &inode_id, &directory);
    if (result != 1)
        return left_to_others(result);
    if (directory != NULL) {
        PyObject *made = answer_directory(args[TABLES_ARG], directory);
        Py_DECREF(directory);
        return made;
    }
    return inode_id == 0 ? PyBytes_FromStringAndSize("", 0)
                         : answer_file(args[TABLES_ARG], inode_id);
}
