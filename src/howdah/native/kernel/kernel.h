/*
 * What the module consists of: every function that Python finds, by the file that has it, and the
 * sums that several files need.
 */
#ifndef HOWDAH_KERNEL_KERNEL_H
#define HOWDAH_KERNEL_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

/* -1 with an error where there are too many arguments, or too few. */
static inline int
howdah_check_arity(const char *function, Py_ssize_t wanted, Py_ssize_t given)
{
    if (given == wanted)
        return 0;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments (%zd given)", function, wanted, given);
    return -1;
}

/* In crc32.c. */
int howdah_init_crc32(PyObject *module);
PyObject *howdah_checksum_chunks(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_verify_chunks(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_crc(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_combine(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_compose(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* The number of the first chunk that does not agree with its sum, -1 if there is none. Without the
 * interpreter's lock. */
Py_ssize_t howdah_first_bad_chunk(int type, const void *data, size_t length, size_t chunk,
                                  const void *sums);

/* Of records: they are short. */
uint32_t howdah_crc32(const void *data, size_t length);

/* In crc64.c. */
void howdah_init_crc64(void);
PyObject *howdah_crc64nvme(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* In coding.c. */
int howdah_init_coding(PyObject *module);
PyObject *howdah_multiply_units(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* In rows.c. */
PyObject *howdah_take_rows(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_shift_right(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_frame_files(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* In answers.c. */
PyObject *howdah_answer_calls(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* In reads.c. */
PyObject *howdah_file_info(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_file_status(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* In inodes.c. */
PyObject *howdah_split_messages(PyObject *module, PyObject *data);
PyObject *howdah_pack_files(PyObject *module, PyObject *messages);

/* In listing.c. */
PyObject *howdah_list_entries(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* In client.c. */
PyObject *howdah_read_request(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_located(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* In busy_poll.c. */
PyObject *howdah_await_bytes(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* In round_trip.c. */
PyObject *howdah_exchange(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_read_short(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* In entries.c. */
PyObject *howdah_file_ids(PyObject *module, PyObject *entries);
PyObject *howdah_ids_in_order(PyObject *module, PyObject *entries);

/* In sync.c. */
PyObject *howdah_send_now(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_hear_acks(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* In locations.c. */
PyObject *howdah_block_locations(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_take_reported(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* In calls.c. */
PyObject *howdah_split_calls(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_request_fields(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *howdah_pack_record(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* In journal.c. */
PyObject *howdah_direct_writer(PyObject *module);
PyObject *howdah_outlet_type(PyObject *module);

/* In relay_type.c. */
PyObject *howdah_packet_relay(PyObject *module);

#endif
