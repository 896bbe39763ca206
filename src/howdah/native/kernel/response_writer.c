/*
 * Part of howdah.native._kernel: answers go to their connections without the interpreter.
 *
 *     Outlet   a connection's way out, for the loop that has the connection and for the
 *              journal's thread, which sends what has waited for it
 *
 * Bytes of one answer must not stand among those of another. So who sends has the outlet's
 * mutex, and whoever cannot send all of an answer closes the outlet to everybody: what is left
 * goes back to the loop, which knows how to wait for a slow reader, and opens the outlet again
 * when it has nothing more to send. Until it has what it is *owed* it sends nothing else. The
 * mutex is only held for a `sendmsg` that does not wait.
 *
 * The descriptor is the outlet's own, a copy: the connection may be closed, and its number given
 * to another one, while an answer is on its way.
 */
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "response_writer.h"

enum { TOGETHER = 64 };  /* answers in one system call */

typedef struct {
    PyObject_HEAD
    int has_lock;
    pthread_mutex_t mutex;
    int descriptor;
    int is_open;
    int64_t waiting;  /* bytes of answers that are in a list, and have not left */
    int64_t owed;     /* answers that the loop is to send, and has not been given back */
} outlet;

struct howdah_answer {
    howdah_answer *next;
    int64_t txid;
    outlet *way;
    PyObject *data, *back;
    char *bytes;
    Py_ssize_t size, sent;
};

/* ---- without the interpreter --------------------------------------------------- */

/* With the mutex: how many of these bytes were sent at once. Where it is not all, or the other
 * side is gone, nobody but the loop sends any more. */
static Py_ssize_t
send_now(outlet *self, struct iovec *parts, int count, Py_ssize_t size)
{
    if (!self->is_open || self->descriptor < 0)
        return 0;
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = parts;
    message.msg_iovlen = (size_t)count;
    ssize_t done;
    do
        done = sendmsg(self->descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (done < 0 && errno == EINTR);
    if (done < size)
        self->is_open = 0;
    return done < 0 ? 0 : (Py_ssize_t)done;
}

void
howdah_add_answer(howdah_answers *to, howdah_answer *answer)
{
    answer->next = NULL;
    if (to->last == NULL)
        to->first = answer;
    else
        to->last->next = answer;
    to->last = answer;
    to->count++;
}

static howdah_answer *
take_first(howdah_answers *from)
{
    howdah_answer *first = from->first;
    from->first = first->next;
    if (from->first == NULL)
        from->last = NULL;
    from->count--;
    return first;
}

void
howdah_take_due(howdah_answers *from, int64_t txid, howdah_answers *due)
{
    while (from->first != NULL && from->first->txid <= txid)
        howdah_add_answer(due, take_first(from));
}

void
howdah_append_answers(howdah_answers *to, howdah_answers *from)
{
    while (from->first != NULL)
        howdah_add_answer(to, take_first(from));
}

int64_t
howdah_last_awaited(const howdah_answers *answers)
{
    return answers->last == NULL ? -1 : answers->last->txid;
}

void
howdah_send_answers(howdah_answers *due, howdah_answers *spent, howdah_answers *rest)
{
    while (due->first != NULL) {
        outlet *way = due->first->way;
        struct iovec parts[TOGETHER];
        howdah_answer *taken[TOGETHER];
        int count = 0;
        Py_ssize_t size = 0;
        while (due->first != NULL && due->first->way == way && count < TOGETHER) {
            howdah_answer *answer = taken[count] = take_first(due);
            parts[count].iov_base = answer->bytes;
            parts[count++].iov_len = (size_t)answer->size;
            size += answer->size;
        }
        pthread_mutex_lock(&way->mutex);
        Py_ssize_t sent = send_now(way, parts, count, size);
        for (int i = 0; i < count; i++) {
            howdah_answer *answer = taken[i];
            answer->sent = sent < answer->size ? sent : answer->size;
            sent -= answer->sent;
            way->waiting -= answer->sent;
            way->owed += answer->sent < answer->size;
            howdah_add_answer(answer->sent < answer->size ? rest : spent, answer);
        }
        pthread_mutex_unlock(&way->mutex);
    }
}

void
howdah_withdraw_answers(const howdah_answers *answers)
{
    for (const howdah_answer *answer = answers->first; answer != NULL; answer = answer->next) {
        pthread_mutex_lock(&answer->way->mutex);
        answer->way->waiting -= answer->size - answer->sent;
        pthread_mutex_unlock(&answer->way->mutex);
    }
}

/* ---- with it ------------------------------------------------------------------- */

static void dealloc(outlet *self);

howdah_answer *
howdah_new_answer(PyObject *way, PyObject *data, int64_t txid, PyObject *back)
{
    /* No other type has this function, and nothing inherits it. */
    if (PyType_GetSlot(Py_TYPE(way), Py_tp_dealloc) != (void *)dealloc) {
        PyErr_SetString(PyExc_TypeError, "an answer leaves by an Outlet");
        return NULL;
    }
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(data, &bytes, &size) < 0)
        return NULL;
    howdah_answer *answer = malloc(sizeof *answer);
    if (answer == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    answer->next = NULL;
    answer->txid = txid;
    answer->way = (outlet *)way;
    answer->data = data;
    answer->back = back;
    answer->bytes = bytes;
    answer->size = size;
    answer->sent = 0;
    Py_INCREF(way);
    Py_INCREF(data);
    Py_INCREF(back);
    pthread_mutex_lock(&answer->way->mutex);
    answer->way->waiting += size;
    pthread_mutex_unlock(&answer->way->mutex);
    return answer;
}

static void
free_answer(howdah_answer *answer)
{
    Py_DECREF((PyObject *)answer->way);
    Py_DECREF(answer->data);
    Py_DECREF(answer->back);
    free(answer);
}

void
howdah_free_answers(howdah_answers *answers)
{
    while (answers->first != NULL)
        free_answer(take_first(answers));
}

PyObject *
howdah_given_back(howdah_answers *rest)
{
    PyObject *found = PyList_New(0);
    for (howdah_answer *answer = rest->first; found != NULL && answer != NULL;
         answer = answer->next) {
        PyObject *pair = Py_BuildValue("(Oy#)", answer->back, answer->bytes + answer->sent,
                                       answer->size - answer->sent);
        if (pair == NULL || PyList_Append(found, pair) < 0)
            Py_CLEAR(found);
        Py_XDECREF(pair);
    }
    if (found == NULL)
        return NULL;
    howdah_withdraw_answers(rest);
    for (howdah_answer *answer = rest->first; answer != NULL; answer = answer->next) {
        pthread_mutex_lock(&answer->way->mutex);
        answer->way->owed--;
        pthread_mutex_unlock(&answer->way->mutex);
    }
    howdah_free_answers(rest);
    return found;
}

static PyObject *
new_outlet(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    int descriptor;
    if (keywords != NULL && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Outlet takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "i:Outlet", &descriptor))
        return NULL;
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    outlet *self = (outlet *)make(type, 0);
    if (self == NULL)
        return NULL;
    self->descriptor = -1;
    if (pthread_mutex_init(&self->mutex, NULL) != 0) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->has_lock = 1;
    self->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (self->descriptor < 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        Py_DECREF(self);
        return NULL;
    }
    self->is_open = 1;
    return (PyObject *)self;
}

