/*
 * Part of howdah.native._kernel: a writer that syncs sends its packet and hears the ack itself.
 *
 *     send_now   what a socket takes of a packet at once
 *     hear_acks  the ack that is due, then the call that tells the namenode the length, and then
 *                the ack of an order to sync, for which the datanodes' disks work meanwhile
 *
 * What they found is put into a list of the caller's, which a signal cannot take from the caller: a
 * handler that raises between two steps of Python's would lose what a function returns. What is not
 * ordinary (another ack, silence, the end of the connection) is put there with all that has come,
 * and the stream's threads go on from there (`howdah.client.writing.inline_sync`). `hear_acks` waits without
 * the interpreter's lock. Every wait has an end.
 */
#include "kernel.h"
#include "socket_wait.h"

#include <string.h>

enum { ROOM = 4096, FRAME_LENGTH = 4 };

static int
is_list(PyObject *object)
{
    if (!PyList_Check(object))
        PyErr_SetString(PyExc_TypeError, "what is found goes into a list");
    return PyList_Check(object);
}

/* Put it there, and let go of it. The error that is raised, if one is, stays. */
static int
put(PyObject *found, PyObject *what)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const int failed = what == NULL || PyList_Append(found, what) < 0;
    Py_XDECREF(what);
    if (type != NULL)
        PyErr_Restore(type, value, trace);
    return failed ? -1 : 0;
}

/* send_now(socket, packet, found): found gets how many bytes were sent, and the error's number. */
PyObject *
howdah_send_now(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    line self;
    char *packet;
    Py_ssize_t bytes;
    if (howdah_check_arity("send_now", 3, nargs) < 0 || !as_socket(args[0], &self) ||
        PyBytes_AsStringAndSize(args[1], &packet, &bytes) < 0 || !is_list(args[2]))
        return NULL;
    ssize_t sent;
    do {
        sent = send(self.fd, packet, (size_t)bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    const int code = sent >= 0 || errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
    if (put(args[2], Py_BuildValue("(ni)", (Py_ssize_t)(sent < 0 ? 0 : sent), code)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Whether what has come is the beginning of what is expected, as far as both go. */
static int
is_begun(const char *expected, size_t count, const uint8_t *came, size_t have)
{
    return memcmp(came, expected, have < count ? have : count) == 0;
}

/* `count` bytes that are `expected`; what has come is in `came`, and may be more. */
static int
hear_expected(line *self, const char *expected, size_t count, uint8_t *came, size_t *have,
              int64_t end_ns)
{
    for (;;) {
        if (!is_begun(expected, count, came, *have))
            return ODD;
        if (*have >= count)
            return WHOLE;
        const int why = receive_some(self, came + *have, ROOM - *have, end_ns, have);
        if (why != WHOLE)
            return why;
    }
}

/* A frame, and nothing behind it. */
static int
hear_frame(line *self, uint8_t *came, size_t *have, int64_t end_ns)
{
    for (;;) {
        const int why = receive_some(self, came + *have, ROOM - *have, end_ns, have);
        if (why != WHOLE)
            return why;
        if (*have < FRAME_LENGTH)
            continue;
        const size_t total = (size_t)howdah_load_big_endian(came) + FRAME_LENGTH;
        if (total > ROOM || *have > total)
            return ODD;
        if (*have == total)
            return WHOLE;
    }
}

static PyObject *
heard_of(int count, int why, int code, const uint8_t *rest, size_t bytes)
{
    return Py_BuildValue("(iiiy#)", count, why, code, (const char *)rest, (Py_ssize_t)bytes);
}

/* hear_acks(socket, acks, first, wait_ns, found, line, request, call_wait_ns): `acks` are one or
 * two, of which the first has so many bytes. found gets (how many were heard, outcome, errno, what
 * has come behind them); and if nothing else has come with the first, and `request` is not empty,
 * the same of the frame that answers that, which is without its length where it came alone. Each ack
 * has a wait of its own. */
PyObject *
howdah_hear_acks(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    line acks, calls = {.fd = -1};
    char *due, *request;
    Py_ssize_t due_bytes, request_bytes;
    int64_t first, wait_ns, call_wait_ns;
    if (howdah_check_arity("hear_acks", 8, nargs) < 0 || !as_socket(args[0], &acks) ||
        PyBytes_AsStringAndSize(args[1], &due, &due_bytes) < 0)
        return NULL;
    if (due_bytes < 1 || due_bytes > ROOM) {
        PyErr_Format(PyExc_ValueError, "acks of %zd bytes", due_bytes);
        return NULL;
    }
    if (!as_number(args[2], 1, due_bytes, "a first ack", &first) ||
        !as_number(args[3], 1, INT64_MAX / 4, "a wait", &wait_ns) || !is_list(args[4]) ||
        PyBytes_AsStringAndSize(args[6], &request, &request_bytes) < 0 ||
        (request_bytes && !as_socket(args[5], &calls)) ||
        !as_number(args[7], 1, INT64_MAX / 4, "a wait", &call_wait_ns))
        return NULL;
    const size_t all = (size_t)due_bytes, one = (size_t)first;
    uint8_t came[ROOM], answer[ROOM];
    size_t have = 0, answered = 0, known = 0;
    int heard = 0, call_why = WHOLE;
    acks.thread = PyEval_SaveThread();
    int why = hear_expected(&acks, due, one, came, &have, howdah_now_ns() + wait_ns);
    const int is_called =
        why == WHOLE && request_bytes > 0 && have <= all && is_begun(due, all, came, have);
    if (why == WHOLE) {
        heard = 1;
        known = one;
    }
    if (is_called) {
        const int64_t end_ns = howdah_now_ns() + call_wait_ns;
        calls.thread = acks.thread;
        call_why = send_whole(&calls, (const uint8_t *)request, (size_t)request_bytes, end_ns);
        if (call_why == WHOLE)
            call_why = hear_frame(&calls, answer, &answered, end_ns);
        acks.thread = calls.thread;
    }
    if (why == WHOLE && one < all && call_why != RAISED) {
        why = hear_expected(&acks, due, all, came, &have, howdah_now_ns() + wait_ns);
        if (why == WHOLE) {
            heard = 2;
            known = all;
        }
    }
    PyEval_RestoreThread(acks.thread);
    int failed = put(args[4], heard_of(heard, why, acks.code, came + known, have - known));
    if (is_called) {
        const size_t skipped = call_why == WHOLE ? FRAME_LENGTH : 0;
        failed |= put(args[4], heard_of(call_why == WHOLE, call_why, calls.code, answer + skipped,
                                        answered - skipped));
    }
    if (failed || why == RAISED || call_why == RAISED)
        return NULL;
    Py_RETURN_NONE;
}
