/* Of journal.c, for journal_answers.c: what both threads of a DirectWriter share.
 * What takes no interpreter says so; all else is called with it. */
#ifndef HOWDAH_KERNEL_JOURNAL_H
#define HOWDAH_KERNEL_JOURNAL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stdint.h>

#include "kernel.h"
#include "response_writer.h"
#include "segments.h"

enum { HOWDAH_BUCKETS = 64 };  /* as howdah.runtime.metrics.histogram */

typedef struct {
    PyObject_HEAD
    int has_locks;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    int is_open, busy, running, waiting, interrupted;
    int bell, rung;
    int sending;          /* without the mutex: whoever else has answers to send leaves them */
    int64_t wanted_txid;  /* the bell is to ring when it is durable; 0 for nobody */
    howdah_segments segments;
    howdah_buffer queued, writing;
    int64_t queued_txid, writing_txid, durable_txid;
    uint64_t transactions, syncs, total_ns, buckets[HOWDAH_BUCKETS];
    int64_t last_ns;
    howdah_answers waiting_answers, spent_answers, returned_answers;
} howdah_writer;

/* Without the interpreter, under the mutex, which it gives away to send: what has waited for
 * what is durable leaves, and the bell rings for those who asked. */
void howdah_send_due(howdah_writer *self);

/* Methods of a DirectWriter. */
PyObject *howdah_writer_answer(howdah_writer *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_writer_returned(howdah_writer *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_writer_want(howdah_writer *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_writer_look(howdah_writer *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_writer_durable(howdah_writer *self, PyObject *const *args, Py_ssize_t nargs);

#endif
