/*
 * Checksums over all chunks of a packet in one call.
 *
 * HDFS guards every `bytes_per_checksum` (512) bytes with a 4-byte big-endian
 * CRC, so a 64 KiB packet carries 128 of them. A call from Python for each
 * costs ten times the checksumming itself; this module takes the packet whole.
 *
 * Two polynomials, both bit-reflected, preset and final xor of all ones:
 *     CRC32   0xEDB88320  (zlib, gzip)   pclmulqdq, else tables
 *     CRC32C  0x82F63B78  (Castagnoli)   the crc32 instruction, else tables
 *
 * Chunks are independent of each other. The crc32 instruction takes three cycles
 * but one can start in each, so four chunks are run side by side.
 *
 * howdah/protocol/data_transfer/checksum_fallback.py has the same functions in Python; the
 * same tests run over both. What is at home in Python (types, error classes for
 * the wire) stays there: this file knows numbers and buffers only.
 */
#include "kernel.h"

#include <string.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define HAVE_X86 1
#include <immintrin.h>
#elif defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))
#define HAVE_ARM 1
#include <arm_acle.h>
#if defined(__linux__)
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#endif
#endif

/* The numbers of HDFS' ChecksumTypeProto. */
enum { TYPE_NULL = 0, TYPE_CRC32 = 1, TYPE_CRC32C = 2 };

enum { SUM_BYTES = 4, LANES = 4, SLICES = 16 };

/* A raw step: no preset, no final xor; `state` goes in and comes out. */
typedef uint32_t (*crc_fn)(uint32_t state, const uint8_t *data, size_t length);

/* LANES chunks of `length` bytes, one after the other in memory; finished CRCs. */
typedef void (*lanes_fn)(const uint8_t *data, size_t length, uint32_t out[LANES]);

typedef struct {
    uint32_t polynomial;
    uint32_t table[SLICES][256];
    crc_fn update;
    lanes_fn lanes;         /* NULL where one chunk at a time is as good */
    size_t release_bytes;   /* from here on other Python threads may run */
    const char *method;
} algorithm;

static algorithm crc32_algorithm = {.polynomial = 0xEDB88320u};
static algorithm crc32c_algorithm = {.polynomial = 0x82F63B78u};

/* ---- tables ----------------------------------------------------------------- */

static void
fill_tables(algorithm *a)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) ? a->polynomial : 0);
        a->table[0][byte] = crc;
    }
    for (int slice = 1; slice < SLICES; slice++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = a->table[slice - 1][byte];
            a->table[slice][byte] = (crc >> 8) ^ a->table[0][crc & 0xff];
        }
}

static inline uint32_t
update_by_table(const algorithm *a, uint32_t crc, const uint8_t *p, size_t n)
{
    const uint32_t(*t)[256] = a->table;
    while (n >= SLICES) {
        /* Two sums that don't wait for each other; only the first needs crc. */
        uint32_t ahead = t[11][p[4]] ^ t[10][p[5]] ^ t[9][p[6]] ^ t[8][p[7]] ^
                         t[7][p[8]] ^ t[6][p[9]] ^ t[5][p[10]] ^ t[4][p[11]] ^
                         t[3][p[12]] ^ t[2][p[13]] ^ t[1][p[14]] ^ t[0][p[15]];
        crc = ahead ^ t[15][p[0] ^ (crc & 0xff)] ^ t[14][p[1] ^ ((crc >> 8) & 0xff)] ^
              t[13][p[2] ^ ((crc >> 16) & 0xff)] ^ t[12][p[3] ^ (crc >> 24)];
        p += SLICES;
        n -= SLICES;
    }
    while (n--)
        crc = (crc >> 8) ^ t[0][(crc ^ *p++) & 0xff];
    return crc;
}

static uint32_t
crc32_by_table(uint32_t crc, const uint8_t *p, size_t n)
{
    return update_by_table(&crc32_algorithm, crc, p, n);
}

static uint32_t
crc32c_by_table(uint32_t crc, const uint8_t *p, size_t n)
{
    return update_by_table(&crc32c_algorithm, crc, p, n);
}

/* ---- x86-64 ------------------------------------------------------------------- */

#ifdef HAVE_X86