static void
dealloc(outlet *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    if (self->descriptor >= 0)
        close(self->descriptor);
    if (self->has_lock)
        pthread_mutex_destroy(&self->mutex);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* send(data) -> how many bytes were sent at once; the rest is the caller's to send, and the outlet
 * is closed until `reopen`. -1 while the caller has not been given back what comes first. */
static PyObject *
send_method(outlet *self, PyObject *data)
{
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(data, &bytes, &size) < 0)
        return NULL;
    struct iovec part = {bytes, (size_t)size};
    pthread_mutex_lock(&self->mutex);
    const Py_ssize_t sent = self->owed ? -1 : send_now(self, &part, 1, size);
    pthread_mutex_unlock(&self->mutex);
    return PyLong_FromSsize_t(sent);
}

/* reopen() -> whether it is open: the loop has nothing more to send. */
static PyObject *
reopen(outlet *self, PyObject *nothing)
{
    (void)nothing;
    pthread_mutex_lock(&self->mutex);
    const int found = self->is_open = self->descriptor >= 0 && !self->owed;
    pthread_mutex_unlock(&self->mutex);
    return PyBool_FromLong(found);
}

/* close(): nothing is sent any more. */
static PyObject *
close_outlet(outlet *self, PyObject *nothing)
{
    (void)nothing;
    pthread_mutex_lock(&self->mutex);
    const int descriptor = self->descriptor;
    self->descriptor = -1;
    self->is_open = 0;
    pthread_mutex_unlock(&self->mutex);
    if (descriptor >= 0)
        close(descriptor);
    Py_RETURN_NONE;
}

static PyObject *
is_open(outlet *self, void *closure)
{
    (void)closure;
    pthread_mutex_lock(&self->mutex);
    const int found = self->is_open;
    pthread_mutex_unlock(&self->mutex);
    return PyBool_FromLong(found);
}

static PyObject *
waiting_bytes(outlet *self, void *closure)
{
    (void)closure;
    pthread_mutex_lock(&self->mutex);
    const int64_t found = self->waiting;
    pthread_mutex_unlock(&self->mutex);
    return PyLong_FromLongLong(found);
}

static PyMethodDef methods[] = {
    {"send", (PyCFunction)(void (*)(void))send_method, METH_O, "send(data) -> bytes sent"},
    {"reopen", (PyCFunction)(void (*)(void))reopen, METH_NOARGS, "reopen() -> bool"},
    {"close", (PyCFunction)(void (*)(void))close_outlet, METH_NOARGS, "close()"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"is_open", (getter)is_open, NULL, "Whether what is sent leaves at once.", NULL},
    {"waiting_bytes", (getter)waiting_bytes, NULL, "Of answers that have not left.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, new_outlet},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_doc, "Outlet(descriptor): what is sent does not wait for the interpreter."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "howdah.native._kernel.Outlet",
    .basicsize = sizeof(outlet),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyObject *
howdah_outlet_type(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
