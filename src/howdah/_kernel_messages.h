/* How protobuf writes numbers and bytes. Who puts has made the room. */
#ifndef HOWDAH_KERNEL_MESSAGES_H
#define HOWDAH_KERNEL_MESSAGES_H

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

#endif
