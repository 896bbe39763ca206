/* Bytes that grow as they are put. */
#ifndef HOWDAH_KERNEL_BUFFER_H
#define HOWDAH_KERNEL_BUFFER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

typedef struct {
    uint8_t *bytes; /* of PyMem_Malloc, or NULL */
    size_t used, room;
} output;

/* Where so many bytes more can be put; NULL with an error. */
static inline uint8_t *
make_room(output *out, size_t more)
{
    if (more > out->room - out->used) {
        size_t room = out->room * 2;
        if (room < out->used + more)
            room = out->used + more;
        uint8_t *bytes = room > PY_SSIZE_T_MAX ? NULL : PyMem_Realloc(out->bytes, room);
        if (bytes == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        out->bytes = bytes;
        out->room = room;
    }
    return out->bytes + out->used;
}

#endif
