/*
 * Part of howdah._kernel: records go to the segments of an edit log without the interpreter.
 *
 *     DirectWriter   what `howdah.namenode.journal.edit_log` hands it becomes durable
 *
 * Two threads use one. The loop of a namenode puts records; the journal's thread stays in
 * `run`, writes all that was put since the last time behind each segment's last record, syncs
 * each, and rings a bell, a descriptor that the loop watches. It never holds the interpreter's
 * lock meanwhile. What is rare (a failure, the end of a segment) it leaves to its caller: `run`
 * returns, and `close` says how far each file was brought.
 *
 * An answer that waits for a record may be left with it (`answer`): then the thread sends it, too
 * (_kernel_outlets.c), and the bell rings for those alone who asked for it.
 *
 * What both threads touch is touched under `mutex`, which nobody holds while a disk or the
 * interpreter is waited for. The files belong to whoever has set `busy`.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "_kernel_outlets.h"

PyObject *howdah_direct_writer(PyObject *module);

enum {
    STEP_BYTES = 1 << 20,  /* of space that is taken ahead, as SegmentWriter does */
    KEPT_BYTES = 1 << 22,  /* of a buffer that a burst made large */
    MOST_FILES = 64,
    BUCKETS = 64,          /* as howdah.figures.times */
    SLOW_NS = 2000000,     /* a sync that no loop waits for */
};
enum { REFUSED = 0, QUEUED = 1, DURABLE = 2 };
enum { ALLOCATING = 0, WRITING = 1, SYNCING = 2 };

typedef struct {
    char *bytes;
    size_t used, room;
} buffer;

typedef struct {
    int descriptor;
    int64_t written, allocated;
} segment_file;

typedef struct {
    PyObject_HEAD
    int has_locks;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    int is_open, busy, running, waiting, interrupted;
    int bell, rung;
    int sending;          /* without the mutex: whoever else has answers to send leaves them */
    int64_t wanted_txid;  /* the bell is to ring when it is durable; 0 for nobody */
    segment_file files[MOST_FILES];
    int file_count;
    int failed_file, failed_errno, failed_step;
    buffer queued, writing;
    int64_t queued_txid, writing_txid, durable_txid;
    uint64_t transactions, syncs, total_ns, buckets[BUCKETS];
    int64_t last_ns;
    char *fill;
    howdah_answers waiting_answers, spent_answers, returned_answers;
} writer;

/* ---- without the interpreter --------------------------------------------------- */

static int
write_all(int descriptor, const char *from, size_t count, int64_t at)
{
    while (count) {
        const ssize_t done = pwrite(descriptor, from, count, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            if (done == 0)
                errno = EIO;
            return -1;
        }
        from += done;
        count -= (size_t)done;
        at += done;
    }
    return 0;
}

static int
sync_data(int descriptor)
{
    int failed;
    do {
#ifdef __linux__
        failed = fdatasync(descriptor);
#else
        failed = fsync(descriptor);
#endif
    } while (failed < 0 && errno == EINTR);
    return failed;
}

static int
allocate(writer *self, segment_file *file, int64_t needed)
{
    while (file->allocated < needed) {
        if (self->fill == NULL) {
            self->fill = malloc(STEP_BYTES);
            if (self->fill == NULL) {
                errno = ENOMEM;
                return -1;
            }
            memset(self->fill, 0xff, STEP_BYTES);
        }
        if (write_all(file->descriptor, self->fill, STEP_BYTES, file->allocated) < 0)
            return -1;
        file->allocated += STEP_BYTES;
    }
    return 0;
}

static int
fail(writer *self, int file, int step)
{
    self->failed_errno = errno;
    self->failed_file = file;
    self->failed_step = step;
    return -1;
}

/* Bring `writing` to every file. Nobody else touches what is used here while busy is set. */
static int
write_out(writer *self)
{
    const size_t count = self->writing.used;
    for (int i = 0; i < self->file_count; i++) {
        segment_file *file = &self->files[i];
        if (allocate(self, file, file->written + (int64_t)count) < 0)
            return fail(self, i, ALLOCATING);
        if (write_all(file->descriptor, self->writing.bytes, count, file->written) < 0)
            return fail(self, i, WRITING);
    }
    for (int i = 0; i < self->file_count; i++)
        if (sync_data(self->files[i].descriptor) < 0)
            return fail(self, i, SYNCING);
    for (int i = 0; i < self->file_count; i++)
        self->files[i].written += (int64_t)count;
    return 0;
}

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
    const buffer empty = self->writing;
    self->writing = self->queued;
    self->queued = empty;
    self->queued.used = 0;
    self->writing_txid = self->queued_txid;
    self->busy = 1;
}