static inline uint64_t
load64(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t
crc32c_sse42(uint32_t state, const uint8_t *p, size_t n)
{
    uint64_t crc = state;
    for (; n >= 8; p += 8, n -= 8)
        crc = _mm_crc32_u64(crc, load64(p));
    for (; n; p++, n--)
        crc = _mm_crc32_u8((uint32_t)crc, *p);
    return (uint32_t)crc;
}

__attribute__((target("sse4.2"))) static void
crc32c_sse42_lanes(const uint8_t *p, size_t length, uint32_t out[LANES])
{
    uint64_t a = ~0u, b = ~0u, c = ~0u, d = ~0u;
    const uint8_t *q = p + length, *r = q + length, *s = r + length;
    size_t at = 0;
    for (; at + 8 <= length; at += 8) {
        a = _mm_crc32_u64(a, load64(p + at));
        b = _mm_crc32_u64(b, load64(q + at));
        c = _mm_crc32_u64(c, load64(r + at));
        d = _mm_crc32_u64(d, load64(s + at));
    }
    for (; at < length; at++) {
        a = _mm_crc32_u8((uint32_t)a, p[at]);
        b = _mm_crc32_u8((uint32_t)b, q[at]);
        c = _mm_crc32_u8((uint32_t)c, r[at]);
        d = _mm_crc32_u8((uint32_t)d, s[at]);
    }
    out[0] = ~(uint32_t)a;
    out[1] = ~(uint32_t)b;
    out[2] = ~(uint32_t)c;
    out[3] = ~(uint32_t)d;
}

/*
 * CRC32 has no instruction, but carry-less multiplication can move 16 bytes of a
 * message a fixed distance towards its end: the halves are multiplied by x to the
 * power of the distance, modulo the polynomial, and xored onto what is there.
 * Four such registers walk through the data 64 bytes at a time; they are then
 * folded to one, whose 16 bytes stand for the message and go through the tables.
 */
__attribute__((target("pclmul,sse4.1"))) static inline __m128i
fold(__m128i value, __m128i powers, __m128i onto)
{
    __m128i low = _mm_clmulepi64_si128(value, powers, 0x00);
    __m128i high = _mm_clmulepi64_si128(value, powers, 0x11);
    return _mm_xor_si128(onto, _mm_xor_si128(low, high));
}

__attribute__((target("pclmul,sse4.1"))) static uint32_t
crc32_pclmul(uint32_t crc, const uint8_t *p, size_t n)
{
    if (n < 64)
        return crc32_by_table(crc, p, n);
    /* Bit-reflected x^(512+32), x^(512-32) and x^(128+32), x^(128-32), shifted by one. */
    const __m128i by_64_bytes = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by_16_bytes = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i a = _mm_loadu_si128((const __m128i *)p);
    __m128i b = _mm_loadu_si128((const __m128i *)(p + 16));
    __m128i c = _mm_loadu_si128((const __m128i *)(p + 32));
    __m128i d = _mm_loadu_si128((const __m128i *)(p + 48));
    a = _mm_xor_si128(a, _mm_cvtsi32_si128((int)crc));
    p += 64;
    n -= 64;
    for (; n >= 64; p += 64, n -= 64) {
        a = fold(a, by_64_bytes, _mm_loadu_si128((const __m128i *)p));
        b = fold(b, by_64_bytes, _mm_loadu_si128((const __m128i *)(p + 16)));
        c = fold(c, by_64_bytes, _mm_loadu_si128((const __m128i *)(p + 32)));
        d = fold(d, by_64_bytes, _mm_loadu_si128((const __m128i *)(p + 48)));
    }
    a = fold(a, by_16_bytes, b);
    a = fold(a, by_16_bytes, c);
    a = fold(a, by_16_bytes, d);
    for (; n >= 16; p += 16, n -= 16)
        a = fold(a, by_16_bytes, _mm_loadu_si128((const __m128i *)p));
    uint8_t folded[16];
    _mm_storeu_si128((__m128i *)folded, a);
    return crc32_by_table(crc32_by_table(0, folded, sizeof folded), p, n);
}

static void
choose_by_cpu(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2")) {
        crc32c_algorithm.update = crc32c_sse42;
        crc32c_algorithm.lanes = crc32c_sse42_lanes;
        crc32c_algorithm.method = "sse4.2";
    }
    if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
        crc32_algorithm.update = crc32_pclmul;
        crc32_algorithm.method = "pclmul";
    }
}

