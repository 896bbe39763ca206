/*
 * Part of howdah.native._kernel: requests of those who write, without a message of protobuf's.
 *
 *     request_fields   the bytes of a request to the values of its fields
 *
 * It takes what clients send in nearly all calls: each field once, in the order of the numbers,
 * and none that is not asked for. Of everything else it says None, and protobuf reads it.
 */
#include "kernel.h"

#include "protobuf.h"

enum { VARINT = 0, BYTES = 2, MOST_FIELDS = 15 };

/* What is left of a message. */
typedef struct {
    const uint8_t *at, *end;
} message;

/* Each of the following gives 1 for what it has taken, 0 for what is not plain, and -1 with an
 * error. */

static int
take_number(message *from, uint64_t most, uint64_t *number)
{
    const uint8_t *end = get_varint(from->at, from->end, number);
    if (end == NULL)
        return 0;
    from->at = end;
    return *number <= most;
}

static int
take_part(message *from, message *part)
{
    uint64_t bytes;
    if (!take_number(from, (uint64_t)PY_SSIZE_T_MAX, &bytes) ||
        bytes > (uint64_t)(from->end - from->at))
        return 0;
    part->at = from->at;
    part->end = from->at += bytes;
    return 1;
}

static int
take_text(message *from, PyObject **value)
{
    message text;
    if (!take_part(from, &text))
        return 0;
    *value = PyUnicode_DecodeUTF8((const char *)text.at, text.end - text.at, NULL);
    if (*value != NULL)
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        return -1;
    PyErr_Clear();
    return 0;
}

static int
take_unsigned(message *from, uint64_t most, PyObject **value)
{
    uint64_t number;
    if (!take_number(from, most, &number))
        return 0;
    *value = PyLong_FromUnsignedLongLong(number);
    return *value == NULL ? -1 : 1;
}

/* FsPermissionProto: its number. */
static int
take_permission(message *from, PyObject **value)
{
    message part;
    if (!take_part(from, &part) || part.at == part.end || *part.at++ != (1 << 3 | VARINT))
        return 0;
    const int taken = take_unsigned(&part, UINT32_MAX, value);
    return taken == 1 && part.at != part.end ? 0 : taken;
}

/* ExtendedBlockProto: its pool, its id, its generation stamp and its length. */
static int
take_block(message *from, PyObject **value)
{
    message part;
    if (!take_part(from, &part) || part.at == part.end || *part.at++ != (1 << 3 | BYTES))
        return 0;
    PyObject *pool = NULL;
    int taken = take_text(&part, &pool);
    unsigned long long numbers[3] = {0, 0, 0};
    for (unsigned i = 0; taken == 1 && i < 3; i++) {
        if (i == 2 && part.at == part.end)
            break; /* the length may be left out */
        uint64_t number = 0;
        taken = part.at < part.end && *part.at++ == ((i + 2) << 3 | VARINT) &&
                take_number(&part, UINT64_MAX, &number);
        numbers[i] = number;
    }
    if (taken == 1 && part.at != part.end)
        taken = 0;
    if (taken == 1) {
        *value = Py_BuildValue("(OKKK)", pool, numbers[0], numbers[1], numbers[2]);
        taken = *value == NULL ? -1 : 1;
    }
    Py_XDECREF(pool);
    return taken;
}

static int
take_value(char code, unsigned wire, message *from, PyObject **value)
{
    const unsigned wanted = code == 'v' || code == 'l' || code == 'b' ? VARINT : BYTES;
    if (wire != wanted)
        return 0;
    switch (code) {
    case 's':
        return take_text(from, value);
    case 'v':
        return take_unsigned(from, UINT32_MAX, value);
    case 'l':
        return take_unsigned(from, UINT64_MAX, value);
    case 'b': {
        uint64_t number;
        if (!take_number(from, UINT64_MAX, &number))
            return 0;
        *value = PyBool_FromLong(number != 0);
        return 1;
    }
    case 'p':
        return take_permission(from, value);
    case 'k':
        return take_block(from, value);
    default:
        return 0; /* '-': it is not read here */
    }
}

/* What a field has that is not there. */
static PyObject *
nothing(char code)
{
    switch (code) {
    case 's':
        return PyUnicode_FromStringAndSize("", 0);
    case 'v':
    case 'l':
        return PyLong_FromLong(0);
    case 'b':
        return PyBool_FromLong(0);
    default:
        Py_INCREF(Py_None);
        return Py_None;
    }
}

/* request_fields(request, codes) -> a value for each code but '-' and 'i'; None if it is not plain.
 * A code is a small letter for a field that must be there, and a capital one for another. */
PyObject *
howdah_request_fields(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (howdah_check_arity("request_fields", 2, nargs) < 0)
        return NULL;
    char *data, *codes;
    Py_ssize_t bytes, count;
    if (PyBytes_AsStringAndSize(args[0], &data, &bytes) < 0 ||
        PyBytes_AsStringAndSize(args[1], &codes, &count) < 0)
        return NULL;
    if (count > MOST_FIELDS) {
        PyErr_SetString(PyExc_ValueError, "a request is of at most 15 fields");
        return NULL;
    }
    PyObject *values[MOST_FIELDS] = {NULL};
    message from = {.at = (const uint8_t *)data, .end = (const uint8_t *)data + bytes};
    unsigned last = 0;
    int taken = 1;
    while (taken == 1 && from.at < from.end) {
        const unsigned tag = *from.at++, number = tag >> 3, wire = tag & 7;
        if (tag >= 0x80 || number == 0 || number > (unsigned)count) {
            taken = 0;
            break;
        }
        const char code = codes[number - 1];
        if (code == 'i') { /* a list of numbers that nobody asks for */
            uint64_t ignored;
            taken = number >= last && wire == VARINT && take_number(&from, UINT64_MAX, &ignored);
        } else {
            taken = number <= last ? 0
                                   : take_value((char)(code | 0x20), wire, &from, &values[number - 1]);
        }
        last = number;
    }
    Py_ssize_t wanted = 0;
    for (Py_ssize_t i = 0; taken == 1 && i < count; i++) {
        if (codes[i] == '-' || codes[i] == 'i')
            continue;
        wanted++;
        if (values[i] == NULL && codes[i] >= 'a')
            taken = 0;
        else if (values[i] == NULL && (values[i] = nothing((char)(codes[i] | 0x20))) == NULL)
            taken = -1;
    }
    PyObject *found = taken == 1 ? PyTuple_New(wanted) : NULL;
    for (Py_ssize_t i = 0, place = 0; i < count; i++) {
        if (found != NULL && values[i] != NULL)
            PyTuple_SetItem(found, place++, values[i]); /* takes it */
        else
            Py_XDECREF(values[i]);
    }
    if (taken == 0) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    return found;
}
