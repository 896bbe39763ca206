/*
 * The module howdah.native._kernel: which functions and types Python finds, and where they are.
 *
 * A file beside this one knows numbers, buffers and, where it says so, some objects of a room of
 * howdah; it never knows another file but by a header.
 */
#include "kernel.h"
#include "tables.h"

/* Of what Python finds here; howdah/native/loader.py names the one that it needs. */
enum { REVISION = 26 };

static PyMethodDef methods[] = {
    {"checksum_chunks", (PyCFunction)(void (*)(void))howdah_checksum_chunks, METH_FASTCALL,
     "checksum_chunks(type, bytes_per_checksum, data, out, out_offset) -> int"},
    {"verify_chunks", (PyCFunction)(void (*)(void))howdah_verify_chunks, METH_FASTCALL,
     "verify_chunks(type, bytes_per_checksum, data, sums) -> int"},
    {"crc", (PyCFunction)(void (*)(void))howdah_crc, METH_FASTCALL, "crc(type, data, seed) -> int"},
    {"combine", (PyCFunction)(void (*)(void))howdah_combine, METH_FASTCALL,
     "combine(type, crc_a, crc_b, length_b) -> int"},
    {"compose", (PyCFunction)(void (*)(void))howdah_compose, METH_FASTCALL,
     "compose(type, sums, chunk_bytes, last_chunk_bytes) -> int"},
    {"crc64nvme", (PyCFunction)(void (*)(void))howdah_crc64nvme, METH_FASTCALL,
     "crc64nvme(data, seed) -> int"},
    {"multiply_units", (PyCFunction)(void (*)(void))howdah_multiply_units, METH_FASTCALL,
     "multiply_units(rows, inputs, outputs, method) -> None"},
    {"take_rows", (PyCFunction)(void (*)(void))howdah_take_rows, METH_FASTCALL,
     "take_rows(pages, ids, shift, width) -> bytes"},
    {"shift_right", (PyCFunction)(void (*)(void))howdah_shift_right, METH_FASTCALL,
     "shift_right(numbers, bits) -> bytes"},
    {"file_ids", howdah_file_ids, METH_O, "file_ids(entries) -> bytes | None"},
    {"ids_in_order", howdah_ids_in_order, METH_O, "ids_in_order(entries) -> bytes | None"},
    {"frame_files", (PyCFunction)(void (*)(void))howdah_frame_files, METH_FASTCALL,
     "frame_files(ids, names, mtimes, atimes, looks, block_ids, stamps, lengths, counts) -> bytes"},
    {"split_messages", howdah_split_messages, METH_O,
     "split_messages(data) -> (list of messages, where they end, bytes that the next one needs)"},
    {"pack_files", howdah_pack_files, METH_O,
     "pack_files(messages) -> (places, ids, ends of names, names, mtimes, atimes, looks, the "
     "different looks, counts of blocks, block ids, stamps, lengths)"},
    {"split_calls", (PyCFunction)(void (*)(void))howdah_split_calls, METH_FASTCALL,
     "split_calls(data, max_frame_bytes) -> (list of calls, where they end)"},
    {"request_fields", (PyCFunction)(void (*)(void))howdah_request_fields, METH_FASTCALL,
     "request_fields(request, codes) -> tuple of values | None"},
    {"pack_record", (PyCFunction)(void (*)(void))howdah_pack_record, METH_FASTCALL,
     "pack_record(opcode, txid, codes, values) -> bytes"},
    {"answer_calls", (PyCFunction)(void (*)(void))howdah_answer_calls, METH_FASTCALL,
     "answer_calls(data, max_frame_bytes, most_calls, tails, quicks, user, address, states, clock, "
     "began_ns) -> (what was answered, frames, where they end)"},
    {"file_info", (PyCFunction)(void (*)(void))howdah_file_info, METH_FASTCALL,
     "file_info(request, ways, user, groups, is_exempt, tables) -> bytes | None"},
    {"file_status", (PyCFunction)(void (*)(void))howdah_file_status, METH_FASTCALL,
     "file_status(inode_id, tables) -> bytes | None"},
    {"block_locations", (PyCFunction)(void (*)(void))howdah_block_locations, METH_FASTCALL,
     "block_locations(request, ways, user, groups, is_exempt, tables, view) -> bytes | None | what "
     "is lacking"},
    {"list_entries", (PyCFunction)(void (*)(void))howdah_list_entries, METH_FASTCALL,
     "list_entries(names, entries, at, directory_type, policy, tables, view, places_left) -> "
     "(bytes, at, places_left, what is lacking)"},
    {"take_reported", (PyCFunction)(void (*)(void))howdah_take_reported, METH_FASTCALL,
     "take_reported(report, position, most, pages, number, siblings, exceptions, touched, parts, "
     "last_orphaned) -> (position, how many, ids, counts, orphaned)"},
    {"read_request", (PyCFunction)(void (*)(void))howdah_read_request, METH_FASTCALL,
     "read_request(start, pool, token, client, rest, id, stamp, length, offset, count) -> bytes"},
    {"located", (PyCFunction)(void (*)(void))howdah_located, METH_FASTCALL,
     "located(answer, known, kinds) -> (length, blocks, under construction, last, complete) | "
     "None"},
    {"await_bytes", (PyCFunction)(void (*)(void))howdah_await_bytes, METH_FASTCALL,
     "await_bytes(descriptor, nanoseconds) -> bool"},
    {"exchange", (PyCFunction)(void (*)(void))howdah_exchange, METH_FASTCALL,
     "exchange(socket, request, wait_ns, limit) -> bytes | (outcome, errno, what has come)"},
    {"send_now", (PyCFunction)(void (*)(void))howdah_send_now, METH_FASTCALL,
     "send_now(socket, packet, found): found gets (bytes sent, errno)"},
    {"hear_acks", (PyCFunction)(void (*)(void))howdah_hear_acks, METH_FASTCALL,
     "hear_acks(socket, acks, first, wait_ns, found, line, request, call_wait_ns): found gets (how "
     "many were heard, outcome, errno, what has come behind) of the acks, and of the answer to the "
     "request, which goes out behind the first ack"},
    {"read_short", (PyCFunction)(void (*)(void))howdah_read_short, METH_FASTCALL,
     "read_short(socket, request, start, end, room, silence_ns, status) -> (outcome, errno, bytes, "
     "where the range begins, whether the status was sent)"},
    {NULL, NULL, 0, NULL},
};

