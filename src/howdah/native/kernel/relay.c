/*
 * Part of howdah.native._kernel: packets of a block pass through a datanode without the interpreter. What
 * comes in front goes to the mirror and into the replica's two files; what the mirror acknowledges
 * is acknowledged in front.
 *
 * This does for ordinary packets what howdah.datanode.transfer.receiver and .responder do for
 * all, in the same order: a packet is passed on, then its data is written, then its checksums,
 * then the length of the replica is told, and then it is acknowledged, when the mirror has. At the
 * end of a pipeline it is verified first. An ordinary packet has its header laid out as Hadoop
 * lays it out, and chunks from where the replica's last whole one ends, with a checksum each; it
 * has bytes that the replica has not, or an order to sync, and is not the last one. A heartbeat is
 * ordinary, too. Where a sync is ordered the caller is told, who brings the files to the disk, and
 * says so, and perhaps that the next ones may be done here. What a flush has left of a chunk comes once more with the next packet: those bytes are
 * not written again, but the chunk's checksum is; if they were synced, the data that the new one
 * needs is brought to the disk first. An ordinary ack says that all went well, and its bytes are
 * known before it comes.
 *
 * At whatever is not ordinary it returns and leaves that where it was. Python goes on from there, for
 * the rest of the block. Other threads may read how far it is, and interrupt it; both are atomic.
 * Nothing is waited for but by `poll`, which has a bound, and the disk.
 */
#include "relay.h"
#include "segments.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

typedef struct {
    int64_t seqno, length;
    const uint8_t *sums, *data;
    size_t sums_bytes, stride;
    int syncs, is_heartbeat;
} packet;

static int
would_block(int code)
{
    return code == EAGAIN || code == EWOULDBLOCK;
}

enum { ORDINARY, IN_PART, ODD };

/* What the packet at `at` is, whose data is to begin at `offset` of the block, and to have more
 * than `known` bytes. */
static int
look(const relay *self, size_t at, int64_t offset, int64_t known, packet *found)
{
    const uint8_t *p = self->buffer + at;
    const size_t have = self->end - at;
    if (have < LENGTHS)
        return IN_PART;
    const int64_t payload = (int64_t)howdah_load_big_endian(p) - 4;
    const int64_t header = (int64_t)p[4] << 8 | p[5], total = LENGTHS + header + payload;
    const int syncs = header == SYNC_PRELUDE - LENGTHS;
    const size_t prelude = (size_t)(LENGTHS + header);
    if ((!syncs && header != PRELUDE - LENGTHS) || payload < 0 ||
        payload + 4 + header > self->limit || total > (int64_t)self->room)
        return ODD;
    if (have < prelude)
        return IN_PART;
    if (p[6] != 0x09 || p[15] != 0x11 || p[24] != 0x18 || p[25] != 0 || p[26] != 0x25 ||
        (syncs && (p[PRELUDE] != 0x28 || p[PRELUDE + 1] != 1)))
        return ODD;
    found->seqno = howdah_load_little_endian(p + 16, 8);
    found->length = (int32_t)howdah_load_little_endian(p + 27, 4);
    const int64_t at_byte = howdah_load_little_endian(p + 7, 8);
    /* Without data it says where the block ends. */
    const int is_empty = syncs && found->length == 0;
    const int is_heartbeat = !syncs && found->seqno == HEARTBEAT && found->length == 0 && !at_byte;
    if (!is_heartbeat &&
        (at_byte != (is_empty ? offset + known : offset) || found->seqno < 0 ||
         (!is_empty && found->length <= known) || offset > MOST_OFFSET))
        return ODD;
    const int64_t sums = (found->length + self->chunk - 1) / self->chunk * SUM_BYTES;
    if (payload != sums + found->length)
        return ODD;
    if ((int64_t)have < total)
        return IN_PART;
    found->syncs = syncs;
    found->is_heartbeat = is_heartbeat;
    found->sums = p + prelude;
    found->sums_bytes = (size_t)sums;
    found->data = found->sums + sums;
    found->stride = (size_t)total;
    return ORDINARY;
}

