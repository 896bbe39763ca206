/* What the parts of howdah.native._kernel that wait for sockets have in common: packets of a block, as
 * `howdah.protocol.data_transfer.packets` lays them out, and a clock. */
#ifndef HOWDAH_KERNEL_PACKETS_H
#define HOWDAH_KERNEL_PACKETS_H

#include "kernel.h"

#include <sys/socket.h>
#include <time.h>

enum {
    LENGTHS = 6,            /* of the packet, and of its header */
    PRELUDE = LENGTHS + 25, /* with the header, as it usually is */
    SUM_BYTES = 4,
};

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* Python ignores SIGPIPE */
#endif

static inline int64_t
howdah_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t
howdah_load_little_endian(const uint8_t *from, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | from[i];
    return (int64_t)value;
}

static inline uint32_t
howdah_load_big_endian(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

#endif
