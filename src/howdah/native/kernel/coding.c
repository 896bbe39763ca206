/*
 * Products of matrices and units over GF(2^8): what erasure coding computes.
 *
 * Byte p of output i is the sum over j of rows[i][j] * inputs[j][p]. The field's polynomial is
 * 0x11D, in which addition is xor. An input that is shorter than the outputs counts as padded
 * with zeros. Encoding and decoding differ in their rows alone, and rows come from Python.
 *
 * A product with a constant is linear in the bits of the other factor. So it is the xor of two
 * table look-ups, by the low and the high four bits, which byte shuffles (SSSE3, AVX2, NEON) do
 * for 16 or 32 bytes at once; GFNI multiplies by a matrix of 8 x 8 bits. Up to four outputs are
 * made in one pass over the inputs, so for most policies each byte is loaded once.
 *
 * howdah/protocol/striping/product_fallback.py has the same function in Python; the same tests
 * run over both.
 */
#include "kernel.h"

#include <string.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define HAVE_X86 1
#include <immintrin.h>
#elif defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))
#define HAVE_ARM 1
#include <arm_neon.h>
#endif

enum {
    MAX_UNITS = 32, /* inputs, and outputs; Hadoop's policies have 16 units in all */
    POLYNOMIAL = 0x1d, /* without its x^8 */
    TABLE_BYTES = 32, /* the products with 0..15, and with 0, 16, .. 240 */
    RELEASE_BYTES = 64 << 10, /* from here on other Python threads may run */
};

/* What a coefficient needs: its tables, and its matrix of bits for GFNI. */
typedef struct {
    uint8_t table[TABLE_BYTES];
    uint64_t matrix;
} factor;

/* Some outputs of one pass, made of those inputs that have bytes in the range. */
typedef struct {
    const uint8_t *const *inputs;
    const factor *const *factors; /* factors[i][j] is of output i and input j */
    uint8_t *const *outputs;
    size_t input_count;
} job;

/* Makes the bytes from `from` to the last multiple of its vector's length before `to`; where it
 * has ended. */
typedef size_t (*product_fn)(const job *work, size_t output_count, size_t from, size_t to);

typedef struct {
    const char *name;
    product_fn product;
} method;

enum { MAX_METHODS = 6 };
static method methods[MAX_METHODS];
static size_t method_count;

/* ---- factors ------------------------------------------------------------------ */

static void
fill_factor(factor *f, uint8_t coefficient)
{
    uint8_t powers[8]; /* coefficient * 2^bit */
    for (int bit = 0; bit < 8; bit++) {
        powers[bit] = coefficient;
        coefficient = (uint8_t)(coefficient << 1 ^ (coefficient & 0x80 ? POLYNOMIAL : 0));
    }
    for (int half = 0; half < 2; half++) {
        uint8_t *table = f->table + 16 * half;
        table[0] = 0;
        for (int bit = 0; bit < 4; bit++)
            for (int below = 0; below < 1 << bit; below++)
                table[(1 << bit) + below] = table[below] ^ powers[4 * half + bit];
    }
    /* Bit i of a product is the parity of the factor and byte 7 - i. */
    f->matrix = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t row = 0;
        for (int bit = 0; bit < 8; bit++)
            row |= (uint64_t)(powers[bit] >> i & 1) << bit;
        f->matrix |= row << 8 * (7 - i);
    }
}

/* ---- one byte at a time --------------------------------------------------------- */

static size_t
product_scalar(const job *work, size_t output_count, size_t from, size_t to)
{
    for (size_t i = 0; i < output_count; i++) {
        uint8_t *out = work->outputs[i];
        memset(out + from, 0, to - from);
        for (size_t j = 0; j < work->input_count; j++) {
            const uint8_t *in = work->inputs[j];
            const uint8_t *table = work->factors[i][j].table;
            for (size_t at = from; at < to; at++)
                out[at] ^= table[in[at] & 15] ^ table[16 + (in[at] >> 4)];
        }
    }
    return to;
}

/* ---- vectors -------------------------------------------------------------------- */

/*
 * VECTOR is its type, LOAD, STORE and XOR what they say. SPLIT prepares what all outputs need of
 * an input's `bytes`; TERM(f) is the product with factor f.
 */