static int
add_type(PyObject *module, const char *name, PyObject *type)
{
    const int added = type == NULL ? -1 : PyModule_AddObjectRef(module, name, type);
    Py_XDECREF(type);
    return added;
}

/* The numbers of tables.h by the names that Python's tables have for them. */
static int
add_layout(PyObject *module)
{
    PyObject *layout = Py_BuildValue(
        "{si si si si si si si si si si si si si}", "ROW_SHIFT", SHIFT, "SET_SHIFT", SET_SHIFT,
        "FILE_WIDTH", FILE_WIDTH, "FILE_TRAITS", TRAITS, "FILE_MTIME", MTIME, "FILE_ATIME", ATIME,
        "FILE_BLOCK", BLOCK, "BLOCK_WIDTH", BLOCK_WIDTH, "BLOCK_LENGTH", LENGTH, "BLOCK_STAMP",
        STAMP, "BLOCK_REPLICAS", REPLICAS, "STORAGE_BITS", STORAGE_BITS, "BLOCK_COMPLETE",
        COMPLETE);
    const int added = layout == NULL ? -1 : PyModule_AddObjectRef(module, "LAYOUT", layout);
    Py_XDECREF(layout);
    return added;
}

static int
exec_module(PyObject *module)
{
    howdah_init_crc64();
    if (howdah_init_crc32(module) < 0 || howdah_init_coding(module) < 0 || add_layout(module) < 0 ||
        PyModule_AddIntConstant(module, "REVISION", REVISION) < 0)
        return -1;
    if (add_type(module, "DirectWriter", howdah_direct_writer(module)) < 0 ||
        add_type(module, "Outlet", howdah_outlet_type(module)) < 0 ||
        add_type(module, "PacketRelay", howdah_packet_relay(module)) < 0)
        return -1;
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, exec_module},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "howdah.native._kernel",
    .m_doc = "Checksums over all chunks of a packet, rows by the thousand, and calls of a namenode.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__kernel(void)
{
    return PyModuleDef_Init(&definition);
}
