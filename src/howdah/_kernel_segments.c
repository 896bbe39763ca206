/*
 * Part of howdah._kernel: the segments of an edit log, as files.
 *
 * Each gets the same records behind its last one, and is synced. Space is taken ahead, in steps
 * and full of 0xff, as `howdah.storage.edits` does it: a sync of records has no new length to
 * write down. Of a file that fails it is kept which it was, in which step, and why. Nothing here
 * has a lock: who calls has the files for itself.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "_kernel_segments.h"

enum {
    STEP_BYTES = 1 << 20,  /* of space that is taken ahead, as SegmentWriter does */
    KEPT_BYTES = 1 << 22,  /* of a buffer that a burst made large */
};
enum { ALLOCATING = 0, WRITING = 1, SYNCING = 2 };

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

int
howdah_sync_data(int descriptor)
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
allocate(howdah_segments *self, howdah_segment *file, int64_t needed)
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
fail(howdah_segments *self, int file, int step)
{
    self->failed_errno = errno;
    self->failed_file = file;
    self->failed_step = step;
    return -1;
}

int
howdah_write_segments(howdah_segments *self, const char *bytes, size_t count)
{
    for (int i = 0; i < self->count; i++) {
        howdah_segment *file = &self->files[i];
        if (allocate(self, file, file->written + (int64_t)count) < 0)
            return fail(self, i, ALLOCATING);
        if (write_all(file->descriptor, bytes, count, file->written) < 0)
            return fail(self, i, WRITING);
    }
    for (int i = 0; i < self->count; i++)
        if (howdah_sync_data(self->files[i].descriptor) < 0)
            return fail(self, i, SYNCING);
    for (int i = 0; i < self->count; i++)
        self->files[i].written += (int64_t)count;
    return 0;
}

int
howdah_make_room(howdah_buffer *to, size_t more)
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

void
howdah_empty_buffer(howdah_buffer *buffer)
{
    buffer->used = 0;
    if (buffer->room > KEPT_BYTES) {
        free(buffer->bytes);
        buffer->bytes = NULL;
        buffer->room = 0;
    }
}

/* ---- with it ------------------------------------------------------------------- */

int
howdah_parse_segments(PyObject *given, howdah_segments *found)
{
    if (!PyList_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "the files are a list");
        return -1;
    }
    const Py_ssize_t count = PyList_Size(given);
    if (count < 1 || count > HOWDAH_MOST_SEGMENTS) {
        PyErr_Format(PyExc_ValueError, "1 to %d files, not %zd", HOWDAH_MOST_SEGMENTS, count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(given, i);
        long long written, allocated;
        if (item == NULL || !PyTuple_Check(item)) {
            if (item != NULL)
                PyErr_SetString(PyExc_TypeError, "a file is a tuple");
            return -1;
        }
        howdah_segment *file = &found->files[i];
        if (!PyArg_ParseTuple(item, "iLL", &file->descriptor, &written, &allocated))
            return -1;
        if (file->descriptor < 0 || written < 0 || allocated < written) {
            PyErr_Format(PyExc_ValueError, "no file is written to %lld of %lld bytes", written,
                         allocated);
            return -1;
        }
        file->written = written;
        file->allocated = allocated;
    }
    found->count = (int)count;
    return 0;
}

PyObject *
howdah_segment_states(const howdah_segments *self)
{
    PyObject *states = PyList_New(0);
    for (int i = 0; states != NULL && i < self->count; i++) {
        PyObject *state = Py_BuildValue("(LL)", (long long)self->files[i].written,
                                        (long long)self->files[i].allocated);
        if (state == NULL || PyList_Append(states, state) < 0)
            Py_CLEAR(states);
        Py_XDECREF(state);
    }
    return states;
}