/* ---- AArch64: both polynomials have instructions -------------------------------- */

#elif defined(HAVE_ARM)

#define ARM_CRC __attribute__((target("+crc")))

#define DEFINE_ARM(name, word, byte)                                               \
    ARM_CRC static uint32_t name(uint32_t crc, const uint8_t *p, size_t n)         \
    {                                                                              \
        uint64_t value;                                                            \
        for (; n >= 8; p += 8, n -= 8) {                                           \
            memcpy(&value, p, 8);                                                  \
            crc = word(crc, value);                                                \
        }                                                                          \
        for (; n; p++, n--)                                                        \
            crc = byte(crc, *p);                                                   \
        return crc;                                                                \
    }                                                                              \
    ARM_CRC static void name##_lanes(const uint8_t *p, size_t length,              \
                                     uint32_t out[LANES])                          \
    {                                                                              \
        uint64_t value;                                                            \
        size_t at = 0;                                                             \
        for (int lane = 0; lane < LANES; lane++)                                   \
            out[lane] = ~0u;                                                       \
        for (; at + 8 <= length; at += 8)                                          \
            for (int lane = 0; lane < LANES; lane++) {                             \
                memcpy(&value, p + lane * length + at, 8);                         \
                out[lane] = word(out[lane], value);                                \
            }                                                                      \
        for (; at < length; at++)                                                  \
            for (int lane = 0; lane < LANES; lane++)                               \
                out[lane] = byte(out[lane], p[lane * length + at]);                \
        for (int lane = 0; lane < LANES; lane++)                                   \
            out[lane] = ~out[lane];                                                \
    }

DEFINE_ARM(crc32_arm, __crc32d, __crc32b)
DEFINE_ARM(crc32c_arm, __crc32cd, __crc32cb)

static void
choose_by_cpu(void)
{
#if defined(__linux__)
    if (!(getauxval(AT_HWCAP) & HWCAP_CRC32))
        return;
#elif !defined(__APPLE__)
    return;
#endif
    crc32_algorithm.update = crc32_arm;
    crc32_algorithm.lanes = crc32_arm_lanes;
    crc32_algorithm.method = "arm";
    crc32c_algorithm.update = crc32c_arm;
    crc32c_algorithm.lanes = crc32c_arm_lanes;
    crc32c_algorithm.method = "arm";
}

#else

static void
choose_by_cpu(void)
{
}

#endif

/* ---- chunks ------------------------------------------------------------------- */

static inline void
store_big_endian(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)(value >> 24);
    to[1] = (uint8_t)(value >> 16);
    to[2] = (uint8_t)(value >> 8);
    to[3] = (uint8_t)value;
}

static inline uint32_t
load_big_endian(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* Calls `sink(index, crc)` for each chunk in order, until it says stop. */
#define FOR_EACH_CHUNK(a, data, length, chunk, index, crc, sink)                   \
    do {                                                                           \
        size_t index = 0;                                                          \
        const uint8_t *at_ = (data);                                               \
        size_t left_ = (length);                                                   \
        int stop_ = 0;                                                             \
        if ((a)->lanes != NULL && left_ / LANES >= (chunk))                        \
            while (!stop_ && left_ >= LANES * (chunk)) {                           \
                uint32_t crcs_[LANES];                                             \
                (a)->lanes(at_, (chunk), crcs_);                                   \
                for (int lane_ = 0; lane_ < LANES && !stop_; lane_++, index++) {   \
                    uint32_t crc = crcs_[lane_];                                   \
                    sink                                                           \
                }                                                                  \
                at_ += LANES * (chunk);                                            \
                left_ -= LANES * (chunk);                                          \
            }                                                                      \
        while (!stop_ && left_ > 0) {                                              \
            size_t take_ = left_ < (chunk) ? left_ : (chunk);                      \
            uint32_t crc = ~(a)->update(~0u, at_, take_);                          \
            sink                                                                   \
            at_ += take_;                                                          \
            left_ -= take_;                                                        \
            index++;                                                               \
        }                                                                          \
    } while (0)

static void
sum_chunks(const algorithm *a, const uint8_t *data, size_t length, size_t chunk, uint8_t *out)
{
    FOR_EACH_CHUNK(a, data, length, chunk, index, crc, {
        store_big_endian(out + index * SUM_BYTES, crc);
    });
}

static Py_ssize_t
first_bad_chunk(const algorithm *a, const uint8_t *data, size_t length, size_t chunk,
                const uint8_t *sums)
{
    Py_ssize_t bad = -1;
    FOR_EACH_CHUNK(a, data, length, chunk, index, crc, {
        if (load_big_endian(sums + index * SUM_BYTES) != crc) {
            bad = (Py_ssize_t)index;
            stop_ = 1;
        }
    });
    return bad;
}

/* ---- joining CRCs: appending n zero bytes is a multiplication by x^8n --------- */

/* a*b modulo the polynomial; bit 31 is the coefficient of x^0. */
static uint32_t
multiply(uint32_t polynomial, uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = (b >> 1) ^ ((b & 1) ? polynomial : 0);
    }
    return product;
}

