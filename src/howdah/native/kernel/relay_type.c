/*
 * Part of howdah.native._kernel, the Python side of relay.c.
 *
 *     PacketRelay   relays packets between sockets that the caller has set up
 *
 * One thread runs it, once it is made, until `run` says why it has ended; then `rest` has what came
 * and was not taken. Meanwhile others may ask `tail` and `acked_bytes`, or interrupt it.
 */
#include "kernel.h"
#include "relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
dealloc(relay *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    free(self->buffer);
    free(self->in);
    free(self->out);
    free(self->due);
    if (self->has_mutex)
        pthread_mutex_destroy(&self->tail_mutex);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static void *
copied(const void *from, size_t bytes, size_t room)
{
    void *to = malloc(room);
    if (to != NULL && bytes)
        memcpy(to, from, bytes);
    return to;
}

static PyObject *
new_relay(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    int fds[5], kind;
    long long chunk, meta_header, written, acked, limit, room, times[5];
    const char *own, *behind, *came;
    Py_ssize_t own_bytes, behind_bytes, came_bytes;
    if (keywords != NULL && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "PacketRelay takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "(iiiii)(iLL)(LL)(LL)(y#y#)(LLLLL)y#:PacketRelay", &fds[0], &fds[1],
                          &fds[2], &fds[3], &fds[4], &kind, &chunk, &meta_header, &written, &acked,
                          &limit, &room, &own, &own_bytes, &behind, &behind_bytes, &times[0],
                          &times[1], &times[2], &times[3], &times[4], &came, &came_bytes))
        return NULL;
    int fits = fds[0] >= 0 && fds[1] >= -1 && fds[2] >= 0 && fds[3] >= 0 && fds[4] >= -1 &&
               (kind == 1 || kind == 2) && chunk >= 1 && chunk <= INT32_MAX && meta_header >= 0 && meta_header <= 1 << 20 &&
               written >= 0 && written <= MOST_OFFSET && written % chunk == 0 && acked >= 0 &&
               acked <= written && limit >= 0 && room >= PRELUDE && room <= MOST_BUFFER &&
               own_bytes <= MOST_TAIL && behind_bytes <= MOST_TAIL && came_bytes <= room;
    for (int i = 0; i < 5; i++)
        fits = fits && times[i] >= 0;
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "no packets can be relayed in that way");
        return NULL;
    }
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    relay *self = (relay *)make(type, 0);
    if (self == NULL)
        return NULL;
    self->front = fds[0], self->mirror = fds[1], self->block = fds[2], self->meta = fds[3];
    self->bell = fds[4];
    self->has_mutex = pthread_mutex_init(&self->tail_mutex, NULL) == 0;
    self->type = kind, self->chunk = chunk, self->meta_header = meta_header;
    self->written = written, self->acked = acked;
    self->limit = limit, self->room = (size_t)room, self->end = (size_t)came_bytes;
    self->front_silence_ns = times[0], self->take_silence_ns = times[1];
    self->ack_silence_ns = times[2], self->send_silence_ns = times[3];
    self->tick_ns = times[4];
    memcpy(self->own_tail, own, (size_t)own_bytes);
    self->own_tail_bytes = (size_t)own_bytes;
    memcpy(self->mirror_tail, behind, (size_t)behind_bytes);
    self->mirror_tail_bytes = (size_t)behind_bytes;
    self->buffer = copied(came, (size_t)came_bytes, self->room);
    self->in = copied(NULL, 0, IN_ROOM);
    self->out = copied(NULL, 0, OUT_ROOM);
    self->due = copied(NULL, 0, MOST_DUE * sizeof *self->due);
    if (!self->has_mutex || self->buffer == NULL || self->in == NULL || self->out == NULL || self->due == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

/* run() -> (why it returned, errno) */
static PyObject *
run(relay *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (howdah_check_arity("run", 0, nargs) < 0)
        return NULL;
    if (self->running) {
        PyErr_SetString(PyExc_RuntimeError, "it runs already");
        return NULL;
    }
    if (self->sync_stride) {
        PyErr_SetString(PyExc_RuntimeError, "it waits for a sync");
        return NULL;
    }
    int reason;
    self->running = 1;
    self->code = 0;
    Py_BEGIN_ALLOW_THREADS
    reason = howdah_relay_packets(self);
    Py_END_ALLOW_THREADS
    self->running = 0;
    return Py_BuildValue("(ii)", reason, self->code);
}

/* interrupt(): `run` returns soon, and does so for ever. The bell, an eventfd, is still open. */
static PyObject *
interrupt(relay *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (howdah_check_arity("interrupt", 0, nargs) < 0)
        return NULL;
    __atomic_store_n(&self->interrupted, 1, __ATOMIC_RELEASE);
    const uint64_t one = 1;
    /* One that is full has been rung. */
    if (self->bell >= 0 && write(self->bell, &one, sizeof one) < 0 && errno != EAGAIN)
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

/* synced(others): what `run` has asked for is on the disk, and its packet is acknowledged. If
 * `others` is true it need not ask again. */
static PyObject *
synced(relay *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (howdah_check_arity("synced", 1, nargs) < 0)
        return NULL;
    const int others = PyObject_IsTrue(args[0]);
    if (others < 0)
        return NULL;
    if (self->running || !self->sync_stride) {
        PyErr_SetString(PyExc_RuntimeError, "no sync is due");
        return NULL;
    }
    self->may_sync = others;
    howdah_relay_synced(self);
    Py_RETURN_NONE;
}

/* figures() -> (writes, their ns, sends, their ns, bytes, packets, syncs that it did by itself, and
 * their ns), since it was asked last.
 * `run` goes on counting from nothing. */
static PyObject *
figures(relay *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (howdah_check_arity("figures", 0, nargs) < 0)
        return NULL;
    if (self->running) {
        PyErr_SetString(PyExc_RuntimeError, "it runs");
        return NULL;
    }
    PyObject *result = Py_BuildValue(
        "(KKKKKKKK)", (unsigned long long)self->writes, (unsigned long long)self->write_ns,
        (unsigned long long)self->sends, (unsigned long long)self->send_ns,
        (unsigned long long)self->taken_bytes, (unsigned long long)self->packets,
        (unsigned long long)self->syncs, (unsigned long long)self->sync_ns);
    if (result != NULL)
        self->writes = self->write_ns = self->sends = self->send_ns = self->taken_bytes =
            self->packets = self->syncs = self->sync_ns = 0;
    return result;
}

/* rest() -> (bytes from the front, how many of them the mirror has, bytes from the mirror, acks
 * for the front, and of each packet that the mirror owes an ack its seqno and where it ends) */
static PyObject *
rest(relay *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (howdah_check_arity("rest", 0, nargs) < 0)
        return NULL;
    if (self->running) {
        PyErr_SetString(PyExc_RuntimeError, "it runs");
        return NULL;
    }
    PyObject *due = PyList_New(0);
    for (size_t i = 0; due != NULL && i < self->due_count; i++) {
        const due_ack *next = &self->due[(self->due_first + i) % MOST_DUE];
        PyObject *pair = Py_BuildValue("(LL)", (long long)next->seqno, (long long)next->end);
        if (pair == NULL || PyList_Append(due, pair) < 0)
            Py_CLEAR(due);
        Py_XDECREF(pair);
    }
    if (due == NULL)
        return NULL;
    PyObject *result = Py_BuildValue(
        "(y#ny#y#O)", (char *)self->buffer + self->start, (Py_ssize_t)(self->end - self->start),
        (Py_ssize_t)self->forwarded, (char *)self->in + self->in_start,
        (Py_ssize_t)(self->in_end - self->in_start), (char *)self->out + self->out_start,
        (Py_ssize_t)(self->out_end - self->out_start), due);
    Py_DECREF(due);
    return result;
}

static PyObject *
tail(PyObject *object, void *closure)
{
    relay *self = (relay *)object;
    char last_sum[SUM_BYTES];
    (void)closure;
    pthread_mutex_lock(&self->tail_mutex);
    const int64_t written = self->written;
    memcpy(last_sum, self->last_sum, SUM_BYTES);
    pthread_mutex_unlock(&self->tail_mutex);
    return Py_BuildValue("(Ly#)", (long long)written, last_sum,
                         (Py_ssize_t)(written % self->chunk ? SUM_BYTES : 0));
}

static PyObject *
acked_bytes(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(__atomic_load_n(&((relay *)self)->acked, __ATOMIC_ACQUIRE));
}

static PyObject *
synced_bytes(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(((const relay *)self)->synced);
}

static PyObject *
block_is_synced(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((const relay *)self)->block_is_synced);
}

#define METHOD(name, function, text)                                                           \
    {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    METHOD("run", run, "run() -> (why it returned, errno)"),
    METHOD("interrupt", interrupt, "interrupt()"),
    METHOD("synced", synced, "synced(others)"),
    METHOD("figures", figures,
           "figures() -> (writes, write_ns, sends, send_ns, bytes, packets, syncs, sync_ns)"),
    METHOD("rest", rest, "rest() -> (packets, forwarded, acks, unsent acks, due)"),
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
    {"tail", tail, NULL, "How long the replica is, and the checksum of a partial last chunk.", NULL},
    {"acked_bytes", acked_bytes, NULL, "How much of it is acknowledged.", NULL},
    {"synced_bytes", synced_bytes, NULL,
     "How much of it may be on the disk with its checksums; asked while it does not run.", NULL},
    {"block_is_synced", block_is_synced, NULL,
     "Whether its data is on the disk, perhaps without its checksums; asked while it does not run.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, new_relay},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_tp_doc,
     "PacketRelay((front, mirror, block, meta, bell), (checksum type, bytes per checksum, meta header), "
     "(written, acked), (packet limit, buffer), (own tail, mirror's tail), (silences, tick), came)"},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "howdah.native._kernel.PacketRelay",
    .basicsize = sizeof(relay),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyObject *
howdah_packet_relay(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
