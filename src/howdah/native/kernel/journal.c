/*
 * Part of howdah.native._kernel: records become durable in an edit log without the interpreter.
 *
 *     DirectWriter   what `howdah.namenode.journal.edit_log` hands it becomes durable
 *
 * Two threads use one. The loop of a namenode puts records; the journal's thread stays in
 * `run`, and writes all that was put since the last time to each segment (segments.c). It
 * never holds the interpreter's lock meanwhile. What is rare (a failure, the end of a segment) it
 * leaves to its caller: `run` returns, and `close` says how far each file was brought.
 *
 * Who hears that it is durable, and which answers leave then, is in journal_answers.c.
 *
 * What both threads touch is touched under `mutex`, which nobody holds while a disk or the
 * interpreter is waited for. The files belong to whoever has set `busy`.
 */
#include "kernel.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "journal.h"

enum { SLOW_NS = 2000000 };  /* a sync that no loop waits for */
enum { REFUSED = 0, QUEUED = 1, DURABLE = 2 };

typedef howdah_writer writer;

/* ---- without the interpreter --------------------------------------------------- */

static int64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Under the mutex: what is queued is what is written next. */
static void
begin(writer *self)
{
    const howdah_buffer empty = self->writing;
    self->writing = self->queued;
    self->queued = empty;
    self->queued.used = 0;
    self->writing_txid = self->queued_txid;
    self->busy = 1;
}

/* What was begun. Nobody else touches what is used here while busy is set. */
static int64_t
write_out(writer *self)
{
    const int64_t began_ns = now_ns();
    howdah_write_segments(&self->segments, self->writing.bytes, self->writing.used);
    return now_ns() - began_ns;
}

/* Under the mutex: that was written, or has failed. */
static void
finish(writer *self, int64_t took_ns)
{
    self->busy = 0;
    if (self->segments.failed_file >= 0)
        return;
    int bucket = 0;
    for (int64_t left = took_ns >> 10; left > 0; left >>= 1)
        bucket++;
    self->transactions += (uint64_t)(self->writing_txid - self->durable_txid);
    self->durable_txid = self->writing_txid;
    self->syncs++;
    self->last_ns = took_ns;
    self->total_ns += (uint64_t)took_ns;
    self->buckets[bucket < HOWDAH_BUCKETS ? bucket : HOWDAH_BUCKETS - 1]++;
    howdah_empty_buffer(&self->writing);
}

static void
write_until_interrupted(writer *self)
{
    pthread_mutex_lock(&self->mutex);
    self->running = 1;
    while (!self->interrupted && self->segments.failed_file < 0) {
        if (self->busy || !self->queued.used) {
            self->waiting = 1;
            pthread_cond_wait(&self->wake, &self->mutex);
            self->waiting = 0;
            continue;
        }
        begin(self);
        pthread_mutex_unlock(&self->mutex);
        const int64_t took_ns = write_out(self);
        pthread_mutex_lock(&self->mutex);
        finish(self, took_ns);
        if (self->segments.failed_file < 0)
            howdah_send_due(self);
    }
    /* The loop may be writing. */
    while (self->busy) {
        self->waiting = 1;
        pthread_cond_wait(&self->wake, &self->mutex);
        self->waiting = 0;
    }
    self->running = 0;
    pthread_mutex_unlock(&self->mutex);
}

/* ---- with it ------------------------------------------------------------------- */

