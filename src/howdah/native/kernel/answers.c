/*
 * Part of howdah.native._kernel: calls that are answered by their bytes.
 *
 *     answer_calls   frames of calls to frames of answers (twin: `howdah.protocol.rpc.fast_path`)
 *
 * It ends before whatever is rare. The same tests run over both.
 */
#include "kernel.h"

#include <string.h>

#include "calls.h"
#include "protobuf.h"

/* Bytes that grow. */
typedef struct {
    uint8_t *bytes;
    size_t used, room;
} frames;

/* One answer behind the others: its length, its header with its length, its message with its. */
static int
put_answer(frames *out, uint32_t id, PyObject *tail, const char *states, size_t states_bytes,
           PyObject *answer)
{
    char *tail_at, *answer_at;
    Py_ssize_t tail_bytes, answer_bytes;
    if (PyBytes_AsStringAndSize(tail, &tail_at, &tail_bytes) < 0 ||
        PyBytes_AsStringAndSize(answer, &answer_at, &answer_bytes) < 0)
        return -1;
    const size_t header = 1 + varint_bytes(id) + (size_t)tail_bytes + states_bytes;
    const size_t total =
        varint_bytes(header) + header + varint_bytes((uint64_t)answer_bytes) + (size_t)answer_bytes;
    if (total > INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "an answer is too long for a frame");
        return -1;
    }
    if (4 + total > out->room - out->used) {
        const size_t room = 2 * out->room + 4 + total;
        uint8_t *bytes = PyMem_Realloc(out->bytes, room);
        if (bytes == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        out->bytes = bytes;
        out->room = room;
    }
    uint8_t *to = out->bytes + out->used;
    for (unsigned i = 0; i < 4; i++)
        *to++ = (uint8_t)(total >> 8 * (3 - i));
    to = put_varint(to, header);
    to = put_field(to, 0x08, id);
    to = put_bytes(to, tail_at, (size_t)tail_bytes);
    to = put_bytes(to, states, states_bytes);
    to = put_varint(to, (uint64_t)answer_bytes);
    to = put_bytes(to, answer_at, (size_t)answer_bytes);
    out->used += 4 + total;
    return 0;
}

/* What a dictionary has under some of the data, borrowed; NULL without an error for nothing. */
static PyObject *
find_bytes(PyObject *in, const uint8_t *data, Py_ssize_t start, Py_ssize_t stop)
{
    PyObject *key = PyBytes_FromStringAndSize((const char *)data + start, stop - start);
    if (key == NULL)
        return NULL;
    PyObject *found = PyDict_GetItemWithError(in, key);
    Py_DECREF(key);
    return found;
}

typedef struct {
    PyObject *tails, *quicks, *user, *address, *clock;
    const char *states;
    size_t states_bytes;
    long long began_ns;
} answering;

/* One call: 1 if it is answered, 0 if others have to, -1 with an error. */
static int
answer_call(const uint8_t *data, const howdah_call *c, answering *with, frames *out,
            PyObject *answered)
{
    PyObject *tail = find_bytes(with->tails, data, c->rest, c->header_end);
    if (tail == NULL)
        return PyErr_Occurred() ? -1 : 0;
    Py_INCREF(tail);
    int result = -1;
    PyObject *known = find_bytes(with->quicks, data, c->method, c->method_end);
    PyObject *request = NULL, *answer = NULL, *now = NULL, *entry = NULL;
    if (known == NULL) {
        result = PyErr_Occurred() ? -1 : 0;
        goto done;
    }
    Py_INCREF(known);
    if (!PyTuple_Check(known) || PyTuple_Size(known) != 2) {
        PyErr_SetString(PyExc_TypeError, "a method is a pair of its name and what answers it");
        goto done;
    }
    request = PyBytes_FromStringAndSize((const char *)data + c->body, c->stop - c->body);
    if (request == NULL)
        goto done;
    answer = PyObject_CallFunctionObjArgs(PyTuple_GetItem(known, 1), request, with->user,
                                          with->address, NULL);
    if (answer == NULL)
        goto done;
    if (answer == Py_None) {
        result = 0;
        goto done;
    }
    if (put_answer(out, c->id, tail, with->states, with->states_bytes, answer) < 0)
        goto done;
    now = PyObject_CallNoArgs(with->clock);
    const long long now_ns = now == NULL ? -1 : PyLong_AsLongLong(now);
    if (now_ns == -1 && PyErr_Occurred())
        goto done;
    entry = Py_BuildValue("(OL)", PyTuple_GetItem(known, 0), now_ns - with->began_ns);
    if (entry == NULL || PyList_Append(answered, entry) < 0)
        goto done;
    with->began_ns = now_ns;
    result = 1;
done:
    Py_DECREF(tail);
    Py_XDECREF(known);
    Py_XDECREF(request);
    Py_XDECREF(answer);
    Py_XDECREF(now);
    Py_XDECREF(entry);
    return result;
}

/*
 * answer_calls(data, max_frame_bytes, most_calls, tails, quicks, user, address, states, clock,
 * began_ns) -> (what was answered, frames of answers, where the calls end)
 */
PyObject *
howdah_answer_calls(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (howdah_check_arity("answer_calls", 10, nargs) < 0)
        return NULL;
    char *text, *states;
    Py_ssize_t end, states_bytes;
    if (PyBytes_AsStringAndSize(args[0], &text, &end) < 0 ||
        PyBytes_AsStringAndSize(args[7], &states, &states_bytes) < 0)
        return NULL;
    const long long most_bytes = PyLong_AsLongLong(args[1]);
    if (most_bytes == -1 && PyErr_Occurred())
        return NULL;
    long long calls_left = PyLong_AsLongLong(args[2]);
    if (calls_left == -1 && PyErr_Occurred())
        return NULL;
    answering with = {args[3], args[4], args[5], args[6], args[8], states, (size_t)states_bytes, 0};
    with.began_ns = PyLong_AsLongLong(args[9]);
    if (with.began_ns == -1 && PyErr_Occurred())
        return NULL;
    if (!PyDict_Check(with.tails) || !PyDict_Check(with.quicks)) {
        PyErr_SetString(PyExc_TypeError, "tails and methods are dictionaries");
        return NULL;
    }
    const uint8_t *data = (const uint8_t *)text;
    frames out = {NULL, 0, 0};
    PyObject *answered = PyList_New(0);
    Py_ssize_t position = 0;
    int result = answered == NULL ? -1 : 1;
    howdah_call call;
    while (result == 1 && calls_left-- > 0 &&
           howdah_next_call(data, position, end, most_bytes, &call)) {
        result = answer_call(data, &call, &with, &out, answered);
        if (result == 1)
            position = call.stop;
    }
    PyObject *made = NULL;
    if (result >= 0)
        made = Py_BuildValue("(Oy#n)", answered, out.used ? (const char *)out.bytes : "",
                             (Py_ssize_t)out.used, position);
    Py_XDECREF(answered);
    PyMem_Free(out.bytes);
    return made;
}
