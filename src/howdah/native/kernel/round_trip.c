/*
 * Part of howdah.native._kernel: a client asks and hears the whole answer, without the interpreter.
 *
 *     exchange     a call and the frame that answers it (twin: `howdah.rpc.connection`)
 *     read_short   a range of a block that comes in few packets (twin: `howdah.client.reading.short_read`)
 *
 * Each gives the interpreter's lock away once, where a send and some receives would do so once each.
 * What is not ordinary is handed back with all that has come, and Python goes on from there. A
 * signal's handlers run as they would in Python, and what they raise ends the call; nobody knows
 * then what was sent, so the connection is of no use any more. Every wait has an end.
 */
#include "kernel.h"
#include "socket_wait.h"
#include "packets.h"
#include "protobuf.h"

#include <stdlib.h>
#include <string.h>

enum {
    FRAME_LENGTH = 4,
    FIRST_ROOM = 4096,     /* most answers fit; nobody has said yet how long this one is */
    MOST_FRAME = 1 << 20,  /* one that says that it is longer is gathered as it comes */
    MOST_ROOM = 1 << 20,
    MOST_CHUNK = 16 << 20,
};

/* ---- exchange ------------------------------------------------------------------- */

/* The frame that answers; `*into` is `first`, or memory that is the caller's. */
static int
hear_frame(line *self, uint8_t *first, uint8_t **into, size_t *have, int64_t end_ns, int64_t limit)
{
    *into = first;
    int why = receive_some(self, first, FIRST_ROOM, end_ns, have);
    if (why != WHOLE)
        return why;
    if (*have < FRAME_LENGTH)
        return ODD;
    const uint32_t length = howdah_load_big_endian(first);
    const size_t total = (size_t)length + FRAME_LENGTH;
    if ((int64_t)total > limit || total > MOST_FRAME || *have > total)
        return ODD;
    if (total > FIRST_ROOM) {
        uint8_t *larger = malloc(total);
        if (larger == NULL)
            return ODD; /* Python says so, or finds some */
        memcpy(larger, first, *have);
        *into = larger;
    }
    while (*have < total) {
        why = receive_some(self, *into + *have, total - *have, end_ns, have);
        if (why != WHOLE)
            return why;
    }
    return WHOLE;
}

/* exchange(socket, request, wait_ns, limit) -> the frame, or (why, errno, what has come) */
PyObject *
howdah_exchange(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    line self;
    char *request;
    Py_ssize_t request_bytes;
    int64_t wait_ns, limit;
    if (howdah_check_arity("exchange", 4, nargs) < 0 || !as_socket(args[0], &self) ||
        PyBytes_AsStringAndSize(args[1], &request, &request_bytes) < 0 ||
        !as_number(args[2], 1, INT64_MAX / 4, "a wait", &wait_ns) ||
        !as_number(args[3], 0, INT64_MAX, "a limit", &limit))
        return NULL;
    uint8_t first[FIRST_ROOM], *into = first;
    size_t have = 0;
    self.thread = PyEval_SaveThread();
    const int64_t end_ns = howdah_now_ns() + wait_ns;
    int why = send_whole(&self, (const uint8_t *)request, (size_t)request_bytes, end_ns);
    if (why == WHOLE)
        why = hear_frame(&self, first, &into, &have, end_ns, limit);
    PyEval_RestoreThread(self.thread);
    PyObject *result = NULL;
    if (why == WHOLE)
        result = PyBytes_FromStringAndSize((char *)into + FRAME_LENGTH,
                                           (Py_ssize_t)(have - FRAME_LENGTH));
    else if (why != RAISED)
        result = Py_BuildValue("(iiy#)", why, self.code, (char *)into, (Py_ssize_t)have);
    if (into != first)
        free(into);
    return result;
}

/* ---- read_short ------------------------------------------------------------------ */

typedef struct {
    const uint8_t *data;
    size_t have;
    int64_t start, end; /* of the range, in the block */
    int type;
    int64_t chunk, first; /* bytes that a checksum covers, and where the first one's begin */
} heard;