static PyObject *
new_writer(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    int bell;
    if (keywords != NULL && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "DirectWriter takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "i:DirectWriter", &bell))
        return NULL;
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    writer *self = (writer *)make(type, 0);
    if (self == NULL)
        return NULL;
    self->bell = bell;
    self->segments.failed_file = -1;
    if (pthread_mutex_init(&self->mutex, NULL) != 0) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    if (pthread_cond_init(&self->wake, NULL) != 0) {
        pthread_mutex_destroy(&self->mutex);
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->has_locks = 1;
    return (PyObject *)self;
}

static void
dealloc(writer *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    if (self->has_locks) {
        pthread_cond_destroy(&self->wake);
        pthread_mutex_destroy(&self->mutex);
    }
    free(self->queued.bytes);
    free(self->writing.bytes);
    free(self->segments.fill);
    howdah_free_segments(&self->segments);
    howdah_free_answers(&self->waiting_answers);
    howdah_free_answers(&self->spent_answers);
    howdah_free_answers(&self->returned_answers);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *
wrong_state(const char *what)
{
    PyErr_SetString(PyExc_RuntimeError, what);
    return NULL;
}

/* open(files, durable_txid): `files` has a tuple of descriptor, one past the cache (or -1),
 * written and allocated bytes for each segment, which stay open until `close`. */
static PyObject *
open_files(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (howdah_check_arity("open", 2, nargs) < 0)
        return NULL;
    howdah_segments given;
    if (howdah_parse_segments(args[0], &given) < 0)
        return NULL;
    const int64_t txid = PyLong_AsLongLong(args[1]);
    if (txid == -1 && PyErr_Occurred())
        return NULL;
    pthread_mutex_lock(&self->mutex);
    const int was_open = self->is_open;
    if (!was_open) {
        self->segments.count = given.count;
        memcpy(self->segments.files, given.files, (size_t)given.count * sizeof *given.files);
        self->durable_txid = self->queued_txid = txid;
        self->interrupted = 0;
        self->segments.failed_file = -1;
        self->is_open = 1;
    }
    pthread_mutex_unlock(&self->mutex);
    if (was_open)
        return wrong_state("it is open already");
    Py_RETURN_NONE;
}

/* put(records, last_txid, now): REFUSED where it is not open, QUEUED for the thread, or
 * DURABLE, if `now` is true, the thread has nothing to do, and the last sync was quick. */
static PyObject *
put(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (howdah_check_arity("put", 3, nargs) < 0)
        return NULL;
    if (!PyList_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "the records are a list");
    const int64_t last_txid = PyLong_AsLongLong(args[1]);
    if (last_txid == -1 && PyErr_Occurred())
        return NULL;
    const int now = PyObject_IsTrue(args[2]);
    if (now < 0)
        return NULL;
    const Py_ssize_t count = PyList_Size(args[0]);
    size_t size = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *record = PyList_GetItem(args[0], i);
        char *bytes;
        Py_ssize_t length;
        if (record == NULL || PyBytes_AsStringAndSize(record, &bytes, &length) < 0)
            return NULL;
        if ((size_t)length > (size_t)PY_SSIZE_T_MAX - size)
            return PyErr_NoMemory();
        size += (size_t)length;
    }
    /* From here on nothing runs that could change the list: the interpreter's lock is kept. */
    pthread_mutex_lock(&self->mutex);
    if (!self->is_open || self->segments.failed_file >= 0) {
        pthread_mutex_unlock(&self->mutex);
        return PyLong_FromLong(REFUSED);
    }
    if (last_txid <= self->queued_txid || !size || howdah_make_room(&self->queued, size) < 0) {
        const int fits = last_txid > self->queued_txid && size;
        pthread_mutex_unlock(&self->mutex);
        if (fits)
            return PyErr_NoMemory();
        PyErr_SetString(PyExc_ValueError, "there are records, and transactions only rise");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        char *bytes = NULL;
        Py_ssize_t length = 0;
        PyBytes_AsStringAndSize(PyList_GetItem(args[0], i), &bytes, &length);
        if (length)
            memcpy(self->queued.bytes + self->queued.used, bytes, (size_t)length);
        self->queued.used += (size_t)length;
    }
    self->queued_txid = last_txid;
    if (!now || self->busy || !self->waiting || self->interrupted || self->last_ns > SLOW_NS) {
        if (self->waiting)
            pthread_cond_signal(&self->wake);
        pthread_mutex_unlock(&self->mutex);
        return PyLong_FromLong(QUEUED);
    }
    begin(self);
    pthread_mutex_unlock(&self->mutex);
    int64_t durable_txid;
    Py_BEGIN_ALLOW_THREADS
    const int64_t took_ns = write_out(self);
    pthread_mutex_lock(&self->mutex);
    finish(self, took_ns);
    if (self->segments.failed_file < 0)
        howdah_send_due(self);
    durable_txid = self->durable_txid;
    if (self->segments.failed_file >= 0 || self->interrupted || self->queued.used)
        pthread_cond_signal(&self->wake);
    pthread_mutex_unlock(&self->mutex);
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(durable_txid >= last_txid ? DURABLE : QUEUED);
}

/* run() -> None when it was interrupted; or which file failed, in which step, by what errno */
static PyObject *
run(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (howdah_check_arity("run", 0, nargs) < 0)
        return NULL;
    pthread_mutex_lock(&self->mutex);
    const int may_run = self->is_open && !self->running;
    pthread_mutex_unlock(&self->mutex);
    if (!may_run)
        return wrong_state("it runs once, while it is open");
    Py_BEGIN_ALLOW_THREADS
    write_until_interrupted(self);
    Py_END_ALLOW_THREADS
    if (self->segments.failed_file < 0)
        Py_RETURN_NONE;
    return Py_BuildValue("(iii)", self->segments.failed_file, self->segments.failed_step, self->segments.failed_errno);
}

/* interrupt(): `run` returns when what it writes at the moment is written. */
static PyObject *
interrupt(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (howdah_check_arity("interrupt", 0, nargs) < 0)
        return NULL;
    pthread_mutex_lock(&self->mutex);
    self->interrupted = 1;
    pthread_cond_signal(&self->wake);
    pthread_mutex_unlock(&self->mutex);
    Py_RETURN_NONE;
}

/* close() -> (written and allocated bytes of each file, the last durable transaction, the last
 * that was put, and the records between). Of a file that failed, or that may have more than it should, so
 * much is written as was durable everywhere. */
static PyObject *
close_files(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (howdah_check_arity("close", 0, nargs) < 0)
        return NULL;
    pthread_mutex_lock(&self->mutex);
    const int may_close = self->is_open && !self->running && !self->busy;
    const size_t size = self->writing.used + self->queued.used;
    pthread_mutex_unlock(&self->mutex);
    if (!may_close)
        return wrong_state("it is closed once, when it does not run");
    PyObject *states = howdah_segment_states(&self->segments);
    PyObject *rest = states ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size) : NULL;
    PyObject *result =
        rest ? Py_BuildValue("(OLLO)", states, (long long)self->durable_txid,
                             (long long)self->queued_txid, rest)
             : NULL;
    if (result != NULL) {
        char *to = NULL;
        Py_ssize_t length = 0;
        PyBytes_AsStringAndSize(rest, &to, &length);
        pthread_mutex_lock(&self->mutex);
        if (self->writing.used)
            memcpy(to, self->writing.bytes, self->writing.used);
        if (self->queued.used)
            memcpy(to + self->writing.used, self->queued.bytes, self->queued.used);
        self->writing.used = self->queued.used = 0;
        howdah_free_segments(&self->segments);
        self->is_open = 0;
        pthread_mutex_unlock(&self->mutex);
    }
    Py_XDECREF(states);
    Py_XDECREF(rest);
    return result;
}

/* figures() -> (transactions, syncs, their nanoseconds, a list of how many took how long) */
static PyObject *
figures(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (howdah_check_arity("figures", 0, nargs) < 0)
        return NULL;
    uint64_t buckets[HOWDAH_BUCKETS];
    pthread_mutex_lock(&self->mutex);
    memcpy(buckets, self->buckets, sizeof buckets);
    const unsigned long long transactions = self->transactions, syncs = self->syncs,
                             total_ns = self->total_ns;
    pthread_mutex_unlock(&self->mutex);
    PyObject *counts = PyList_New(0);
    for (int i = 0; counts != NULL && i < HOWDAH_BUCKETS; i++) {
        PyObject *count = PyLong_FromUnsignedLongLong(buckets[i]);
        if (count == NULL || PyList_Append(counts, count) < 0)
            Py_CLEAR(counts);
        Py_XDECREF(count);
    }
    if (counts == NULL)
        return NULL;
    PyObject *result = Py_BuildValue("(KKKO)", transactions, syncs, total_ns, counts);
    Py_DECREF(counts);
    return result;
}

#define METHOD(name, function, text)                                                           \
    {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    METHOD("open", open_files, "open(files, durable_txid)"),
    METHOD("put", put, "put(records, last_txid, now) -> int"),
    METHOD("answer", howdah_writer_answer, "answer(outlet, data, txid, back) -> how many wait"),
    METHOD("returned", howdah_writer_returned, "returned(txid) -> [(back, data)]"),
    METHOD("want", howdah_writer_want, "want(txid) -> bool"),
    METHOD("look", howdah_writer_look, "look() -> int"),
    METHOD("run", run, "run() -> (file, step, errno) or None"),
    METHOD("interrupt", interrupt, "interrupt()"),
    METHOD("close", close_files, "close() -> (files, durable_txid, last_txid, rest)"),
    METHOD("durable", howdah_writer_durable, "durable() -> int"),
    METHOD("figures", figures, "figures() -> (transactions, syncs, total_ns, buckets)"),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, new_writer},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, "DirectWriter(bell): records become durable without the interpreter."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "howdah.native._kernel.DirectWriter",
    .basicsize = sizeof(writer),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyObject *
howdah_direct_writer(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
