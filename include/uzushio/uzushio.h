/*
 * Uzushio's staging for C: publish the steps of a running solver to any number of readers.
 *
 *     uz_writer *w;
 *     uz_open("heat", MPI_COMM_WORLD, "staging.yaml", &w);
 *     uz_uniform_mesh(w, "plate", 2, all, origin, spacing);
 *     uz_field(w, "T", "plate", UZ_ELEMENT, UZ_FLOAT64, 1, "K");
 *     uz_block(w, rank, "plate", mine, UZ_ELEMENT);
 *     for (...) {
 *         ...
 *         uz_begin_step(w, step, time);
 *         uz_put(w, "T", rank, T, NULL);
 *         uz_end_step(w, NULL);
 *     }
 *     uz_close(&w);
 *
 * A YAML file, not the code, selects the engine and its options.
 *
 * Axes. Arrays with one entry per axis have three entries, in C order with x contiguous: z, y, x.
 * In two dimensions z has a start of 0 and a count of 1; in one dimension y too. Indices are global
 * indices of a mesh, from 0.
 *
 * Errors. Every function returns UZ_OK (0) or the kind of error; uz_error_message() returns the
 * text. No exception is thrown. An error of a function that is not collective does not change the
 * writer. Rank 0 prints a line on the standard error in three cases only: for a wait for readers of
 * more than two seconds, if the contact file was removed or replaced, and with `on_error: warn`.
 *
 * No failure of a stream ends the program, unless its options have `on_error: fail`. With `warn`,
 * the default, a stream ends with one line on the standard error if it cannot be opened or
 * published to (a full disk, an existing store, a pipeline that fails). All functions then
 * continue to return UZ_OK. Errors of calls, and of the file of options, are returned.
 *
 * Collective functions (uz_open, uz_end_step, uz_close) must be called by all ranks of the
 * communicator, and return the same status on all. The others are not collective.
 *
 * Threads. One thread at a time may use a writer; collective functions call MPI.
 *
 * Ownership. Texts, boxes and coordinates are copied at once. Values are read in
 * uz_end_step.
 */
#ifndef UZUSHIO_UZUSHIO_H
#define UZUSHIO_UZUSHIO_H

#include <mpi.h>
#include <stdint.h>

#if defined(__GNUC__)
#define UZ_API __attribute__((visibility("default")))
#else
#define UZ_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Status of a function. The numbers never change. */
typedef enum uz_status {
    UZ_OK = 0,
    UZ_ERROR_ARGUMENT = 1, /* a null pointer or an invalid number */
    UZ_ERROR_STAGING = 2,  /* the request cannot be fulfilled; see the message */
    UZ_ERROR_GONE = 3,     /* the peer of a connection does not exist (any more) */
    UZ_ERROR_SILENT = 4,   /* the peer did not answer in time */
    UZ_ERROR_TIMEOUT = 5,  /* no reader released a step in time, and on_timeout is fail */
    UZ_ERROR_MEMORY = 6,   /* not enough memory */
    UZ_ERROR_INTERNAL = 7  /* any other error */
} uz_status;

/* Type of one value of a field: one of UZ_FLOAT32 to UZ_UINT8. */
typedef int uz_type;
enum { UZ_FLOAT32 = 1, UZ_FLOAT64 = 2, UZ_INT32 = 3, UZ_INT64 = 4, UZ_UINT8 = 5 };

/* Location of values, and of the indices that a block owns: UZ_VERTEX or UZ_ELEMENT. */
typedef int uz_association;
enum { UZ_VERTEX = 1, UZ_ELEMENT = 2 };

/* Global indices start[a] <= i < start[a] + count[a] along z, y, x. */
typedef struct uz_box {
    int64_t start[3];
    int64_t count[3];
} uz_box;

/* Ghost widths of an array, below and above along z, y, x: 0 to 65535. */
typedef struct uz_ghosts {
    int32_t lower[3];
    int32_t upper[3];
} uz_ghosts;

/* Strided array: the values of a field on a block with ghost layers. Strides are positive; those of
 * axes with a count of 1 are ignored. */
typedef struct uz_array {
    const void* data;         /* first value: of the outermost ghost layer, if any */
    uz_type type;             /* as the field's */
    int64_t components;       /* as the field's */
    int64_t count[3];         /* values along z, y, x, ghost layers included */
    int64_t stride[3];        /* bytes from one value to the next along z, y, x */
    int64_t component_stride; /* bytes from one component to the next */
} uz_array;