enum { IN_PART = RAISED + 1 };

/* A varint from `*at` to at most `end`; IN_PART where it does not end. */
static int
read_varint(const uint8_t *data, size_t *at, size_t end, uint64_t *value)
{
    const uint8_t *next = get_varint(data + *at, data + end, value);
    if (next == NULL)
        return end - *at < MOST_VARINT_BYTES ? IN_PART : ODD;
    *at = (size_t)(next - data);
    return *value <= INT64_MAX ? WHOLE : ODD;
}

/* The status, and how the packets are summed; they begin at `*at`. */
static int
read_answer(heard *self, size_t *at)
{
    const uint8_t *data = self->data;
    if (self->have < 1)
        return IN_PART;
    const size_t end = (size_t)data[0] + 1;
    if (data[0] >= 0x80 || data[0] < 10)
        return ODD;
    if (self->have < end)
        return IN_PART;
    /* Success; field 4, whose field 1 is the type (field 1) and the bytes (field 2). */
    static const uint8_t success[] = {0x08, 0x00, 0x22};
    if (memcmp(data + 1, success, sizeof success) != 0 || data[4] + 5u != end || data[5] != 0x0a)
        return ODD;
    const size_t sums_end = (size_t)data[6] + 7;
    uint64_t chunk, first;
    if (sums_end >= end || data[7] != 0x08 || data[9] != 0x10 || (data[8] != 1 && data[8] != 2))
        return ODD;
    *at = 10;
    if (read_varint(data, at, sums_end, &chunk) != WHOLE || *at != sums_end || chunk < 1 ||
        chunk > MOST_CHUNK || data[(*at)++] != 0x10)
        return ODD;
    if (read_varint(data, at, end, &first) != WHOLE || *at != end || first > (uint64_t)self->start ||
        (int64_t)first < self->start - self->start % (int64_t)chunk)
        return ODD;
    self->type = data[8];
    self->chunk = (int64_t)chunk;
    self->first = (int64_t)first;
    return WHOLE;
}

/* What the packet at `at` is: of data for `offset` of the block, or (`*length` 0) the last one. */
static int
read_packet(const heard *self, size_t at, int64_t offset, size_t room, int64_t *length,
            size_t *sums_bytes)
{
    const uint8_t *p = self->data + at;
    const size_t have = self->have - at;
    if (have < PRELUDE)
        return IN_PART;
    const int64_t payload = (int64_t)howdah_load_big_endian(p) - 4;
    if (p[4] != 0 || p[5] != PRELUDE - LENGTHS || payload < 0 || payload > (int64_t)(room - at) - PRELUDE)
        return ODD;
    if (p[6] != 0x09 || p[15] != 0x11 || p[24] != 0x18 || p[26] != 0x25)
        return ODD;
    *length = (int32_t)howdah_load_little_endian(p + 27, 4);
    const int is_last = offset >= self->end;
    if (is_last != p[25] || (is_last ? *length != 0 : *length <= 0))
        return ODD;
    if (!is_last && howdah_load_little_endian(p + 7, 8) != offset)
        return ODD;
    const int64_t sums = (*length + self->chunk - 1) / self->chunk * SUM_BYTES;
    if (payload != sums + *length)
        return ODD;
    *sums_bytes = (size_t)sums;
    return have < (size_t)(PRELUDE + payload) ? IN_PART : WHOLE;
}

/* WHOLE once all packets are here and right, ODD if they are not, IN_PART if more is to come. The
 * data of the first packet begins at `*begin`. */
static int
read_packets(heard *self, size_t room, int verify, size_t *begin)
{
    size_t at = 0, sums;
    int64_t offset, length;
    int why = read_answer(self, &at);
    *begin = 0;
    for (offset = self->first; why == WHOLE; offset += length) {
        const size_t start = at;
        why = read_packet(self, at, offset, room, &length, &sums);
        if (why != WHOLE)
            return why;
        at += PRELUDE + sums + (size_t)length;
        if (!length)
            return at == self->have ? WHOLE : ODD;
        const uint8_t *data = self->data + start + PRELUDE + sums;
        if (!*begin)
            *begin = start + PRELUDE + sums;
        if (verify && howdah_first_bad_chunk(self->type, data, (size_t)length, (size_t)self->chunk,
                                             data - sums) >= 0)
            return ODD;
    }
    return why;
}

