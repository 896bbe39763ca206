/* How protobuf writes numbers and bytes, and reads numbers. Who puts has made the room. */
#ifndef HOWDAH_KERNEL_PROTOBUF_H
#define HOWDAH_KERNEL_PROTOBUF_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MOST_VARINT_BYTES = 10 };

static inline unsigned
varint_bytes(uint64_t number)
{
    unsigned bytes = 1;
    while (number >>= 7)
        bytes++;
    return bytes;
}

/* Where the varint ends, which begins at `from`; NULL where it has no end, or more than 64 bits. */
static inline const uint8_t *
get_varint(const uint8_t *from, const uint8_t *end, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; shift < 64 && from < end; shift += 7) {
        const uint8_t byte = *from++;
        if (shift == 63 && byte > 1)
            return NULL;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return from;
    }
    return NULL;
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