/* An ack of success, as howdah.protocol.data_transfer.packets encodes it; how many bytes. */
static size_t
encode_ack(uint8_t *to, int64_t seqno, const uint8_t *tail, size_t tail_bytes)
{
    uint64_t number = seqno < 0 ? 1 : (uint64_t)seqno << 1; /* zigzag: a heartbeat's is -1 */
    size_t at = 2;
    for (; number > 0x7f; number >>= 7)
        to[at++] = (uint8_t)(number | 0x80);
    to[at++] = (uint8_t)number;
    memcpy(to + at, tail, tail_bytes);
    at += tail_bytes;
    to[0] = (uint8_t)(at - 1);
    to[1] = 0x08;
    return at;
}

/* There is room for it: callers look. */
static void
acknowledge(relay *self, int64_t seqno, int64_t end)
{
    __atomic_store_n(&self->acked, end, __ATOMIC_RELEASE);
    self->out_end +=
        encode_ack(self->out + self->out_end, seqno, self->own_tail, self->own_tail_bytes);
}

static size_t
room_for_acks(const relay *self)
{
    return (OUT_ROOM - self->out_end) / MOST_ACK;
}

/* As much as the front takes now. */
static int
send_acks(relay *self)
{
    while (self->out_start < self->out_end) {
        const ssize_t sent = send(self->front, self->out + self->out_start,
                                  self->out_end - self->out_start, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            self->out_start += (size_t)sent;
            self->out_since = howdah_now_ns();
        } else if (would_block(errno)) {
            if (self->out_start) {
                memmove(self->out, self->out + self->out_start, self->out_end - self->out_start);
                self->out_end -= self->out_start;
                self->out_start = 0;
            }
            return GOING_ON;
        } else if (errno != EINTR) {
            self->code = errno;
            return FRONT_CLOSED;
        }
    }
    self->out_start = self->out_end = 0;
    return GOING_ON;
}

/* Acks of success that have come, for what is written here. Those for more stay. */
static int
match_acks(relay *self)
{
    while (self->due_count && self->in_start < self->in_end && room_for_acks(self)) {
        const due_ack next = self->due[self->due_first];
        uint8_t expected[MOST_ACK];
        const size_t length =
            encode_ack(expected, next.seqno, self->mirror_tail, self->mirror_tail_bytes);
        const size_t have = self->in_end - self->in_start;
        if (memcmp(self->in + self->in_start, expected, have < length ? have : length) != 0)
            return ODD_ACK;
        if (have < length)
            break;
        self->in_start += length;
        self->due_first = (self->due_first + 1) % MOST_DUE;
        self->due_count--;
        acknowledge(self, next.seqno, next.end);
    }
    if (self->in_start == self->in_end) {
        self->in_start = self->in_end = 0;
    } else if (self->in_start && self->in_end == IN_ROOM) {
        memmove(self->in, self->in + self->in_start, self->in_end - self->in_start);
        self->in_end -= self->in_start;
        self->in_start = 0;
    }
    return GOING_ON;
}

/* Whatever the mirror has said. The end of its connection is left for Python to find. */
static int
take_acks(relay *self)
{
    for (;;) {
        const int reason = match_acks(self);
        const size_t room = IN_ROOM - self->in_end;
        if (reason != GOING_ON || !room)
            return reason;
        const ssize_t came = recv(self->mirror, self->in + self->in_end, room, MSG_DONTWAIT);
        if (came > 0) {
            self->in_end += (size_t)came;
            self->ack_since = howdah_now_ns();
            if ((size_t)came < room)
                return match_acks(self);
        } else if (came < 0 && would_block(errno)) {
            return GOING_ON;
        } else if (came == 0 || errno != EINTR) {
            return ODD_ACK;
        }
    }
}

static int
is_over(int64_t since_ns, int64_t bound_ns, int64_t now)
{
    return bound_ns > 0 && now - since_ns >= bound_ns;
}

static int
was_interrupted(relay *self)
{
    return __atomic_load_n(&self->interrupted, __ATOMIC_ACQUIRE);
}

/* Until something happens to the front or the mirror, or for a moment. Of one without events
 * nothing is asked: its end would be told again and again. */
static void
wait_a_moment(const relay *self, short of_front, short of_mirror, int64_t bound_ns)
{
    struct pollfd asked[3] = {{.fd = of_front ? self->front : -1, .events = of_front},
                              {.fd = of_mirror ? self->mirror : -1, .events = of_mirror},
                              {.fd = self->bell, .events = POLLIN}};
    const int64_t bound_ms = bound_ns / 1000000 + 1;
    /* Whatever it says, an error too, shows at the next call. */
    poll(asked, 3, bound_ns <= 0 || bound_ms > LOOK_MS ? LOOK_MS : (int)bound_ms);
}

