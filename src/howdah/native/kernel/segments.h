/* Of segments.c, for journal.c: the files of an edit log that is being written,
 * and what is to go there. What takes no interpreter says so; all else is called with it. */
#ifndef HOWDAH_KERNEL_SEGMENTS_H
#define HOWDAH_KERNEL_SEGMENTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

enum { HOWDAH_MOST_SEGMENTS = 64 };

/* Records, one behind the other. */
typedef struct {
    char *bytes;
    size_t used, room;
} howdah_buffer;

typedef struct {
    int descriptor;
    int past_cache;  /* another one of the same file, O_DIRECT and O_DSYNC; -1 if there is none */
    int64_t written, allocated;
    char *blocks;      /* for writes past the cache; NULL until the first */
    int64_t blocks_at; /* they begin with the block that the file has up to here; or -1 */
} howdah_segment;

/* Those of one log, with the same records. */
typedef struct {
    howdah_segment files[HOWDAH_MOST_SEGMENTS];
    int count;
    int failed_file, failed_errno, failed_step;  /* the first is -1 while none has failed */
    char *fill;                                  /* what stands in space that is taken ahead */
} howdah_segments;

/* `given` has a tuple of descriptor, one past the cache (or -1), written and allocated bytes for
 * each file; -1 with an error. Of `found` only `files` and `count` are set. */
int howdah_parse_segments(PyObject *given, howdah_segments *found);

/* Without the interpreter: what was allocated for the files, which are nobody's then. */
void howdah_free_segments(howdah_segments *self);

/* Without the interpreter: what a file has is on the disk; -1 if it fails. */
int howdah_sync_data(int descriptor);

/* Without the interpreter: to each file behind what it has, and synced; -1 if one fails. */
int howdah_write_segments(howdah_segments *self, const char *bytes, size_t count);

/* A list of (written, allocated) for each file; NULL with an error. */
PyObject *howdah_segment_states(const howdah_segments *self);

/* Without the interpreter: room for so many bytes more; -1 if there is no memory. */
int howdah_make_room(howdah_buffer *to, size_t more);

/* Without the interpreter: nothing is in it any more, and what a burst made large is freed. */
void howdah_empty_buffer(howdah_buffer *buffer);

#endif
