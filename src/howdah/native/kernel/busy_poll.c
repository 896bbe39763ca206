/*
 * Part of howdah.native._kernel: waiting for a moment, awake.
 *
 *     await_bytes    whether something comes at a socket within so many nanoseconds
 *
 * A thread that sleeps takes longer to come back than a caller that waits for each answer takes to
 * ask again (`howdah.protocol.rpc.busy_poll` says when that is worth while). The interpreter's lock is given
 * away meanwhile.
 */
#include "kernel.h"

#include <poll.h>
#include <stdint.h>
#include <time.h>

enum { MOST_NS = 1000000 };

static int64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* await_bytes(descriptor, nanoseconds) -> whether there is something to read, or the end, or an
 * error of it; it looks once at least, and for a millisecond at most. */
PyObject *
howdah_await_bytes(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "await_bytes takes 2 arguments, not %zd", nargs);
    const long descriptor = PyLong_AsLong(args[0]);
    if (descriptor == -1 && PyErr_Occurred())
        return NULL;
    const long long most_ns = PyLong_AsLongLong(args[1]);
    if (most_ns == -1 && PyErr_Occurred())
        return NULL;
    if (descriptor < 0 || descriptor > INT32_MAX || most_ns < 0 || most_ns > MOST_NS)
        return PyErr_Format(PyExc_ValueError, "nobody waits for %ld for %lld ns", descriptor,
                            most_ns);
    struct pollfd asked = {.fd = (int)descriptor, .events = POLLIN};
    int found;
    Py_BEGIN_ALLOW_THREADS
    const int64_t until_ns = now_ns() + most_ns;
    do
        found = poll(&asked, 1, 0);
    while (found == 0 && now_ns() < until_ns);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(found != 0);
}