/* Counters of steps. Complete on rank 0 of the communicator only. */
typedef struct uz_counters {
    uint64_t published;    /* steps that the solver offered */
    uint64_t delivered;    /* to readers, counted for each reader */
    uint64_t dropped;      /* steps that a reader attached at that time did not get */
    double seconds_waited; /* of the solver */
    uint64_t peak_bytes;   /* maximum in the queue */
    uint64_t bytes;        /* in the queue now */
    uint64_t steps;        /* in the queue now */
} uz_counters;

/* Writing side of a stream. Created by uz_open, freed by uz_close or uz_abandon. */
typedef struct uz_writer uz_writer;

/* Return the version of the library at run time, "1.2.3". The text is static. */
UZ_API const char* uz_version(void);

/* Return the message of the last error on this thread, a complete sentence; empty if there was
 * none. Valid until the next error on this thread. */
UZ_API const char* uz_error_message(void);

/* Open the stream `name`. Collective.
 *
 * comm: communicator of the publishing ranks; it is duplicated. MPI_COMM_NULL: this process alone.
 * file: YAML file with the engine's options, read by rank 0 only. NULL or "": the defaults. The
 * environment variable UZUSHIO_STAGING of rank 0, if not empty, replaces it: a job can use another
 * engine without changes to the code or its input. A leading ~/ in it, and in its paths, is
 * replaced by the folder in HOME. writer: set on success, and to NULL on failure. */
UZ_API uz_status uz_open(const char* name, MPI_Comm comm, const char* file, uz_writer** writer);

/* Open a stream with a Fortran communicator; `comm` NULL: this process alone. Error messages then
 * have Fortran's axes and indices: x, y, z from 1. */
UZ_API uz_status uz_open_fortran(const char* name, const MPI_Fint* comm, const char* file,
                                 uz_writer** writer);

/* Set an attribute of this and later steps; a further call replaces its value. The text "periodic",
 * such as "x y", is known to readers: the periodic axes, across which derivatives are computed and
 * pictures drawn. */
UZ_API uz_status uz_attribute_int(uz_writer* writer, const char* name, int64_t value);
/* Set an attribute as uz_attribute_int does. */
UZ_API uz_status uz_attribute_double(uz_writer* writer, const char* name, double value);
/* Set an attribute as uz_attribute_int does. */
UZ_API uz_status uz_attribute_text(uz_writer* writer, const char* name, const char* value);

/* Describe a mesh: a structured index space that the blocks of all ranks cover. All ranks that use
 * it describe it equally. There may be several meshes, such as the zones of a multiblock grid.
 *
 * dimension: 1, 2 or 3 axes in use, counted from x.
 * elements: of the whole mesh. There is one vertex more along each axis in use.
 * origin, spacing: vertex i along an axis is at origin + i * spacing, i being its global
 * index. Three each. */
UZ_API uz_status uz_uniform_mesh(uz_writer* writer, const char* name, int dimension,
                                 uz_box elements, const double* origin, const double* spacing);

/* Describe a mesh by the coordinates of all its vertices along each axis. NULL for unused axes. */
UZ_API uz_status uz_rectilinear_mesh(uz_writer* writer, const char* name, int dimension,
                                     uz_box elements, const double* z, const double* y,
                                     const double* x);

/* Describe a mesh whose coordinates are a vertex field, which this call also describes: of
 * UZ_FLOAT32 or UZ_FLOAT64, with three components x, y, z (in this order), put in every step. */
UZ_API uz_status uz_curvilinear_mesh(uz_writer* writer, const char* name, int dimension,
                                     uz_box elements, const char* coordinates, uz_type type);

/* Describe a field on a mesh. components: 1 to 65536. units: as in "m/s", stored as the
 * attribute "units"; NULL or "": none. */
UZ_API uz_status uz_field(uz_writer* writer, const char* name, const char* mesh,
                          uz_association association, uz_type type, int components,
                          const char* units);

/* Describe a block: a part of a mesh that this rank holds. A rank holds any number of blocks.
 *
 * id: the solver's number of the block, unique among all ranks' blocks.
 * owned, association: the elements that this rank owns (UZ_ELEMENT; vertices on its boundary are
 * shared with neighbours), or the vertices (UZ_VERTEX; none are shared). Without ghost layers. */
UZ_API uz_status uz_block(uz_writer* writer, uint64_t id, const char* mesh, uz_box owned,
                          uz_association association);
/* Remove a block of this rank. */
UZ_API uz_status uz_remove_block(uz_writer* writer, uint64_t id);