#define DEFINE_PASS(NAME, TARGET, COUNT, VECTOR, LOAD, STORE, XOR, ZERO, SPLIT, TERM)            \
    TARGET static size_t NAME##_##COUNT(const job *work, size_t from, size_t to)               \
    {                                                                                          \
        size_t at = from;                                                                      \
        for (; at + sizeof(VECTOR) <= to; at += sizeof(VECTOR)) {                              \
            VECTOR sums[COUNT];                                                                \
            for (int i = 0; i < COUNT; i++)                                                    \
                sums[i] = ZERO;                                                                \
            for (size_t j = 0; j < work->input_count; j++) {                                   \
                const VECTOR bytes = LOAD(work->inputs[j] + at);                               \
                SPLIT;                                                                         \
                for (int i = 0; i < COUNT; i++)                                                \
                    sums[i] = XOR(sums[i], TERM((&work->factors[i][j])));                      \
            }                                                                                  \
            for (int i = 0; i < COUNT; i++)                                                    \
                STORE(work->outputs[i] + at, sums[i]);                                         \
        }                                                                                      \
        return at;                                                                             \
    }

#define DEFINE_PRODUCT(NAME, TARGET, ...)                                                      \
    DEFINE_PASS(NAME, TARGET, 1, __VA_ARGS__)                                                  \
    DEFINE_PASS(NAME, TARGET, 2, __VA_ARGS__)                                                  \
    DEFINE_PASS(NAME, TARGET, 3, __VA_ARGS__)                                                  \
    DEFINE_PASS(NAME, TARGET, 4, __VA_ARGS__)                                                  \
    static size_t NAME(const job *work, size_t output_count, size_t from, size_t to)           \
    {                                                                                          \
        switch (output_count) {                                                                \
        case 1:                                                                                \
            return NAME##_1(work, from, to);                                                   \
        case 2:                                                                                \
            return NAME##_2(work, from, to);                                                   \
        case 3:                                                                                \
            return NAME##_3(work, from, to);                                                   \
        default:                                                                               \
            return NAME##_4(work, from, to);                                                   \
        }                                                                                      \
    }

#ifdef HAVE_X86

#define LOAD_128(p) _mm_loadu_si128((const __m128i *)(p))
#define STORE_128(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define SPLIT_128                                                                              \
    const __m128i low = _mm_and_si128(bytes, _mm_set1_epi8(15));                               \
    const __m128i high = _mm_and_si128(_mm_srli_epi64(bytes, 4), _mm_set1_epi8(15))
#define TERM_128(f)                                                                            \
    _mm_xor_si128(_mm_shuffle_epi8(LOAD_128(f->table), low),                                   \
                  _mm_shuffle_epi8(LOAD_128(f->table + 16), high))
DEFINE_PRODUCT(product_ssse3, __attribute__((target("ssse3"))), __m128i, LOAD_128, STORE_128,
               _mm_xor_si128, _mm_setzero_si128(), SPLIT_128, TERM_128)

#define LOAD_256(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE_256(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define SPLIT_256                                                                              \
    const __m256i low = _mm256_and_si256(bytes, _mm256_set1_epi8(15));                         \
    const __m256i high = _mm256_and_si256(_mm256_srli_epi64(bytes, 4), _mm256_set1_epi8(15))
#define TWICE(p) _mm256_broadcastsi128_si256(LOAD_128(p))
#define TERM_256(f)                                                                            \
    _mm256_xor_si256(_mm256_shuffle_epi8(TWICE(f->table), low),                                \
                     _mm256_shuffle_epi8(TWICE(f->table + 16), high))
DEFINE_PRODUCT(product_avx2, __attribute__((target("avx2"))), __m256i, LOAD_256, STORE_256,
               _mm256_xor_si256, _mm256_setzero_si256(), SPLIT_256, TERM_256)

#define SPLIT_NONE (void)0
#define TERM_GFNI_256(f)                                                                       \
    _mm256_gf2p8affine_epi64_epi8(bytes, _mm256_set1_epi64x((long long)f->matrix), 0)
DEFINE_PRODUCT(product_gfni, __attribute__((target("gfni,avx2"))), __m256i, LOAD_256, STORE_256,
               _mm256_xor_si256, _mm256_setzero_si256(), SPLIT_NONE, TERM_GFNI_256)

#define LOAD_512(p) _mm512_loadu_si512((const void *)(p))
#define STORE_512(p, v) _mm512_storeu_si512((void *)(p), v)
#define TERM_GFNI_512(f)                                                                       \
    _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_set1_epi64((long long)f->matrix), 0)
DEFINE_PRODUCT(product_gfni512, __attribute__((target("gfni,avx512f,avx512bw"))), __m512i,
               LOAD_512, STORE_512, _mm512_xor_si512, _mm512_setzero_si512(), SPLIT_NONE,
               TERM_GFNI_512)

