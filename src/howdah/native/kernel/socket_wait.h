/* A socket that is waited for by who has given the interpreter's lock away: what
 * round_trip.c and sync.c have in common (twin: `howdah.native.socket_io`). */
#ifndef HOWDAH_KERNEL_SOCKET_WAIT_H
#define HOWDAH_KERNEL_SOCKET_WAIT_H

#include "packets.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/types.h>

/* Why it is over; howdah.native.socket_io has the same. RAISED is never told: there is an exception. */
enum { WHOLE = 0, ODD, SILENT, STUCK, BROKEN, RAISED };

typedef struct {
    int fd, code;
    PyThreadState *thread;
} line;

/* Somebody may have pressed Ctrl-C. */
static inline int
heed_signals(line *self)
{
    PyEval_RestoreThread(self->thread);
    const int raised = PyErr_CheckSignals() < 0;
    self->thread = PyEval_SaveThread();
    return raised ? RAISED : WHOLE;
}

/* Until it can be read, or written, or `end_ns` has come (0: for ever). WHOLE, SILENT, BROKEN or
 * RAISED. */
static inline int
wait_for(line *self, short what, int64_t end_ns)
{
    for (;;) {
        int left_ms = -1;
        if (end_ns) {
            const int64_t left_ns = end_ns - howdah_now_ns();
            if (left_ns <= 0)
                return SILENT;
            const int64_t whole_ms = (left_ns + 999999) / 1000000;
            left_ms = whole_ms > INT_MAX ? INT_MAX : (int)whole_ms;
        }
        struct pollfd one = {.fd = self->fd, .events = what};
        const int found = poll(&one, 1, left_ms);
        if (found > 0)
            return WHOLE;
        if (found < 0 && errno != EINTR) {
            self->code = errno;
            return BROKEN;
        }
        if (found < 0 && heed_signals(self) == RAISED)
            return RAISED;
    }
}

static inline int
can_go_on(line *self, int64_t end_ns, short what, int *why)
{
    if (errno == EINTR)
        *why = heed_signals(self);
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
        *why = wait_for(self, what, end_ns);
    else {
        self->code = errno;
        *why = BROKEN;
    }
    return *why == WHOLE;
}

/* WHOLE, STUCK, BROKEN or RAISED. */
static inline int
send_whole(line *self, const uint8_t *data, size_t count, int64_t end_ns)
{
    while (count) {
        const ssize_t sent = send(self->fd, data, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        int why;
        if (sent >= 0) {
            data += sent;
            count -= (size_t)sent;
        } else if (!can_go_on(self, end_ns, POLLOUT, &why))
            return why == SILENT ? STUCK : why;
    }
    return WHOLE;
}

/* At least one byte; how many is added to `have`. At the end of the stream BROKEN, with code 0. */
static inline int
receive_some(line *self, uint8_t *to, size_t room, int64_t end_ns, size_t *have)
{
    for (;;) {
        /* An answer takes longer than it takes to ask for it. */
        int why = wait_for(self, POLLIN, end_ns);
        if (why != WHOLE)
            return why;
        const ssize_t got = recv(self->fd, to, room, MSG_DONTWAIT);
        if (got > 0) {
            *have += (size_t)got;
            return WHOLE;
        }
        if (got == 0)
            return BROKEN;
        if (!can_go_on(self, end_ns, POLLIN, &why))
            return why;
    }
}

static inline int
as_number(PyObject *object, int64_t least, int64_t most, const char *what, int64_t *found)
{
    const long long value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred())
        return 0;
    if (value < least || value > most) {
        PyErr_Format(PyExc_ValueError, "%s of %lld", what, value);
        return 0;
    }
    *found = value;
    return 1;
}

static inline int
as_socket(PyObject *object, line *found)
{
    found->code = 0;
    found->fd = PyObject_AsFileDescriptor(object);
    return found->fd >= 0;
}

#endif
