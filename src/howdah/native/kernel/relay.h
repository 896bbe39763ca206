/*
 * What relay.c, which relays packets, and relay_type.c, which is the Python side of
 * that, have in common.
 */
#ifndef HOWDAH_KERNEL_RELAY_H
#define HOWDAH_KERNEL_RELAY_H

#include "packets.h"

#include <pthread.h>

enum {
    MOST_PACKETS = 256, /* written together: less than half of IOV_MAX */
    MOST_DUE = 1024,    /* written and not acknowledged; then nothing more is taken in */
    MOST_TAIL = 64,
    MOST_ACK = 2 + 10 + MOST_TAIL,
    IN_ROOM = 4096,
    OUT_ROOM = 1 << 16,
    MOST_BUFFER = 1 << 26,
    SYNC_PRELUDE = PRELUDE + 2, /* with the order to sync */
    HEARTBEAT = -1, /* the number of a packet that says nothing */
    LOOK_MS = 500, /* how soon an interruption is seen where there is no bell */
};
#define MOST_OFFSET (INT64_MAX / 2)

/* Why `run` returned; howdah.datanode.transfer.relay has the same. */
enum {
    GOING_ON = 0,
    TICK,
    INTERRUPTED,
    ODD_PACKET,
    ODD_ACK,
    MIRROR_LOST,
    FRONT_CLOSED,
    FRONT_SILENT,
    FRONT_STUCK,
    DISK_FAILED,
    SYNC_DUE,
};

typedef struct {
    int64_t seqno, end;
} due_ack;

typedef struct {
    PyObject_HEAD
    int front, mirror, block, meta, bell; /* descriptors; no mirror, or no bell: -1 */
    int type, running, interrupted, code;
    int64_t chunk, meta_header, limit;
    int64_t front_silence_ns, take_silence_ns, ack_silence_ns, send_silence_ns; /* 0: no bound */
    int64_t tick_ns;
    int64_t written, acked, synced;
    int block_is_synced; /* all that is written of the data, not of the checksums */
    /* `written` and the checksum of the last chunk, where that is partial, change together. */
    pthread_mutex_t tail_mutex;
    int has_mutex;
    uint8_t last_sum[SUM_BYTES];
    /* From the front: buffer[start:end], of which the mirror has `forwarded` bytes. */
    uint8_t *buffer;
    size_t room, start, end, forwarded, stride;
    /* From the mirror: in[in_start:in_end]; to the front: out[out_start:out_end]. */
    uint8_t *in, *out;
    size_t in_start, in_end, out_start, out_end;
    due_ack *due;
    size_t due_first, due_count;
    uint8_t own_tail[MOST_TAIL], mirror_tail[MOST_TAIL];
    size_t own_tail_bytes, mirror_tail_bytes;
    int64_t front_since, ack_since, out_since;
    /* The packet at `start` orders a sync: it waits for the acks of those before it, or, with a
     * stride, it is written and for the caller to sync. */
    int waits_to_sync;
    int64_t sync_seqno;
    size_t sync_stride;
    int may_sync; /* the caller need not be told */
    uint64_t writes, write_ns, sends, send_ns, taken_bytes, packets, syncs, sync_ns;
} relay;

/* Until something is not ordinary; why. Without the interpreter's lock. */
int howdah_relay_packets(relay *self);

/* What SYNC_DUE has asked for is done. */
void howdah_relay_synced(relay *self);

#endif
