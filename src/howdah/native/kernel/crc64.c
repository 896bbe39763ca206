/*
 * CRC64NVME, which clients of S3 send with what they upload: the polynomial of the NVM Express
 * specification, bit-reflected, preset and final xor of all ones. Eight bytes a step, by tables.
 *
 * howdah/gateway/s3/protocol/crc64.py has the same in Python; the same tests run over both.
 */
#include "kernel.h"

#include <stdint.h>

enum { SLICES = 8, RELEASE_BYTES = 16 * 1024 };

static const uint64_t polynomial = 0x9A6C9329AC4BC9B5u;
static uint64_t table[SLICES][256];

void
howdah_init_crc64(void)
{
    for (int byte = 0; byte < 256; byte++) {
        uint64_t crc = (uint64_t)byte;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) ? polynomial : 0);
        table[0][byte] = crc;
    }
    for (int slice = 1; slice < SLICES; slice++)
        for (int byte = 0; byte < 256; byte++) {
            uint64_t crc = table[slice - 1][byte];
            table[slice][byte] = (crc >> 8) ^ table[0][crc & 0xff];
        }
}

static uint64_t
update(uint64_t crc, const uint8_t *p, size_t n)
{
    for (; n >= SLICES; p += SLICES, n -= SLICES)
        crc = table[7][p[0] ^ (crc & 0xff)] ^ table[6][p[1] ^ ((crc >> 8) & 0xff)] ^
              table[5][p[2] ^ ((crc >> 16) & 0xff)] ^ table[4][p[3] ^ ((crc >> 24) & 0xff)] ^
              table[3][p[4] ^ ((crc >> 32) & 0xff)] ^ table[2][p[5] ^ ((crc >> 40) & 0xff)] ^
              table[1][p[6] ^ ((crc >> 48) & 0xff)] ^ table[0][p[7] ^ (crc >> 56)];
    while (n--)
        crc = (crc >> 8) ^ table[0][(crc ^ *p++) & 0xff];
    return crc;
}

/* crc64nvme(data, seed) -> the CRC of data, put after what seed is the CRC of */
PyObject *
howdah_crc64nvme(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Py_buffer data;
    if (howdah_check_arity("crc64nvme", 2, nargs) < 0)
        return NULL;
    uint64_t value = PyLong_AsUnsignedLongLong(args[1]);
    if (value == (uint64_t)-1 && PyErr_Occurred())
        return NULL;
    if (PyObject_GetBuffer(args[0], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    if (data.len >= RELEASE_BYTES) {
        Py_BEGIN_ALLOW_THREADS
        value = ~update(~value, data.buf, (size_t)data.len);
        Py_END_ALLOW_THREADS
    } else {
        value = ~update(~value, data.buf, (size_t)data.len);
    }
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLongLong(value);
}
