/* Of calls.c, for reads.c. */
#ifndef HOWDAH_KERNEL_CALLS_H
#define HOWDAH_KERNEL_CALLS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

/* A call as most are: its id, and where its parts are in the data. */
typedef struct {
    uint32_t id;
    Py_ssize_t rest, header_end, method, method_end, body, start, stop;
} howdah_call;

/* Whether a whole frame at `position`, no longer than that, is a call as most are. */
int howdah_next_call(const uint8_t *data, Py_ssize_t position, Py_ssize_t end,
                     long long most_bytes, howdah_call *found);

#endif