/* Move the data of all packets to that of the first one; `begin` is where that is. */
static void
join_packets(const heard *self, uint8_t *data, size_t room, size_t begin)
{
    size_t to = begin, at = 0, sums;
    int64_t length;
    heard again = *self;
    (void)read_answer(&again, &at);
    for (int64_t offset = self->first; offset < self->end; offset += length) {
        if (read_packet(self, at, offset, room, &length, &sums) != WHOLE)
            return; /* it was another one a moment ago */
        const size_t from = at + PRELUDE + sums;
        at = from + (size_t)length;
        if (from != to)
            memmove(data + to, data + from, (size_t)length);
        to += (size_t)length;
    }
}

/* read_short(socket, request, start, end, room, silence_ns, status) ->
 * (why, errno, bytes, where in them the range begins, whether the status was sent) */
PyObject *
howdah_read_short(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    line self;
    char *request, *status;
    Py_ssize_t request_bytes, status_bytes;
    int64_t room, silence_ns;
    heard found = {.data = NULL};
    if (howdah_check_arity("read_short", 7, nargs) < 0 || !as_socket(args[0], &self) ||
        PyBytes_AsStringAndSize(args[1], &request, &request_bytes) < 0 ||
        !as_number(args[2], 0, INT64_MAX / 4, "a start", &found.start) ||
        !as_number(args[3], found.start + 1, INT64_MAX / 4, "an end", &found.end) ||
        !as_number(args[4], 1, MOST_ROOM, "room", &room) ||
        !as_number(args[5], 0, INT64_MAX / 4, "a silence", &silence_ns) ||
        PyBytes_AsStringAndSize(args[6], &status, &status_bytes) < 0)
        return NULL;
    PyObject *buffer = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)room);
    if (buffer == NULL)
        return NULL;
    uint8_t *data = (uint8_t *)PyBytes_AsString(buffer);
    found.data = data;
    size_t begin = 0;
    int is_told = 0;
    self.thread = PyEval_SaveThread();
    int why = send_whole(&self, (const uint8_t *)request, (size_t)request_bytes,
                         silence_ns ? howdah_now_ns() + silence_ns : 0);
    if (why == WHOLE)
        why = IN_PART;
    while (why == IN_PART) {
        if (found.have == (size_t)room) {
            why = ODD;
            break;
        }
        why = receive_some(&self, data + found.have, (size_t)room - found.have,
                           silence_ns ? howdah_now_ns() + silence_ns : 0, &found.have);
        if (why == WHOLE)
            why = read_packets(&found, (size_t)room, 0, &begin);
    }
    if (why == WHOLE)
        why = read_packets(&found, (size_t)room, 1, &begin);
    if (why == WHOLE) {
        /* Whether it is told or not: the bytes are here and right. */
        const int told = send_whole(&self, (const uint8_t *)status, (size_t)status_bytes,
                                    silence_ns ? howdah_now_ns() + silence_ns : 0);
        is_told = told == WHOLE;
        if (told == RAISED)
            why = RAISED;
        join_packets(&found, data, (size_t)room, begin);
    }
    PyEval_RestoreThread(self.thread);
    PyObject *result = NULL;
    if (why == WHOLE)
        result = Py_BuildValue("(iiOni)", why, 0, buffer,
                               (Py_ssize_t)begin + (Py_ssize_t)(found.start - found.first), is_told);
    else if (why != RAISED)
        result = Py_BuildValue("(iiy#ii)", why, self.code, (char *)data, (Py_ssize_t)found.have, 0, 0);
    Py_DECREF(buffer);
    return result;
}
