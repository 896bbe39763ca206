/*
 * Part of howdah.native._kernel: who hears that a transaction is durable, of a DirectWriter.
 *
 * An answer that waits for it is sent by whoever made it durable, which is the journal's thread
 * as a rule; what that cannot send goes back to the loop (`returned`). A bell, a descriptor that
 * the loop watches, rings for those alone who asked for it (`want`), and for what goes back. Who
 * wants to know at once looks (`look`).
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "journal.h"

/* ---- without the interpreter --------------------------------------------------- */

/* Under the mutex. A bell that was not heard yet is not rung again. */
static void
ring(howdah_writer *self)
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

void
howdah_send_due(howdah_writer *self)
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

/* ---- with it ------------------------------------------------------------------- */

/* What was sent is let go of, which the journal's thread cannot do. */
static void
free_spent(howdah_writer *self)
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
PyObject *
howdah_writer_answer(howdah_writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (howdah_check_arity("answer", 4, nargs) < 0)
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
PyObject *
howdah_writer_returned(howdah_writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (howdah_check_arity("returned", 1, nargs) < 0)
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

/* want(txid) -> whether it is durable already; if not, the bell rings once when it is. */
PyObject *
howdah_writer_want(howdah_writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (howdah_check_arity("want", 1, nargs) < 0)
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
PyObject *
howdah_writer_look(howdah_writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (howdah_check_arity("look", 0, nargs) < 0)
        return NULL;
    pthread_mutex_lock(&self->mutex);
    const int64_t txid = self->durable_txid;
    pthread_mutex_unlock(&self->mutex);
    return PyLong_FromLongLong(txid);
}

/* durable() -> the last transaction that is durable; the bell may ring again */
PyObject *
howdah_writer_durable(howdah_writer *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    if (howdah_check_arity("durable", 0, nargs) < 0)
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