/* Under the mutex: that was written, or has failed. */
static void
finish(writer *self, int64_t took_ns)
{
    self->busy = 0;
    if (self->failed_file >= 0)
        return;
    int bucket = 0;
    for (int64_t left = took_ns >> 10; left > 0; left >>= 1)
        bucket++;
    self->transactions += (uint64_t)(self->writing_txid - self->durable_txid);
    self->durable_txid = self->writing_txid;
    self->syncs++;
    self->last_ns = took_ns;
    self->total_ns += (uint64_t)took_ns;
    self->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    self->writing.used = 0;
    if (self->writing.room > KEPT_BYTES) {
        free(self->writing.bytes);
        self->writing.bytes = NULL;
        self->writing.room = 0;
    }
}

/* Under the mutex. A bell that was not heard yet is not rung again. */
static void
ring(writer *self)
{
    const int is_wanted = self->wanted_txid && self->wanted_txid <= self->durable_txid;
    if (self->rung || self->bell < 0 || !(is_wanted || self->returned_answers.count))
        return;
    self->wanted_txid = 0;
    const uint64_t one = 1;
    ssize_t done;
    do
        done = write(self->bell, &one, sizeof one);
    while (done < 0 && errno == EINTR);
    self->rung = 1;
}

/* Under the mutex, which it gives away to send: what has waited for what is durable leaves. */
static void
send_due(writer *self)
{
    for (;;) {
        howdah_answers due = {NULL, NULL, 0}, spent = {NULL, NULL, 0}, rest = {NULL, NULL, 0};
        howdah_take_due(&self->waiting_answers, self->durable_txid, &due);
        if (!due.count)
            break;
        self->sending = 1;
        pthread_mutex_unlock(&self->mutex);
        howdah_send_answers(&due, &spent, &rest);
        pthread_mutex_lock(&self->mutex);
        self->sending = 0;
        howdah_append_answers(&self->spent_answers, &spent);
        howdah_append_answers(&self->returned_answers, &rest);
    }
    ring(self);
}

