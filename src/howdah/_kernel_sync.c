/*
 * Part of howdah._kernel: a writer that syncs sends its packet and hears the ack itself.
 *
 *     send_now   what a socket takes of a packet at once
 *     hear_ack   the ack that is due, and then the call that tells the namenode the length
 *
 * What they found is put into a list of the caller's, which a signal cannot take from the caller: a
 * handler that raises between two steps of Python's would lose what a function returns. What is not
 * ordinary (another ack, silence, the end of the connection) is put there with all that has come,
 * and the stream's threads go on from there (`howdah.client.writing.step`). `hear_ack` waits without
 * the interpreter's lock. Every wait has an end.
 */
#include "_kernel_calls.h"
#include "_kernel_line.h"

#include <string.h>

PyObject *howdah_send_now(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_hear_ack(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

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
    if (howdah_wrong_count("send_now", 3, nargs) || !as_socket(args[0], &self) ||
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

/* `count` bytes that are `expected`; what has come is in `came`, and may be more. */
static int
hear_expected(line *self, const char *expected, size_t count, uint8_t *came, size_t *have,
              int64_t end_ns)
{
    while (*have < count) {
        const int why = receive_some(self, came + *have, ROOM - *have, end_ns, have);
        if (why != WHOLE)
            return why;
        if (memcmp(came, expected, *have < count ? *have : count) != 0)
            return ODD;
    }
    return WHOLE;
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
outcome(int why, int code, const uint8_t *from, size_t bytes)
{
    return Py_BuildValue("(iiy#)", why, code, (const char *)from, (Py_ssize_t)bytes);
}

/* hear_ack(socket, ack, wait_ns, found, line, request, call_wait_ns): found gets (outcome, errno,
 * what has come and is not the ack); and if the ack came alone, and `request` is not empty, the
 * same of the frame that answers that, without its length where it came alone. */
PyObject *
howdah_hear_ack(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    line acks, calls = {.fd = -1};
    char *ack, *request;
    Py_ssize_t ack_bytes, request_bytes;
    int64_t wait_ns, call_wait_ns;
    if (howdah_wrong_count("hear_ack", 7, nargs) || !as_socket(args[0], &acks) ||
        PyBytes_AsStringAndSize(args[1], &ack, &ack_bytes) < 0 ||
        !as_number(args[2], 1, INT64_MAX / 4, "a wait", &wait_ns) || !is_list(args[3]) ||
        PyBytes_AsStringAndSize(args[5], &request, &request_bytes) < 0 ||
        (request_bytes && !as_socket(args[4], &calls)) ||
        !as_number(args[6], 1, INT64_MAX / 4, "a wait", &call_wait_ns))
        return NULL;
    if (ack_bytes < 1 || ack_bytes > ROOM) {
        PyErr_Format(PyExc_ValueError, "an ack of %zd bytes", ack_bytes);
        return NULL;
    }
    uint8_t came[ROOM], answer[ROOM];
    size_t have = 0, answered = 0;
    acks.thread = PyEval_SaveThread();
    int why = hear_expected(&acks, ack, (size_t)ack_bytes, came, &have, howdah_now_ns() + wait_ns);
    const int is_called = why == WHOLE && have == (size_t)ack_bytes && request_bytes > 0;
    int call_why = WHOLE;
    if (is_called) {
        const int64_t end_ns = howdah_now_ns() + call_wait_ns;
        calls.thread = acks.thread;
        call_why = send_whole(&calls, (const uint8_t *)request, (size_t)request_bytes, end_ns);
        if (call_why == WHOLE)
            call_why = hear_frame(&calls, answer, &answered, end_ns);
        acks.thread = calls.thread;
    }
    PyEval_RestoreThread(acks.thread);
    const size_t known = why == WHOLE ? (size_t)ack_bytes : 0;
    int failed = put(args[3], outcome(why, acks.code, came + known, have - known));
    if (is_called) {
        const size_t skipped = call_why == WHOLE ? FRAME_LENGTH : 0;
        failed |= put(args[3], outcome(call_why, calls.code, answer + skipped, answered - skipped));
    }
    if (failed || why == RAISED || call_why == RAISED)
        return NULL;
    Py_RETURN_NONE;
}
