/* Of response_writer.c, for journal_answers.c: answers that wait for the log, and leave
 * by themselves. What takes no interpreter says so; all else is called with it. */
#ifndef HOWDAH_KERNEL_RESPONSE_WRITER_H
#define HOWDAH_KERNEL_RESPONSE_WRITER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

/* One answer, in a list. */
typedef struct howdah_answer howdah_answer;

typedef struct {
    howdah_answer *first, *last;
    Py_ssize_t count;
} howdah_answers;

/* A new one, to be sent when `txid` is durable; NULL with an error. */
howdah_answer *howdah_new_answer(PyObject *outlet, PyObject *data, int64_t txid, PyObject *back);

/* Without the interpreter: put it last. Transactions only rise in a list of what waits. */
void howdah_add_answer(howdah_answers *to, howdah_answer *answer);

/* Without the interpreter: what stands before the first that has seen more than `txid` goes to
 * the end of `due`. */
void howdah_take_due(howdah_answers *from, int64_t txid, howdah_answers *due);

/* Without the interpreter: all of `from` goes to the end of `to`. */
void howdah_append_answers(howdah_answers *to, howdah_answers *from);

/* Without the interpreter: send them; what could not be sent whole goes to the end of `rest`,
 * and all others to the end of `spent`. */
void howdah_send_answers(howdah_answers *due, howdah_answers *spent, howdah_answers *rest);

/* Without the interpreter: what the last one has to wait for; -1 for none. */
int64_t howdah_last_awaited(const howdah_answers *answers);

/* Without the interpreter: they are not to be sent. */
void howdah_withdraw_answers(const howdah_answers *answers);

/* A list of (whom to give it back to, what was not sent) of each, which are freed; NULL with an
 * error, and then they are where they were. They have been tried, in this order. */
PyObject *howdah_given_back(howdah_answers *rest);

/* Free all. */
void howdah_free_answers(howdah_answers *answers);

/* The type `Outlet`. */
PyObject *howdah_outlet_type(PyObject *module);

#endif
