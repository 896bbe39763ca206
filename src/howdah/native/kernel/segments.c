/*
 * Part of howdah.native._kernel: the segments of an edit log, as files.
 *
 * Each gets the same records behind its last one, and is synced. Space is taken ahead, in steps
 * and full of 0xff, as `howdah.formats.edits` does it: a sync of records has no new length to
 * write down. Of a file that fails it is kept which it was, in which step, and why. Nothing here
 * has a lock: who calls has the files for itself.
 *
 * A file with a descriptor past the page cache gets whole blocks through that, which are on the
 * disk when they are written: one call, and no page to look for and to write back. The last
 * block of the file is kept for it, since the next records go on in the middle of that. What
 * stands behind them in their block is fill, as it was. A batch longer than the blocks takes the
 * way of all others. So does a file whose filesystem refuses such a write, though the probe of
 * howdah.runtime.disk went well: it may be mounted anew, or want larger blocks. What had been
 * written of the blocks by then is written once more.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "segments.h"

enum {
    STEP_BYTES = 1 << 20,    /* of space that is taken ahead, as SegmentWriter does */
    KEPT_BYTES = 1 << 22,    /* of a buffer that a burst made large */
    BLOCK_BYTES = 1 << 12,   /* as howdah.runtime.disk.BLOCK_BYTES */
    BLOCKS_BYTES = 1 << 16,  /* of a write past the cache, at most */
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

/* The ordinary way, but for the sync. */
static int
write_cached(howdah_segments *self, int number, const char *bytes, size_t count)
{
    howdah_segment *file = &self->files[number];
    file->blocks_at = -1;
    if (allocate(self, file, file->written + (int64_t)count) < 0)
        return fail(self, number, ALLOCATING);
    if (write_all(file->descriptor, bytes, count, file->written) < 0)
        return fail(self, number, WRITING);
    return 0;
}

/* The blocks of a file begin with what its last one has; -1 without a change of the file. */
static int
load_blocks(howdah_segment *file, size_t before)
{
    if (file->blocks == NULL) {
        void *blocks;
        const int failed = posix_memalign(&blocks, BLOCK_BYTES, BLOCKS_BYTES);
        if (failed) {
            errno = failed;
            return -1;
        }
        file->blocks = blocks;
    }
    if (file->blocks_at == file->written)
        return 0;
    for (size_t have = 0; have < before;) {
        const ssize_t more = pread(file->descriptor, file->blocks + have, before - have,
                                   (off_t)(file->written - (int64_t)(before - have)));
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0) {
            if (more == 0)
                errno = EIO;
            return -1;
        }
        have += (size_t)more;
    }
    file->blocks_at = file->written;
    return 0;
}

/* Whole blocks, of which the first begins in front of what is written; `end` is how much of them
 * is not fill. */
static int
write_past_cache(howdah_segments *self, int number, const char *bytes, size_t count)
{
    howdah_segment *file = &self->files[number];
    const size_t before = (size_t)(file->written % BLOCK_BYTES), end = before + count;
    const size_t whole = (end + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    const int64_t begin = file->written - (int64_t)before;
    if (begin + (int64_t)whole > file->allocated) {
        if (allocate(self, file, begin + (int64_t)whole) < 0)
            return fail(self, number, ALLOCATING);
        /* Pages that are still to be written back would be first, one by one. */
        if (howdah_sync_data(file->descriptor) < 0)
            return fail(self, number, SYNCING);
    }
    if (load_blocks(file, before) < 0)
        return fail(self, number, WRITING);
    file->blocks_at = -1;
    memcpy(file->blocks + before, bytes, count);
    memset(file->blocks + end, 0xff, whole - end);
    if (write_all(file->past_cache, file->blocks, whole, begin) < 0) {
        if (errno != EINVAL && errno != EOPNOTSUPP)
            return fail(self, number, WRITING);
        file->past_cache = -1;
        return write_cached(self, number, bytes, count);
    }
    const size_t last = end / BLOCK_BYTES * BLOCK_BYTES;
    if (last)
        memmove(file->blocks, file->blocks + last, end - last);
    file->blocks_at = file->written + (int64_t)count;
    return 0;
}

static int
goes_past_cache(const howdah_segment *file, size_t count)
{
    return file->past_cache >= 0 && count <= BLOCKS_BYTES - BLOCK_BYTES;
}

int
howdah_write_segments(howdah_segments *self, const char *bytes, size_t count)
{
    for (int i = 0; i < self->count; i++)
        if ((goes_past_cache(&self->files[i], count) ? write_past_cache : write_cached)(
                self, i, bytes, count) < 0)
            return -1;
    for (int i = 0; i < self->count; i++)
        if (!goes_past_cache(&self->files[i], count) && howdah_sync_data(self->files[i].descriptor) < 0)
            return fail(self, i, SYNCING);
    for (int i = 0; i < self->count; i++)
        self->files[i].written += (int64_t)count;
    return 0;
}

void
howdah_free_segments(howdah_segments *self)
{
    for (int i = 0; i < self->count; i++)
        free(self->files[i].blocks);
    self->count = 0;
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
        if (!PyArg_ParseTuple(item, "iiLL", &file->descriptor, &file->past_cache, &written,
                              &allocated))
            return -1;
        if (file->descriptor < 0 || file->past_cache < -1 || written < 0 || allocated < written) {
            PyErr_Format(PyExc_ValueError, "no file is written to %lld of %lld bytes", written,
                         allocated);
            return -1;
        }
        file->written = written;
        file->allocated = allocated;
        file->blocks = NULL;
        file->blocks_at = -1;
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