/* The first `span` bytes of what came go to the mirror, whose acks are taken meanwhile. */
static int
pass_on(relay *self, size_t span)
{
    int64_t since = 0;
    while (self->forwarded < span) {
        const ssize_t sent =
            send(self->mirror, self->buffer + self->start + self->forwarded,
                 span - self->forwarded, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            self->forwarded += (size_t)sent;
            since = 0;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (!would_block(errno)) {
            self->code = errno;
            return MIRROR_LOST;
        }
        int reason = take_acks(self);
        if (reason == GOING_ON)
            reason = send_acks(self);
        if (reason == GOING_ON && was_interrupted(self))
            reason = INTERRUPTED;
        if (reason != GOING_ON)
            return reason;
        const int64_t now = howdah_now_ns();
        if (!since)
            since = now;
        if (is_over(since, self->take_silence_ns, now)) {
            self->code = ETIMEDOUT;
            return MIRROR_LOST;
        }
        wait_a_moment(self, self->out_end > self->out_start ? POLLOUT : 0,
                      self->in_end < IN_ROOM ? POLLIN | POLLOUT : POLLOUT,
                      self->take_silence_ns ? self->take_silence_ns - (now - since) : 0);
    }
    return GOING_ON;
}

static int
write_vectors(int descriptor, struct iovec *vectors, int count, int64_t at)
{
    while (count) {
        const ssize_t written = pwritev(descriptor, vectors, count, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            if (written == 0)
                errno = EIO;
            return -1;
        }
        at += written;
        size_t left = (size_t)written;
        while (count && left >= vectors->iov_len) {
            left -= vectors->iov_len;
            vectors++;
            count--;
        }
        if (left) {
            vectors->iov_base = (uint8_t *)vectors->iov_base + left;
            vectors->iov_len -= left;
        }
    }
    return 0;
}

/* Data first, then the checksums, from where the replica ends. The checksum of a part of a chunk that
 * was synced is replaced when the data that the new one needs is on the disk, too. */
static int
write_both(relay *self, struct iovec *data, struct iovec *sums, int count)
{
    const int64_t offset = self->written, first = offset / self->chunk;
    self->block_is_synced = 0;
    if (write_vectors(self->block, data, count, offset) < 0)
        return -1;
    if (self->synced > first * self->chunk) {
        if (howdah_sync_data(self->block) < 0)
            return -1;
        self->block_is_synced = 1;
    }
    return write_vectors(self->meta, sums, count, self->meta_header + first * SUM_BYTES);
}

static void
set_tail(relay *self, int64_t end, const uint8_t *last_sum)
{
    pthread_mutex_lock(&self->tail_mutex);
    memcpy(self->last_sum, last_sum, SUM_BYTES);
    __atomic_store_n(&self->written, end, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&self->tail_mutex);
}

/* It says nothing, and is acknowledged. */
static int
take_heartbeat(relay *self, const packet *found)
{
    if (self->mirror >= 0) {
        const int reason = pass_on(self, found->stride);
        if (reason != GOING_ON)
            return reason;
    }
    self->start += found->stride;
    self->forwarded = 0;
    self->packets++;
    if (self->mirror < 0) {
        acknowledge(self, HEARTBEAT, self->written);
    } else {
        if (!self->due_count)
            self->ack_since = howdah_now_ns();
        self->due[(self->due_first + self->due_count++) % MOST_DUE] =
            (due_ack){HEARTBEAT, self->written};
    }
    return GOING_ON;
}

/* An order to sync, with or without data; alone, so that what is in front of it is acknowledged
 * before anybody waits for a disk. The packet stays until `synced`. */
static int
take_sync(relay *self, const packet *found, int64_t known)
{
    const int64_t began = howdah_now_ns();
    if (self->mirror >= 0 && self->forwarded < found->stride) {
        const int reason = pass_on(self, found->stride);
        if (reason != GOING_ON)
            return reason;
        self->sends++;
        self->send_ns += (uint64_t)(howdah_now_ns() - began);
    }
    self->waits_to_sync = self->due_count || self->out_end > self->out_start;
    if (self->waits_to_sync)
        return GOING_ON;
    if (found->length) {
        const int64_t offset = self->written, end = offset + found->length - known;
        const int64_t before = howdah_now_ns();
        struct iovec data = {(void *)(found->data + known), (size_t)(found->length - known)};
        struct iovec sums = {(void *)found->sums, found->sums_bytes};
        if (write_both(self, &data, &sums, 1) < 0) {
            self->code = errno;
            return DISK_FAILED;
        }
        self->writes++;
        self->write_ns += (uint64_t)(howdah_now_ns() - before);
        self->taken_bytes += (uint64_t)(end - offset);
        set_tail(self, end, found->sums + found->sums_bytes - SUM_BYTES);
    }
    self->sync_seqno = found->seqno;
    self->sync_stride = found->stride;
    if (!self->may_sync)
        return SYNC_DUE;
    const int64_t before = howdah_now_ns();
    self->synced = self->written; /* perhaps, also where it fails */
    if ((!self->block_is_synced && howdah_sync_data(self->block) < 0) ||
        howdah_sync_data(self->meta) < 0) {
        self->code = errno;
        return DISK_FAILED;
    }
    self->front_since = howdah_now_ns();
    self->syncs++;
    self->sync_ns += (uint64_t)(self->front_since - before);
    howdah_relay_synced(self);
    return GOING_ON;
}

void
howdah_relay_synced(relay *self)
{
    const due_ack next = {self->sync_seqno, self->written};
    self->synced = self->written;
    self->start += self->sync_stride;
    self->sync_stride = self->forwarded = 0;
    self->packets++;
    if (self->mirror < 0) {
        acknowledge(self, next.seqno, next.end);
        return;
    }
    if (!self->due_count)
        self->ack_since = howdah_now_ns();
    self->due[(self->due_first + self->due_count++) % MOST_DUE] = next;
}

/* Everything ordinary that is here in whole packets, as far as acks may be due. */
static int
take_packets(relay *self)
{
    self->waits_to_sync = 0;
    for (;;) {
        struct iovec data[MOST_PACKETS], sums[MOST_PACKETS];
        due_ack ends[MOST_PACKETS];
        size_t at = self->start, most = MOST_PACKETS;
        const size_t may = self->mirror < 0 ? room_for_acks(self) : MOST_DUE - self->due_count;
        const int64_t offset = self->written;
        int64_t end = offset, known = offset % self->chunk;
        int count = 0, kind = IN_PART;
        const uint8_t *last_sum = self->last_sum;
        packet found;
        if (may < most)
            most = may;
        while ((size_t)count < most) {
            if (count && known)
                break; /* it replaces a checksum that is to be written first */
            kind = look(self, at, end - known, known, &found);
            if (kind == ORDINARY && self->mirror < 0 &&
                howdah_first_bad_chunk(self->type, found.data, (size_t)found.length,
                                       (size_t)self->chunk, found.sums) >= 0)
                kind = ODD;
            if (kind != ORDINARY || found.syncs || found.is_heartbeat)
                break;
            data[count] =
                (struct iovec){(void *)(found.data + known), (size_t)(found.length - known)};
            sums[count] = (struct iovec){(void *)found.sums, found.sums_bytes};
            end += found.length - known;
            known = end % self->chunk;
            last_sum = found.sums + found.sums_bytes - SUM_BYTES;
            ends[count++] = (due_ack){found.seqno, end};
            at += found.stride;
            self->stride = found.stride;
        }
        if (!count && kind == ORDINARY && most) {
            const int reason = found.is_heartbeat ? take_heartbeat(self, &found)
                                                  : take_sync(self, &found, known);
            if (reason != GOING_ON || self->waits_to_sync)
                return reason;
            continue;
        }
        if (!count)
            return kind == ODD ? ODD_PACKET : GOING_ON;
        const int64_t began = howdah_now_ns();
        int64_t passed = began;
        if (self->mirror >= 0) {
            const int reason = pass_on(self, at - self->start);
            if (reason != GOING_ON)
                return reason;
            passed = howdah_now_ns();
            self->sends++;
            self->send_ns += (uint64_t)(passed - began);
        }
        if (write_both(self, data, sums, count) < 0) {
            self->code = errno;
            return DISK_FAILED;
        }
        const int64_t done = howdah_now_ns();
        self->writes++;
        self->write_ns += (uint64_t)(done - passed);
        self->taken_bytes += (uint64_t)(end - offset);
        self->packets += (uint64_t)count;
        set_tail(self, end, last_sum);
        self->start = at;
        self->forwarded = 0;
        if (self->mirror >= 0 && !self->due_count)
            self->ack_since = done;
        for (int i = 0; i < count; i++)
            if (self->mirror < 0)
                acknowledge(self, ends[i].seqno, ends[i].end);
            else
                self->due[(self->due_first + self->due_count++) % MOST_DUE] = ends[i];
    }
}

/* Room for more, of whole packets if they are as long as the last one was. */
static size_t
make_room(relay *self)
{
    if (self->start == self->end)
        self->start = self->end = 0;
    const size_t pending = self->end - self->start;
    const size_t whole = self->stride ? self->stride : self->room;
    if (self->start && (self->room - self->start < whole || self->room - self->end < self->room / 4)) {
        memmove(self->buffer, self->buffer + self->start, pending);
        self->start = 0;
        self->end = pending;
    }
    const size_t fits = (self->room - self->start) / whole * whole;
    return fits > pending ? fits - pending : self->room - self->end;
}

static int
receive(relay *self)
{
    const size_t room = make_room(self);
    const ssize_t came = recv(self->front, self->buffer + self->end, room, MSG_DONTWAIT);
    if (came > 0) {
        self->end += (size_t)came;
        return 1;
    }
    if (came < 0 && (would_block(errno) || errno == EINTR))
        return 0;
    self->code = came < 0 ? errno : 0;
    return -1;
}

static int64_t
sooner(int64_t bound_ns, int64_t silence_ns, int64_t since_ns, int64_t now)
{
    if (!silence_ns)
        return bound_ns;
    const int64_t left = silence_ns - (now - since_ns);
    return left < bound_ns ? left : bound_ns;
}

static int
wait_for_more(relay *self, int takes, int64_t now)
{
    short of_front = takes ? POLLIN : 0;
    int64_t bound = (int64_t)LOOK_MS * 1000000;
    if (takes) {
        if (is_over(self->front_since, self->front_silence_ns, now))
            return FRONT_SILENT;
        bound = sooner(bound, self->front_silence_ns, self->front_since, now);
    } else {
        self->front_since = now;
    }
    if (self->out_end > self->out_start) {
        of_front |= POLLOUT;
        if (is_over(self->out_since, self->send_silence_ns, now))
            return FRONT_STUCK;
        bound = sooner(bound, self->send_silence_ns, self->out_since, now);
    }
    if (self->due_count && self->in_end < IN_ROOM) {
        if (is_over(self->ack_since, self->ack_silence_ns, now)) {
            self->code = ETIMEDOUT;
            return MIRROR_LOST;
        }
        bound = sooner(bound, self->ack_silence_ns, self->ack_since, now);
    }
    wait_a_moment(self, of_front, self->mirror >= 0 && self->in_end < IN_ROOM ? POLLIN : 0,
                  bound > 0 ? bound : 1);
    return GOING_ON;
}

int
howdah_relay_packets(relay *self)
{
    const int64_t began = howdah_now_ns();
    const uint64_t before = self->writes + self->syncs;
    uint64_t writes = self->writes;
    self->front_since = self->ack_since = self->out_since = began;
    for (;;) {
        if (was_interrupted(self))
            return INTERRUPTED;
        int reason = take_packets(self);
        if (reason == GOING_ON && self->mirror >= 0) {
            reason = take_acks(self);
            /* All that was passed on is written: there is no ack that comes early. */
            if (reason == GOING_ON && !self->due_count && self->in_end > self->in_start &&
                !self->forwarded)
                reason = ODD_ACK;
        }
        const int had_acks = self->out_end > self->out_start;
        if (reason == GOING_ON || reason == ODD_PACKET || reason == ODD_ACK) {
            const int sent = send_acks(self);
            if (sent != GOING_ON)
                reason = sent;
        }
        if (reason != GOING_ON)
            return reason;
        const int64_t now = howdah_now_ns();
        if (!had_acks)
            self->out_since = now;
        if (self->writes + self->syncs != before && now - began >= self->tick_ns)
            return TICK;
        if (self->writes != writes)
            self->front_since = now; /* a disk that is slow is no silence */
        writes = self->writes;
        const int takes = !self->waits_to_sync &&
                          (self->mirror < 0 ? room_for_acks(self) > 0 : self->due_count < MOST_DUE);
        if (self->waits_to_sync && !self->due_count && self->out_end == self->out_start)
            continue;
        const int came = takes ? receive(self) : 0;
        if (came < 0)
            return FRONT_CLOSED;
        if (came)
            self->front_since = now;
        else if ((reason = wait_for_more(self, takes, now)) != GOING_ON)
            return reason;
    }
}
