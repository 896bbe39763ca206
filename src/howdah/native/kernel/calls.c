/*
 * Part of howdah.native._kernel: what nearly every call of a namenode passes through.
 *
 *     split_calls   frames of a connection to calls (twin: `howdah.protocol.rpc.wire.split_calls`)
 *     pack_record   an edit's values to its record (twin: `howdah.formats.edits.codec`)
 *
 * Both leave what is rare to their twins: split_calls ends before it, pack_record
 * raises ValueError. The same tests run over both.
 */
#include "buffer.h"
#include "calls.h"
#include "kernel.h"
#include "protobuf.h"

#include <string.h>

/* ---- split_calls ------------------------------------------------------------ */

/* A call's header up to its id: protocol buffers, a whole packet, the tag of the id. */
static const uint8_t CALL_START[] = {0x08, 0x02, 0x10, 0x00, 0x18};

/* Whether the whole frame, whose payload is from `start` to `stop`, is a call as most are. */
static int
read_call(const uint8_t *data, Py_ssize_t start, Py_ssize_t stop, howdah_call *found)
{
    if (start >= stop || data[start] >= 0x80)
        return 0;
    const Py_ssize_t header_end = start + 1 + data[start];
    Py_ssize_t at = start + 1;
    if (header_end >= stop || header_end - at < (Py_ssize_t)sizeof CALL_START ||
        memcmp(data + at, CALL_START, sizeof CALL_START) != 0)
        return 0;
    at += sizeof CALL_START;
    uint64_t zigzag;
    const uint8_t *id_end = get_varint(data + at, data + header_end, &zigzag);
    if (id_end == NULL || id_end - (data + at) > 5)
        return 0;
    at = id_end - data;
    if (zigzag & 1 || zigzag >> 32 || data[header_end] >= 0x80)
        return 0;
    found->id = (uint32_t)(zigzag >> 1);
    found->rest = at;
    found->header_end = header_end;
    found->method = header_end + 1;
    found->method_end = at = found->method + data[header_end];
    if (at >= stop)
        return 0;
    Py_ssize_t body_bytes = data[at++];
    if (body_bytes >= 0x80) {
        if (at >= stop || data[at] >= 0x80)
            return 0;
        body_bytes = (body_bytes & 0x7f) | (Py_ssize_t)data[at++] << 7;
    }
    found->body = at;
    found->start = start;
    found->stop = stop;
    return body_bytes == stop - at;
}

static PyObject *
make_call(const uint8_t *data, const howdah_call *c)
{
    const char *text = (const char *)data;
    PyObject *parts[] = {
        PyLong_FromUnsignedLong(c->id),
        PyBytes_FromStringAndSize(text + c->rest, c->header_end - c->rest),
        PyBytes_FromStringAndSize(text + c->method, c->method_end - c->method),
        PyBytes_FromStringAndSize(text + c->body, c->stop - c->body),
        PyLong_FromSsize_t(c->start),
        PyLong_FromSsize_t(c->stop),
    };
    const Py_ssize_t count = sizeof parts / sizeof *parts;
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (made != NULL && parts[i] != NULL) {
            PyTuple_SetItem(made, i, parts[i]);
            continue;
        }
        Py_XDECREF(parts[i]);
        Py_CLEAR(made);
    }
    return made;
}