/* x^(8*bytes) modulo the polynomial, by repeated squaring. */
static uint32_t
power_of_bytes(uint32_t polynomial, uint64_t bytes)
{
    uint32_t result = 1u << 31;  /* x^0 */
    uint32_t square = 1u << 23;  /* x^8 */
    for (; bytes; bytes >>= 1) {
        if (bytes & 1)
            result = multiply(polynomial, square, result);
        square = multiply(polynomial, square, square);
    }
    return result;
}

/* Chunks beyond which a table of products is quicker than multiplying each. */
enum { TABLE_PAYS_FROM = 64 };

static uint32_t
compose_sums(const algorithm *a, const uint8_t *sums, size_t count, uint64_t chunk, uint64_t last)
{
    uint32_t crc = 0;
    size_t full = count - 1;
    uint32_t power = power_of_bytes(a->polynomial, chunk);
    if (full < TABLE_PAYS_FROM) {
        for (size_t i = 0; i < full; i++)
            crc = multiply(a->polynomial, power, crc) ^ load_big_endian(sums + i * SUM_BYTES);
    } else {
        uint32_t products[4][256];
        for (int byte = 0; byte < 4; byte++) {
            products[byte][0] = 0;
            for (uint32_t bit = 0; bit < 8; bit++) {
                uint32_t of_bit = multiply(a->polynomial, power, 1u << (8 * byte + bit));
                for (uint32_t low = 0; low < 1u << bit; low++)
                    products[byte][(1u << bit) + low] = products[byte][low] ^ of_bit;
            }
        }
        for (size_t i = 0; i < full; i++)
            crc = products[0][crc & 0xff] ^ products[1][(crc >> 8) & 0xff] ^
                  products[2][(crc >> 16) & 0xff] ^ products[3][crc >> 24] ^
                  load_big_endian(sums + i * SUM_BYTES);
    }
    return multiply(a->polynomial, power_of_bytes(a->polynomial, last), crc) ^
           load_big_endian(sums + full * SUM_BYTES);
}

/* ---- the Python side ---------------------------------------------------------- */

static algorithm *
as_algorithm(PyObject *number)
{
    long type = PyLong_AsLong(number);
    if (type == TYPE_CRC32)
        return &crc32_algorithm;
    if (type == TYPE_CRC32C)
        return &crc32c_algorithm;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "checksum type %ld has no CRC", type);
    return NULL;
}

static int
as_length(PyObject *number, const char *name, Py_ssize_t minimum, Py_ssize_t *value)
{
    *value = PyLong_AsSsize_t(number);
    if (*value == -1 && PyErr_Occurred())
        return -1;
    if (*value < minimum) {
        PyErr_Format(PyExc_ValueError, "%s must be at least %zd, is %zd", name, minimum, *value);
        return -1;
    }
    return 0;
}