/* Begin a step with the solver's number and time, the same on all ranks. Not collective: it does
 * not communicate. */
UZ_API uz_status uz_begin_step(uz_writer* writer, int64_t index, double time);

/* Put values of a field on a block, with ghost layers: without gaps, in the order z, y, x,
 * component. They are read in uz_end_step and must not change before. ghosts: NULL for none. */
UZ_API uz_status uz_put(uz_writer* writer, const char* field, uint64_t block, const void* values,
                        const uz_ghosts* ghosts);

/* Put values with any strides, such as a part of a larger array or another order of axes. Counts,
 * type and components are checked against the description. */
UZ_API uz_status uz_put_array(uz_writer* writer, const char* field, uint64_t block,
                              const uz_array* array, const uz_ghosts* ghosts);

/* Get memory for a block's values of this step, as an alternative to uz_put, in the same order.
 * Engines publish it without a copy where they can. It is owned by the library, valid until
 * uz_end_step, and uninitialised.
 * type: as the field's.
 * count: if not NULL, receives four numbers: values along z, y, x, and components. */
UZ_API uz_status uz_buffer(uz_writer* writer, const char* field, uint64_t block,
                           const uz_ghosts* ghosts, uz_type type, void** memory, int64_t* count);

/* Publish the step. Collective. The solver may change its arrays when this returns.
 * sequence: if not NULL, the step's number in the stream, from 0, or -1 if the queue's policy
 * dropped it for all readers, which is no error. */
UZ_API uz_status uz_end_step(uz_writer* writer, int64_t* sequence);

/* Cancel the step, on ranks that cannot finish it. Collective with the others' uz_end_step, which
 * fails with `reason`. No step is published, and the next step may begin. */
UZ_API uz_status uz_cancel_step(uz_writer* writer, const char* reason);

/* Continue after a failed call of this rank: with `on_error: warn`, the next uz_end_step prints
 * `reason` on rank 0 and publishes nothing, and the result is UZ_OK. Otherwise UZ_ERROR_STAGING.
 * The Fortran module calls it for calls without `stat`. Not collective. */
UZ_API uz_status uz_defer_error(uz_writer* writer, const char* reason);

/* Command of a reader, such as a new value of a parameter: a text that both sides agree on. */
typedef struct uz_command {
    uint64_t reader;  /* number of the reader, for uz_reply */
    uint64_t number;  /* counts the commands of this reader */
    const char* text; /* valid until the next uz_take_command; NULL if there is no command */
    int left;         /* not 0: no command; a reader that has sent some has detached */
} uz_command;

/* Take the next command of the readers, the same on all ranks; text NULL if there is none. Never
 * waits for readers. Collective. Engines shm, tcp and mpi have commands. */
UZ_API uz_status uz_take_command(uz_writer* writer, uz_command* command);

/* Reply to a command with at most 60000 bytes. Acts on rank 0; not collective. */
UZ_API uz_status uz_reply(uz_writer* writer, uint64_t reader, uint64_t number, const char* text);

/* Get the counters. */
UZ_API uz_status uz_get_counters(const uz_writer* writer, uz_counters* counters);

/* Wait up to close_limit for readers to get the remaining steps, end the stream, free the writer
 * and set it to NULL. Collective; before MPI_Finalize. The writer is freed even on failure. Does
 * nothing if the writer is NULL. */
UZ_API uz_status uz_close(uz_writer** writer);

/* End the stream at once after a failure of the solver, free the writer and set it to NULL. Readers
 * get the error that the writer has ended. Not collective. */
UZ_API void uz_abandon(uz_writer** writer);

/* ---- reading ----
 *
 *     uz_reader *r;
 *     uz_attach("heat.contact", MPI_COMM_WORLD, 60, &r);
 *     for (uz_next(r, 60, &state); state == UZ_STEP; uz_next(r, 60, &state)) {
 *         uz_read(r, "T", box, values, NULL);
 *         uz_release(r);
 *     }
 *     uz_detach(&r);
 *
 * All ranks of a reader get the same steps, and each reads its own boxes. uz_attach, uz_next,
 * uz_release and uz_detach are collective over the reader's ranks, the others are not. Errors are
 * returned as above; `on_error` is the writer's. */

/* Reading side of a stream. Created by uz_attach, freed by uz_detach. */
typedef struct uz_reader uz_reader;

/* Result of uz_next: a step; none within the limit; the end of the stream. */
enum { UZ_STEP = 1, UZ_TIMEOUT = 2, UZ_ENDED = 3 };