int
howdah_next_call(const uint8_t *data, Py_ssize_t position, Py_ssize_t end, long long most_bytes,
                 howdah_call *found)
{
    if (end - position <= 4)
        return 0;
    const uint8_t *at = data + position;
    const uint32_t length =
        (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    const Py_ssize_t start = position + 4;
    return (long long)length <= most_bytes && (Py_ssize_t)length <= end - start &&
           read_call(data, start, start + (Py_ssize_t)length, found);
}

/* split_calls(data, max_frame_bytes) -> (list of calls, where they end) */
PyObject *
howdah_split_calls(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (howdah_check_arity("split_calls", 2, nargs) < 0)
        return NULL;
    char *text;
    Py_ssize_t end;
    if (PyBytes_AsStringAndSize(args[0], &text, &end) < 0)
        return NULL;
    const long long most = PyLong_AsLongLong(args[1]);
    if (most == -1 && PyErr_Occurred())
        return NULL;
    const uint8_t *data = (const uint8_t *)text;
    PyObject *calls = PyList_New(0);
    Py_ssize_t position = 0;
    howdah_call found;
    while (calls != NULL && howdah_next_call(data, position, end, most, &found)) {
        PyObject *made = make_call(data, &found);
        if (made == NULL || PyList_Append(calls, made) < 0)
            Py_CLEAR(calls);
        Py_XDECREF(made);
        position = found.stop;
    }
    if (calls == NULL)
        return NULL;
    PyObject *result = Py_BuildValue("(On)", calls, position);
    Py_DECREF(calls);
    return result;
}

/* ---- pack_record ------------------------------------------------------------ */

static int
put_raw(output *out, const void *from, size_t count)
{
    uint8_t *to = make_room(out, count);
    if (to == NULL)
        return -1;
    if (count)
        memcpy(to, from, count);
    out->used += count;
    return 0;
}

static int
put_big_endian(output *out, uint64_t number, unsigned bytes)
{
    uint8_t *to = make_room(out, bytes);
    if (to == NULL)
        return -1;
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(number >> 8 * (bytes - 1 - i));
    out->used += bytes;
    return 0;
}

static int
not_here(const char *why)
{
    PyErr_SetString(PyExc_ValueError, why);
    return -1;
}

/* A number of so many bytes, with a sign. */
static int
put_number(output *out, PyObject *from, unsigned bytes)
{
    if (!PyLong_Check(from))
        return not_here("a number is none");
    const long long number = PyLong_AsLongLong(from);
    if (number == -1 && PyErr_Occurred())
        return -1;
    const long long bound = bytes == 8 ? 0 : 1LL << (8 * bytes - 1);
    if (bound && (number >= bound || number < -bound))
        return not_here("a number is too large for its field");
    return put_big_endian(out, (uint64_t)number, bytes);
}

/* Java's modified UTF-8, where that is UTF-8. */
static int
put_string(output *out, PyObject *from)
{
    Py_ssize_t bytes;
    const char *text = PyUnicode_AsUTF8AndSize(from, &bytes);
    if (text == NULL)
        return -1;
    if (bytes > 0xffff)
        return not_here("a string is too long");
    for (Py_ssize_t i = 0; i < bytes; i++)
        if (text[i] == 0 || (uint8_t)text[i] >= 0xf0)
            return not_here("a string is not the same in Java's UTF-8");
    return put_big_endian(out, (uint64_t)bytes, 2) < 0 ? -1 : put_raw(out, text, (size_t)bytes);
}

/* UTF-8 with a vint of its length, where that takes one byte. */
static int
put_short_text(output *out, PyObject *from)
{
    Py_ssize_t bytes;
    const char *text = PyUnicode_AsUTF8AndSize(from, &bytes);
    if (text == NULL)
        return -1;
    if (bytes > 127)
        return not_here("a text is long");
    return put_big_endian(out, (uint64_t)bytes, 1) < 0 ? -1 : put_raw(out, text, (size_t)bytes);
}

/* Bytes as they are; or, where `from` is an empty tuple, so many zeros. */
static int
put_packed(output *out, PyObject *from, unsigned zeros)
{
    if (zeros && PyTuple_Check(from) && PyTuple_Size(from) == 0)
        return put_big_endian(out, 0, zeros);
    char *at;
    Py_ssize_t bytes;
    if (PyBytes_AsStringAndSize(from, &at, &bytes) < 0)
        return -1;
    return put_raw(out, at, (size_t)bytes);
}

static int
put_client_id(output *out, PyObject *from)
{
    char *at;
    Py_ssize_t bytes;
    if (PyBytes_AsStringAndSize(from, &at, &bytes) < 0)
        return -1;
    if (bytes > 0x7fff)
        return not_here("a client id is too long");
    return put_big_endian(out, (uint64_t)bytes, 2) < 0 ? -1 : put_raw(out, at, (size_t)bytes);
}

static int
put_value(output *out, char code, PyObject *value)
{
    switch (code) {
    case 'q':
        return put_number(out, value, 8);
    case 'Q': /* twice the same */
        return put_number(out, value, 8) < 0 ? -1 : put_number(out, value, 8);
    case 'i':
        return put_number(out, value, 4);
    case 'h':
        return put_number(out, value, 2);
    case 'b':
        return put_number(out, value, 1);
    case '?': {
        const int is_true = PyObject_IsTrue(value);
        return is_true < 0 ? -1 : put_big_endian(out, (uint64_t)is_true, 1);
    }
    case 's':
        return put_string(out, value);
    case 't':
        return put_short_text(out, value);
    case 'c':
        return put_client_id(out, value);
    case 'y':
        return put_packed(out, value, 0);
    case 'l': /* a list with a count of four bytes */
        return put_packed(out, value, 4);
    case 'x': /* a message with its length */
        return put_packed(out, value, 1);
    default:
        return not_here("a code is not known");
    }
}

/* pack_record(opcode, txid, codes, values) -> the record; `values` is a list */
PyObject *
howdah_pack_record(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (howdah_check_arity("pack_record", 4, nargs) < 0)
        return NULL;
    const long opcode = PyLong_AsLong(args[0]);
    if (opcode == -1 && PyErr_Occurred())
        return NULL;
    char *codes;
    Py_ssize_t count;
    if (PyBytes_AsStringAndSize(args[2], &codes, &count) < 0)
        return NULL;
    if (opcode < 0 || opcode > 255 || !PyList_Check(args[3]) || PyList_Size(args[3]) != count) {
        not_here("a record is of an opcode, and of a value for each code");
        return NULL;
    }
    output out = {.bytes = PyMem_Malloc(512), .used = 0, .room = 512};
    if (out.bytes == NULL)
        return PyErr_NoMemory();
    PyObject *record = NULL;
    int failed = put_big_endian(&out, (uint64_t)opcode, 1) < 0 || put_big_endian(&out, 0, 4) < 0 ||
                 put_number(&out, args[1], 8) < 0;
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        /* What a value runs, being asked whether it is true, may shorten the list. */
        PyObject *value = PyList_GetItem(args[3], i);
        if (value == NULL) {
            failed = 1;
            break;
        }
        Py_INCREF(value);
        failed = put_value(&out, codes[i], value) < 0;
        Py_DECREF(value);
    }
    if (!failed && out.used - 1 > INT32_MAX)
        failed = not_here("a record is too long") < 0;
    if (!failed) {
        const uint32_t length = (uint32_t)(out.used - 1);
        for (unsigned i = 0; i < 4; i++)
            out.bytes[1 + i] = (uint8_t)(length >> 8 * (3 - i));
        if (put_big_endian(&out, howdah_crc32(out.bytes, out.used), 4) == 0)
            record = PyBytes_FromStringAndSize((const char *)out.bytes, (Py_ssize_t)out.used);
    }
    PyMem_Free(out.bytes);
    return record;
}
