/* How protobuf writes numbers and bytes. Who puts has made the room. */
#ifndef HOWDAH_KERNEL_MESSAGES_H
#define HOWDAH_KERNEL_MESSAGES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline unsigned
varint_bytes(uint64_t number)
{
    unsigned bytes = 1;
    while (number >>= 7)
        bytes++;
    return bytes;
}

static inline uint8_t *
put_varint(uint8_t *to, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        *to++ = (uint8_t)(number | 0x80);
    *to++ = (uint8_t)number;
    return to;
}

static inline uint8_t *
put_bytes(uint8_t *to, const void *from, size_t count)
{
    if (count)
        memcpy(to, from, count);
    return to + count;
}

static inline uint8_t *
put_field(uint8_t *to, uint8_t tag, uint64_t number)
{
    *to++ = tag;
    return put_varint(to, number);
}

static inline uint8_t *
put_text(uint8_t *to, uint8_t tag, const char *text, Py_ssize_t bytes)
{
    to = put_field(to, tag, (uint64_t)bytes);
    return put_bytes(to, text, (size_t)bytes);
}

#endif