static void
add_methods_of_cpu(void)
{
    __builtin_cpu_init();
    const int has_gfni = __builtin_cpu_supports("gfni");
    if (has_gfni && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        methods[method_count++] = (method){"gfni512", product_gfni512};
    if (has_gfni && __builtin_cpu_supports("avx2"))
        methods[method_count++] = (method){"gfni", product_gfni};
    if (__builtin_cpu_supports("avx2"))
        methods[method_count++] = (method){"avx2", product_avx2};
    if (__builtin_cpu_supports("ssse3"))
        methods[method_count++] = (method){"ssse3", product_ssse3};
}

#elif defined(HAVE_ARM)

#define SPLIT_NEON                                                                             \
    const uint8x16_t low = vandq_u8(bytes, vdupq_n_u8(15));                                    \
    const uint8x16_t high = vshrq_n_u8(bytes, 4)
#define TERM_NEON(f)                                                                           \
    veorq_u8(vqtbl1q_u8(vld1q_u8(f->table), low), vqtbl1q_u8(vld1q_u8(f->table + 16), high))
DEFINE_PRODUCT(product_neon, , uint8x16_t, vld1q_u8, vst1q_u8, veorq_u8, vdupq_n_u8(0),
               SPLIT_NEON, TERM_NEON)

static void
add_methods_of_cpu(void)
{
    /* Every AArch64 has NEON. */
    methods[method_count++] = (method){"neon", product_neon};
}

#else

static void
add_methods_of_cpu(void)
{
}

#endif

/* ---- the whole product ------------------------------------------------------------ */

enum { PASS = 4 };

/* The bytes from `from` to `to`, which lie in all of `work`'s inputs. */
static void
multiply_range(const method *how, const job *work, size_t output_count, size_t from, size_t to)
{
    for (size_t first = 0; first < output_count; first += PASS) {
        const size_t count = output_count - first < PASS ? output_count - first : PASS;
        const job part = {work->inputs, work->factors + first, work->outputs + first,
                          work->input_count};
        const size_t end = how->product(&part, count, from, to);
        if (end < to)
            product_scalar(&part, count, end, to);
    }
}

/* `factors` has a row for each output. */
static void
multiply(const method *how, const factor *factors, const Py_buffer *inputs, size_t input_count,
         const Py_buffer *outputs, size_t output_count, size_t length)
{
    const uint8_t *present[MAX_UNITS];
    uint8_t *made[MAX_UNITS];
    const factor *rows[MAX_UNITS];
    for (size_t i = 0; i < output_count; i++)
        made[i] = outputs[i].buf;
    for (size_t from = 0; from < length;) {
        /* Up to where the next input ends, the inputs are the same. */
        size_t to = length, count = 0;
        factor chosen[MAX_UNITS * MAX_UNITS];
        for (size_t j = 0; j < input_count; j++) {
            const size_t end = (size_t)inputs[j].len;
            if (end <= from)
                continue;
            present[count++] = inputs[j].buf;
            if (end < to)
                to = end;
        }
        for (size_t i = 0; i < output_count; i++) {
            factor *row = chosen + i * count;
            rows[i] = row;
            for (size_t j = 0; j < input_count; j++)
                if ((size_t)inputs[j].len > from)
                    *row++ = factors[i * input_count + j];
        }
        const job work = {present, rows, made, count};
        multiply_range(how, &work, output_count, from, to);
        from = to;
    }
}

/* Buffers of a sequence; how many, or -1 with an error and none held. */
static Py_ssize_t
hold_buffers(PyObject *sequence, const char *name, int flags, Py_buffer *held)
{
    const Py_ssize_t count = PySequence_Size(sequence);
    if (count < 0)
        return -1;
    if (count > MAX_UNITS) {
        PyErr_Format(PyExc_ValueError, "there are %zd %s, and at most %d can be", count, name,
                     (int)MAX_UNITS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        const int got = item == NULL ? -1 : PyObject_GetBuffer(item, &held[i], flags);
        Py_XDECREF(item);
        if (got < 0) {
            while (i-- > 0)
                PyBuffer_Release(&held[i]);
            return -1;
        }
    }
    return count;
}

static void
release_buffers(Py_buffer *held, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        PyBuffer_Release(&held[i]);
}

static int
overlaps(const Py_buffer *a, const Py_buffer *b)
{
    const uintptr_t first = (uintptr_t)a->buf, second = (uintptr_t)b->buf;
    if (a->len == 0 || b->len == 0)
        return 0; /* wherever it lies */
    return first < second + (size_t)b->len && second < first + (size_t)a->len;
}

/* -1 with an error where lengths do not fit together, or an output lies in another buffer. */
static int
check_units(Py_ssize_t coefficients, const Py_buffer *inputs, Py_ssize_t input_count,
            const Py_buffer *outputs, Py_ssize_t output_count)
{
    if (coefficients != input_count * output_count) {
        PyErr_Format(PyExc_ValueError, "%zd coefficients are not %zd rows of %zd", coefficients,
                     output_count, input_count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < output_count; i++) {
        if (outputs[i].len != outputs[0].len) {
            PyErr_Format(PyExc_ValueError, "outputs have %zd and %zd bytes", outputs[0].len,
                         outputs[i].len);
            return -1;
        }
        for (Py_ssize_t j = 0; j < input_count; j++)
            if (overlaps(&outputs[i], &inputs[j])) {
                PyErr_Format(PyExc_ValueError, "output %zd overlaps input %zd", i, j);
                return -1;
            }
        for (Py_ssize_t j = 0; j < i; j++)
            if (overlaps(&outputs[i], &outputs[j])) {
                PyErr_Format(PyExc_ValueError, "output %zd overlaps output %zd", i, j);
                return -1;
            }
    }
    for (Py_ssize_t j = 0; j < input_count; j++)
        if (output_count > 0 && inputs[j].len > outputs[0].len) {
            PyErr_Format(PyExc_ValueError, "input %zd has %zd bytes, and outputs have %zd", j,
                         inputs[j].len, outputs[0].len);
            return -1;
        }
    return 0;
}

/* multiply_units(rows, inputs, outputs, method): see the top of this file */
PyObject *
howdah_multiply_units(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (howdah_check_arity("multiply_units", 4, nargs) < 0)
        return NULL;
    const Py_ssize_t number = PyLong_AsSsize_t(args[3]);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    if (number < 0 || (size_t)number >= method_count) {
        PyErr_Format(PyExc_ValueError, "there is no method %zd", number);
        return NULL;
    }
    Py_buffer rows, inputs[MAX_UNITS], outputs[MAX_UNITS];
    if (PyObject_GetBuffer(args[0], &rows, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *result = NULL;
    const Py_ssize_t input_count = hold_buffers(args[1], "inputs", PyBUF_SIMPLE, inputs);
    if (input_count < 0)
        goto release_rows;
    const Py_ssize_t output_count = hold_buffers(args[2], "outputs", PyBUF_WRITABLE, outputs);
    if (output_count < 0)
        goto release_inputs;
    if (check_units(rows.len, inputs, input_count, outputs, output_count) < 0)
        goto release_all;
    factor *factors = PyMem_Malloc(sizeof(factor) * (size_t)rows.len);
    if (factors == NULL) {
        PyErr_NoMemory();
        goto release_all;
    }
    for (Py_ssize_t i = 0; i < rows.len; i++)
        fill_factor(&factors[i], ((const uint8_t *)rows.buf)[i]);
    const size_t length = output_count > 0 ? (size_t)outputs[0].len : 0;
    const method *how = &methods[number];
    if (length * (size_t)input_count >= RELEASE_BYTES) {
        Py_BEGIN_ALLOW_THREADS
        multiply(how, factors, inputs, (size_t)input_count, outputs, (size_t)output_count, length);
        Py_END_ALLOW_THREADS
    } else {
        multiply(how, factors, inputs, (size_t)input_count, outputs, (size_t)output_count, length);
    }
    PyMem_Free(factors);
    result = Py_NewRef(Py_None);
release_all:
    release_buffers(outputs, output_count);
release_inputs:
    release_buffers(inputs, input_count);
release_rows:
    PyBuffer_Release(&rows);
    return result;
}

/* Find out how products are computed here, the quickest way first, and say so in the module. -1
 * with an error. */
int
howdah_init_coding(PyObject *module)
{
    const char *tables_only = getenv("HOWDAH_KERNEL");
    method_count = 0;
    if (tables_only == NULL || strcmp(tables_only, "tables") != 0)
        add_methods_of_cpu();
    methods[method_count++] = (method){"scalar", product_scalar};
    PyObject *names = PyTuple_New((Py_ssize_t)method_count);
    for (size_t i = 0; names != NULL && i < method_count; i++) {
        PyObject *name = PyUnicode_FromString(methods[i].name);
        if (name == NULL || PyTuple_SetItem(names, (Py_ssize_t)i, name) < 0)
            Py_CLEAR(names);
    }
    const int added =
        names == NULL ? -1 : PyModule_AddObjectRef(module, "PRODUCT_METHODS", names);
    Py_XDECREF(names);
    return added;
}