static void
write_until_interrupted(writer *self)
{
    pthread_mutex_lock(&self->mutex);
    self->running = 1;
    while (!self->interrupted && self->failed_file < 0) {
        if (self->busy || !self->queued.used) {
            self->waiting = 1;
            pthread_cond_wait(&self->wake, &self->mutex);
            self->waiting = 0;
            continue;
        }
        begin(self);
        pthread_mutex_unlock(&self->mutex);
        const int64_t began_ns = now_ns();
        write_out(self);
        const int64_t took_ns = now_ns() - began_ns;
        pthread_mutex_lock(&self->mutex);
        finish(self, took_ns);
        if (self->failed_file < 0)
            send_due(self);
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

static int
has_count(const char *name, Py_ssize_t wanted, Py_ssize_t found)
{
    if (found == wanted)
        return 1;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", name, wanted, found);
    return 0;
}

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
    self->failed_file = -1;
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
    free(self->fill);
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

/* open(files, durable_txid): `files` has a tuple of descriptor, written and allocated bytes
 * for each segment, which stay open until `close`. */
static PyObject *
open_files(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (!has_count("open", 2, nargs))
        return NULL;
    if (!PyList_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "the files are a list");
    const Py_ssize_t count = PyList_Size(args[0]);
    const int64_t txid = PyLong_AsLongLong(args[1]);
    if (txid == -1 && PyErr_Occurred())
        return NULL;
    if (count < 1 || count > MOST_FILES)
        return PyErr_Format(PyExc_ValueError, "1 to %d files, not %zd", MOST_FILES, count);
    segment_file files[MOST_FILES];
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(args[0], i);
        long long written, allocated;
        if (item == NULL || !PyTuple_Check(item)) {
            if (item != NULL)
                PyErr_SetString(PyExc_TypeError, "a file is a tuple");
            return NULL;
        }
        if (!PyArg_ParseTuple(item, "iLL", &files[i].descriptor, &written, &allocated))
            return NULL;
        if (files[i].descriptor < 0 || written < 0 || allocated < written)
            return PyErr_Format(PyExc_ValueError, "no file is written to %lld of %lld bytes",
                                written, allocated);
        files[i].written = written;
        files[i].allocated = allocated;
    }
    pthread_mutex_lock(&self->mutex);
    const int was_open = self->is_open;
    if (!was_open) {
        memcpy(self->files, files, (size_t)count * sizeof *files);
        self->file_count = (int)count;
        self->durable_txid = self->queued_txid = txid;
        self->interrupted = 0;
        self->failed_file = -1;
        self->is_open = 1;
    }
    pthread_mutex_unlock(&self->mutex);
    if (was_open)
        return wrong_state("it is open already");
    Py_RETURN_NONE;
}

static int
make_room(buffer *to, size_t more)
{
    if (more <= to->room - to->used)
        return 0;
    size_t room = to->room ? to->room : 1 << 14;
    while (room - to->used < more) {
        if (room > SIZE_MAX / 2)
            return -1;
        room *= 2;
    }
    char *bytes = realloc(to->bytes, room);
    if (bytes == NULL)
        return -1;
    to->bytes = bytes;
    to->room = room;
    return 0;
}

/* What was sent is let go of, which the journal's thread cannot do. */
static void
free_spent(writer *self)
{
    howdah_answers spent = {NULL, NULL, 0};
    pthread_mutex_lock(&self->mutex);
    howdah_append_answers(&spent, &self->spent_answers);
    pthread_mutex_unlock(&self->mutex);
    howdah_free_answers(&spent);
}

/* answer(outlet, data, txid, back) -> how many wait now, this one included: it is sent when the
 * transaction is durable. 0 if it is by now, and then it is not kept. What cannot be sent goes
 * back by `returned`. */
static PyObject *
answer(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (!has_count("answer", 4, nargs))
        return NULL;
    const int64_t txid = PyLong_AsLongLong(args[2]);
    if (txid == -1 && PyErr_Occurred())
        return NULL;
    free_spent(self);
    howdah_answer *new = howdah_new_answer(args[0], args[1], txid, args[3]);
    if (new == NULL)
        return NULL;
    howdah_answers dropped = {NULL, NULL, 0};
    pthread_mutex_lock(&self->mutex);
    const int is_durable = txid <= self->durable_txid;
    const int fits = howdah_last_awaited(&self->waiting_answers) <= txid;
    howdah_add_answer(fits && !is_durable ? &self->waiting_answers : &dropped, new);
    const Py_ssize_t count = self->waiting_answers.count;
    pthread_mutex_unlock(&self->mutex);
    if (!dropped.count)
        return PyLong_FromSsize_t(count);
    howdah_withdraw_answers(&dropped);
    howdah_free_answers(&dropped);
    if (is_durable)
        return PyLong_FromLong(0);
    return PyErr_Format(PyExc_ValueError, "answers wait for what comes later than %lld",
                        (long long)txid);
}

/* returned(txid) -> [(back, data)]: what could not be sent. What waits for nothing behind this
 * transaction, which is durable, is sent first, or the thread does it, which is sending. So what
 * could not be sent stands here in the order in which it was tried, and of each outlet what was
 * begun is the first. */
static PyObject *
returned(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (!has_count("returned", 1, nargs))
        return NULL;
    const int64_t txid = PyLong_AsLongLong(args[0]);
    if (txid == -1 && PyErr_Occurred())
        return NULL;
    howdah_answers found = {NULL, NULL, 0}, due = {NULL, NULL, 0};
    pthread_mutex_lock(&self->mutex);
    if (!self->sending) {
        howdah_take_due(&self->waiting_answers, txid, &due);
        howdah_send_answers(&due, &self->spent_answers, &self->returned_answers);
    }
    howdah_append_answers(&found, &self->returned_answers);
    pthread_mutex_unlock(&self->mutex);
    free_spent(self);
    PyObject *result = howdah_given_back(&found);
    if (result == NULL) {
        pthread_mutex_lock(&self->mutex);
        howdah_append_answers(&found, &self->returned_answers);
        howdah_append_answers(&self->returned_answers, &found);
        pthread_mutex_unlock(&self->mutex);
    }
    return result;
}

/* put(records, last_txid, now): REFUSED where it is not open, QUEUED for the thread, or
 * DURABLE, if `now` is true, the thread has nothing to do, and the last sync was quick. */
static PyObject *
put(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (!has_count("put", 3, nargs))
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
    if (!self->is_open || self->failed_file >= 0) {
        pthread_mutex_unlock(&self->mutex);
        return PyLong_FromLong(REFUSED);
    }
    if (last_txid <= self->queued_txid || !size || make_room(&self->queued, size) < 0) {
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
    const int64_t began_ns = now_ns();
    write_out(self);
    const int64_t took_ns = now_ns() - began_ns;
    pthread_mutex_lock(&self->mutex);
    finish(self, took_ns);
    if (self->failed_file < 0)
        send_due(self);
    durable_txid = self->durable_txid;
    if (self->failed_file >= 0 || self->interrupted || self->queued.used)
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
    if (!has_count("run", 0, nargs))
        return NULL;
    pthread_mutex_lock(&self->mutex);
    const int may_run = self->is_open && !self->running;
    pthread_mutex_unlock(&self->mutex);
    if (!may_run)
        return wrong_state("it runs once, while it is open");
    Py_BEGIN_ALLOW_THREADS
    write_until_interrupted(self);
    Py_END_ALLOW_THREADS
    if (self->failed_file < 0)
        Py_RETURN_NONE;
    return Py_BuildValue("(iii)", self->failed_file, self->failed_step, self->failed_errno);
}

/* interrupt(): `run` returns when what it writes at the moment is written. */
static PyObject *
interrupt(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (!has_count("interrupt", 0, nargs))
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
    if (!has_count("close", 0, nargs))
        return NULL;
    pthread_mutex_lock(&self->mutex);
    const int may_close = self->is_open && !self->running && !self->busy;
    const size_t size = self->writing.used + self->queued.used;
    pthread_mutex_unlock(&self->mutex);
    if (!may_close)
        return wrong_state("it is closed once, when it does not run");
    PyObject *states = PyList_New(0);
    for (int i = 0; states != NULL && i < self->file_count; i++) {
        PyObject *state = Py_BuildValue("(LL)", (long long)self->files[i].written,
                                        (long long)self->files[i].allocated);
        if (state == NULL || PyList_Append(states, state) < 0)
            Py_CLEAR(states);
        Py_XDECREF(state);
    }
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
        self->is_open = 0;
        pthread_mutex_unlock(&self->mutex);
    }
    Py_XDECREF(states);
    Py_XDECREF(rest);
    return result;
}

/* want(txid) -> whether it is durable already; if not, the bell rings once when it is. */
static PyObject *
want(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (!has_count("want", 1, nargs))
        return NULL;
    const int64_t txid = PyLong_AsLongLong(args[0]);
    if (txid == -1 && PyErr_Occurred())
        return NULL;
    pthread_mutex_lock(&self->mutex);
    const int is_durable = txid <= self->durable_txid;
    if (!is_durable && (!self->wanted_txid || txid < self->wanted_txid))
        self->wanted_txid = txid;
    pthread_mutex_unlock(&self->mutex);
    return PyBool_FromLong(is_durable);
}

/* look() -> the last transaction that is durable */
static PyObject *
look(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (!has_count("look", 0, nargs))
        return NULL;
    pthread_mutex_lock(&self->mutex);
    const int64_t txid = self->durable_txid;
    pthread_mutex_unlock(&self->mutex);
    return PyLong_FromLongLong(txid);
}

/* durable() -> the last transaction that is durable; the bell may ring again */
static PyObject *
durable(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (!has_count("durable", 0, nargs))
        return NULL;
    pthread_mutex_lock(&self->mutex);
    if (self->rung) {
        uint64_t count;
        ssize_t done;
        do
            done = read(self->bell, &count, sizeof count);
        while (done < 0 && errno == EINTR);
        self->rung = 0;
    }
    const int64_t txid = self->durable_txid;
    pthread_mutex_unlock(&self->mutex);
    return PyLong_FromLongLong(txid);
}

/* figures() -> (transactions, syncs, their nanoseconds, a list of how many took how long) */
static PyObject *
figures(writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (!has_count("figures", 0, nargs))
        return NULL;
    uint64_t buckets[BUCKETS];
    pthread_mutex_lock(&self->mutex);
    memcpy(buckets, self->buckets, sizeof buckets);
    const unsigned long long transactions = self->transactions, syncs = self->syncs,
                             total_ns = self->total_ns;
    pthread_mutex_unlock(&self->mutex);
    PyObject *counts = PyList_New(0);
    for (int i = 0; counts != NULL && i < BUCKETS; i++) {
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
    METHOD("answer", answer, "answer(outlet, data, txid, back) -> how many wait"),
    METHOD("returned", returned, "returned(txid) -> [(back, data)]"),
    METHOD("want", want, "want(txid) -> bool"),
    METHOD("look", look, "look() -> int"),
    METHOD("run", run, "run() -> (file, step, errno) or None"),
    METHOD("interrupt", interrupt, "interrupt()"),
    METHOD("close", close_files, "close() -> (files, durable_txid, last_txid, rest)"),
    METHOD("durable", durable, "durable() -> int"),
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
    .name = "howdah._kernel.DirectWriter",
    .basicsize = sizeof(writer),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyObject *
howdah_direct_writer(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