static int
as_crc(PyObject *number, uint32_t *value)
{
    unsigned long long wide = PyLong_AsUnsignedLongLong(number);
    if (wide == (unsigned long long)-1 && PyErr_Occurred())
        return -1;
    if (wide > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a CRC has 32 bits");
        return -1;
    }
    *value = (uint32_t)wide;
    return 0;
}

static size_t
count_chunks(Py_ssize_t length, Py_ssize_t chunk)
{
    return (size_t)(length / chunk + (length % chunk != 0));
}

/* checksum_chunks(type, bytes_per_checksum, data, out, out_offset) -> bytes written */
PyObject *
howdah_checksum_chunks(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Py_ssize_t chunk, offset;
    Py_buffer data, out;
    if (howdah_check_arity("checksum_chunks", 5, nargs) < 0)
        return NULL;
    algorithm *a = as_algorithm(args[0]);
    if (a == NULL || as_length(args[1], "bytes_per_checksum", 1, &chunk) < 0 ||
        as_length(args[4], "out_offset", 0, &offset) < 0)
        return NULL;
    if (PyObject_GetBuffer(args[2], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    if (PyObject_GetBuffer(args[3], &out, PyBUF_WRITABLE) < 0) {
        PyBuffer_Release(&data);
        return NULL;
    }
    PyObject *result = NULL;
    size_t count = count_chunks(data.len, chunk);
    size_t room = offset <= out.len ? (size_t)(out.len - offset) : 0;
    if (count > room / SUM_BYTES || offset > out.len) {
        PyErr_Format(PyExc_ValueError,
                     "%zu checksums don't fit in %zd bytes from offset %zd", count, out.len,
                     offset);
    } else {
        uint8_t *to = (uint8_t *)out.buf + offset;
        if ((size_t)data.len >= a->release_bytes) {
            Py_BEGIN_ALLOW_THREADS
            sum_chunks(a, data.buf, (size_t)data.len, (size_t)chunk, to);
            Py_END_ALLOW_THREADS
        } else {
            sum_chunks(a, data.buf, (size_t)data.len, (size_t)chunk, to);
        }
        result = PyLong_FromSize_t(count * SUM_BYTES);
    }
    PyBuffer_Release(&out);
    PyBuffer_Release(&data);
    return result;
}

/* verify_chunks(type, bytes_per_checksum, data, sums) -> first bad chunk, or -1 */
PyObject *
howdah_verify_chunks(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Py_ssize_t chunk;
    Py_buffer data, sums;
    if (howdah_check_arity("verify_chunks", 4, nargs) < 0)
        return NULL;
    algorithm *a = as_algorithm(args[0]);
    if (a == NULL || as_length(args[1], "bytes_per_checksum", 1, &chunk) < 0)
        return NULL;
    if (PyObject_GetBuffer(args[2], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    if (PyObject_GetBuffer(args[3], &sums, PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&data);
        return NULL;
    }
    PyObject *result = NULL;
    size_t count = count_chunks(data.len, chunk);
    if ((size_t)sums.len % SUM_BYTES != 0 || (size_t)sums.len / SUM_BYTES != count) {
        PyErr_Format(PyExc_ValueError, "%zd bytes in chunks of %zd have %zu checksums, not %zd bytes",
                     data.len, chunk, count, sums.len);
    } else {
        Py_ssize_t bad;
        if ((size_t)data.len >= a->release_bytes) {
            Py_BEGIN_ALLOW_THREADS
            bad = first_bad_chunk(a, data.buf, (size_t)data.len, (size_t)chunk, sums.buf);
            Py_END_ALLOW_THREADS
        } else {
            bad = first_bad_chunk(a, data.buf, (size_t)data.len, (size_t)chunk, sums.buf);
        }
        result = PyLong_FromSsize_t(bad);
    }
    PyBuffer_Release(&sums);
    PyBuffer_Release(&data);
    return result;
}

/* crc(type, data, seed) -> the CRC of what `seed` is the CRC of, and `data` after it */
PyObject *
howdah_crc(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    uint32_t value;
    Py_buffer data;
    if (howdah_check_arity("crc", 3, nargs) < 0)
        return NULL;
    algorithm *a = as_algorithm(args[0]);
    if (a == NULL || as_crc(args[2], &value) < 0)
        return NULL;
    if (PyObject_GetBuffer(args[1], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    if ((size_t)data.len >= a->release_bytes) {
        Py_BEGIN_ALLOW_THREADS
        value = ~a->update(~value, data.buf, (size_t)data.len);
        Py_END_ALLOW_THREADS
    } else {
        value = ~a->update(~value, data.buf, (size_t)data.len);
    }
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(value);
}

/* combine(type, crc_a, crc_b, length_b) -> the CRC of a followed by b */
PyObject *
howdah_combine(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    uint32_t first, second;
    Py_ssize_t length;
    if (howdah_check_arity("combine", 4, nargs) < 0)
        return NULL;
    algorithm *a = as_algorithm(args[0]);
    if (a == NULL || as_crc(args[1], &first) < 0 || as_crc(args[2], &second) < 0 ||
        as_length(args[3], "length_b", 0, &length) < 0)
        return NULL;
    uint32_t power = power_of_bytes(a->polynomial, (uint64_t)length);
    return PyLong_FromUnsignedLong(multiply(a->polynomial, power, first) ^ second);
}

/* compose(type, sums, chunk_bytes, last_chunk_bytes) -> the CRC of all chunks as one */
PyObject *
howdah_compose(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Py_ssize_t chunk, last;
    Py_buffer sums;
    if (howdah_check_arity("compose", 4, nargs) < 0)
        return NULL;
    algorithm *a = as_algorithm(args[0]);
    if (a == NULL || as_length(args[2], "chunk_bytes", 1, &chunk) < 0 ||
        as_length(args[3], "last_chunk_bytes", 0, &last) < 0)
        return NULL;
    if (PyObject_GetBuffer(args[1], &sums, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *result = NULL;
    if (sums.len % SUM_BYTES != 0) {
        PyErr_Format(PyExc_ValueError, "checksums have 4 bytes each, %zd bytes are no whole number",
                     sums.len);
    } else if (sums.len == 0) {
        result = PyLong_FromLong(0);
    } else {
        uint32_t value;
        Py_BEGIN_ALLOW_THREADS
        value = compose_sums(a, sums.buf, (size_t)sums.len / SUM_BYTES, (uint64_t)chunk,
                             (uint64_t)last);
        Py_END_ALLOW_THREADS
        result = PyLong_FromUnsignedLong(value);
    }
    PyBuffer_Release(&sums);
    return result;
}

/* -1 if there is none. Without the interpreter's lock. */
Py_ssize_t
howdah_first_bad_chunk(int type, const void *data, size_t length, size_t chunk, const void *sums)
{
    const algorithm *a = type == TYPE_CRC32 ? &crc32_algorithm : &crc32c_algorithm;
    return first_bad_chunk(a, data, length, chunk, sums);
}

/* Of records: they are short. */
uint32_t
howdah_crc32(const void *data, size_t length)
{
    return ~crc32_algorithm.update(~0u, data, length);
}

/*
 * Up to release_bytes a call is over in some 30 us by instruction and 100 us by
 * table, and giving the interpreter away would cost more than it gives: a thread
 * that computes may keep it for five milliseconds.
 */
static void
prepare(algorithm *a, crc_fn by_table)
{
    fill_tables(a);
    a->update = by_table;
    a->lanes = NULL;
    a->method = "table";
}

/* Choose how sums are computed here, and say so in the module. -1 with an error. */
int
howdah_init_crc32(PyObject *module)
{
    prepare(&crc32_algorithm, crc32_by_table);
    prepare(&crc32c_algorithm, crc32c_by_table);
    /* So that the tables can be tested on a machine that doesn't need them. */
    const char *tables_only = getenv("HOWDAH_KERNEL");
    if (tables_only == NULL || strcmp(tables_only, "tables") != 0)
        choose_by_cpu();
    algorithm *all[] = {&crc32_algorithm, &crc32c_algorithm};
    for (size_t i = 0; i < 2; i++)
        all[i]->release_bytes = strcmp(all[i]->method, "table") == 0 ? 128u << 10 : 1u << 20;
    if (PyModule_AddStringConstant(module, "CRC32_METHOD", crc32_algorithm.method) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "CRC32C_METHOD", crc32c_algorithm.method);
}