/* Field of a step. Texts are valid until the next uz_next. */
typedef struct uz_field_info {
    const char* name;
    const char* mesh;
    const char* units; /* "" if it has none */
    uz_association association;
    uz_type type;
    int64_t components;
    uz_box box; /* all indices of its values in the mesh */
} uz_field_info;

/* Mesh of a step. Texts are valid until the next uz_next. */
typedef struct uz_mesh_info {
    const char* name;
    const char* coordinates; /* vertex field with x, y, z of a curvilinear mesh, else "" */
    int dimension;
    int uniform;     /* not 0: origin and spacing are set; else uz_get_coordinates, or a field */
    uz_box elements; /* of the whole mesh */
    double origin[3], spacing[3]; /* along z, y, x */
} uz_mesh_info;

/* Attach to a stream. Collective.
 *
 * contact: the contact file of a writer or a relay, "host:port", "mpi:NAME" inside one launch with
 * the writer, or the folder of stored steps. comm: as in uz_open. limit: seconds to wait for the
 * writer. reader: set on success, and to NULL on failure. */
UZ_API uz_status uz_attach(const char* contact, MPI_Comm comm, double limit, uz_reader** reader);
/* Attach with a Fortran communicator, as uz_open_fortran. */
UZ_API uz_status uz_attach_fortran(const char* contact, const MPI_Fint* comm, double limit,
                                   uz_reader** reader);

/* Release the current step, and wait `limit` seconds for the next. Collective. state: UZ_STEP,
 * UZ_TIMEOUT or UZ_ENDED. */
UZ_API uz_status uz_next(uz_reader* reader, double limit, int* state);

/* Get the current step: the solver's number and time, and its number in the stream, from 0. Each
 * may be NULL. */
UZ_API uz_status uz_get_step(const uz_reader* reader, int64_t* index, double* time,
                             int64_t* sequence);

/* Get the number of the step's fields, and one of them, by its place from 0 or by its name. */
UZ_API uz_status uz_get_field_count(const uz_reader* reader, int* count);
/* Get the field at a place from 0. */
UZ_API uz_status uz_get_field_at(const uz_reader* reader, int place, uz_field_info* field);
/* Get the field of a name. */
UZ_API uz_status uz_get_field(const uz_reader* reader, const char* name, uz_field_info* field);
/* Get the mesh of a name. */
UZ_API uz_status uz_get_mesh(const uz_reader* reader, const char* name, uz_mesh_info* mesh);
/* Copy the coordinates of all vertices of a uniform or rectilinear mesh along axis 0 (z), 1 (y) or
 * 2 (x): one number more than its elements along axes in use. */
UZ_API uz_status uz_get_coordinates(const uz_reader* reader, const char* mesh, int axis,
                                    double* values);
/* Get an attribute of the step as a number. UZ_ERROR_ARGUMENT if it is none. */
UZ_API uz_status uz_get_number(const uz_reader* reader, const char* attribute, double* value);
/* Get an attribute of the step as a text, valid until the next uz_next. */
UZ_API uz_status uz_get_text(const uz_reader* reader, const char* attribute, const char** value);

/* Read a box of a field, from the blocks of any ranks, without gaps, in the order z, y, x,
 * component; of the field's type. Values that no block holds are left as they are.
 * missing: the number of such indices; NULL: an error if there are any. */
UZ_API uz_status uz_read(uz_reader* reader, const char* field, uz_box box, void* values,
                         int64_t* missing);
/* Read a box into an array with any positive strides; `data` is written to. */
UZ_API uz_status uz_read_array(uz_reader* reader, const char* field, uz_box box,
                               const uz_array* array, int64_t* missing);

/* Release the current step before the next uz_next; its memory returns to the writer.
 * Collective. */
UZ_API uz_status uz_release(uz_reader* reader);

/* Send a command of at most 2000 bytes to the writer. Acts on rank 0; not collective.
 * number: if not NULL, the number of the command. */
UZ_API uz_status uz_send(uz_reader* reader, const char* text, uint64_t* number);
/* Take the next reply that came with a step, on rank 0. text: NULL if there is none; valid until
 * the next uz_take_reply. number: of the command; may be NULL. */
UZ_API uz_status uz_take_reply(uz_reader* reader, const char** text, uint64_t* number);

/* Detach, free the reader and set it to NULL. Collective; before MPI_Finalize. */
UZ_API uz_status uz_detach(uz_reader** reader);

#ifdef __cplusplus
}
#endif

#endif
