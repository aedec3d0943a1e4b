/*
 * Uzushio's staging for C: hand the steps of a running solver to whoever wants to look at them.
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
 * Which engine carries the steps, and how, is not in the code but in a YAML file.
 *
 * Axes. Everything that has one entry per axis has three, in the order of a C array with x
 * contiguous: z, y, x. In two dimensions z has a start of 0 and a count of 1, in one dimension y
 * too. Indices count from 0 and are global: of a mesh, not of a rank.
 *
 * Errors. Every function returns UZ_OK (0) or what kind of error there was; uz_error_message() has
 * the sentence. Nothing is thrown. After an error of a function that is not collective the writer
 * is as it was before. Rank 0 prints a line on the standard error in two cases alone: what a wait
 * for readers waits for, after two seconds, and that the contact file was removed or replaced.
 *
 * Collective functions (uz_open, uz_begin_step, uz_end_step, uz_close) must be called by all ranks
 * of the communicator, and return the same status on all. The others are each rank's own.
 *
 * Threads. A writer may be used by any thread, by one at a time; collective functions call MPI.
 *
 * Ownership. Texts, boxes and coordinates are copied at once. Values are read in uz_end_step, and
 * not after it.
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

/* What a function returns. The numbers never change. */
typedef enum uz_status {
    UZ_OK = 0,
    UZ_ERROR_ARGUMENT = 1, /* a null pointer or a number that is not allowed */
    UZ_ERROR_STAGING = 2,  /* what was asked for cannot be done; the message says why */
    UZ_ERROR_GONE = 3,     /* the other side of a connection is gone, or was never there */
    UZ_ERROR_SILENT = 4,   /* the other side is there, and did not answer in time */
    UZ_ERROR_TIMEOUT = 5,  /* no reader made room in time, and the options say to fail then */
    UZ_ERROR_MEMORY = 6,   /* there is not enough memory */
    UZ_ERROR_INTERNAL = 7  /* anything else */
} uz_status;

/* Type of one value of a field: one of UZ_FLOAT32 to UZ_UINT8. */
typedef int uz_type;
enum { UZ_FLOAT32 = 1, UZ_FLOAT64 = 2, UZ_INT32 = 3, UZ_INT64 = 4, UZ_UINT8 = 5 };

/* What values belong to, and what a block owns: UZ_VERTEX or UZ_ELEMENT. */
typedef int uz_association;
enum { UZ_VERTEX = 1, UZ_ELEMENT = 2 };

/* Global indices start[a] <= i < start[a] + count[a] along z, y, x. */
typedef struct uz_box {
    int64_t start[3];
    int64_t count[3];
} uz_box;

/* Widths of the ghost layers in an array, below and above along z, y, x: 0 to 65535. */
typedef struct uz_ghosts {
    int32_t lower[3];
    int32_t upper[3];
} uz_ghosts;

/* An array with strides, the values of a field on a block with ghost layers. Strides are positive;
 * those of axes with a count of 1 may be anything. */
typedef struct uz_array {
    const void* data;   /* first value, which is that of the outermost ghost if there are any */
    uz_type type;       /* must be the field's */
    int64_t components; /* must be the field's */
    int64_t count[3];   /* values along z, y, x, ghost layers included */
    int64_t stride[3];  /* bytes from one value to the next along z, y, x */
    int64_t component_stride; /* bytes from one component to the next */
} uz_array;

/* What happened to the steps so far. Whole on rank 0 of the communicator; elsewhere what is known
 * there. */
typedef struct uz_counters {
    uint64_t published;    /* steps that the solver offered */
    uint64_t delivered;    /* handed to a reader, counted for each reader */
    uint64_t dropped;      /* steps that a reader attached at that time never got */
    double seconds_waited; /* of the solver */
    uint64_t peak_bytes;   /* most that waited for readers at a time */
    uint64_t bytes;        /* that wait now */
    uint64_t steps;        /* that wait now */
} uz_counters;

/* The writing side of a stream. Made by uz_open, given back by uz_close or uz_abandon. */
typedef struct uz_writer uz_writer;

/* "1.2.3", of the library that was found at run time. Lives for ever. */
UZ_API const char* uz_version(void);

/* What went wrong in the last function that failed on this thread: a whole sentence; empty if none
 * did. Valid until the next one fails on this thread. */
UZ_API const char* uz_error_message(void);

/* Open the stream `name`. Collective.
 *
 * comm: ranks that publish together; it is duplicated. MPI_COMM_NULL: this process alone.
 * file: YAML file with the engine's options, read by rank 0 alone. NULL or "": the defaults. If
 * rank 0 has the environment variable UZUSHIO_STAGING and it is not empty, that names the file
 * instead: a job can be switched to another engine without touching the code or its input.
 * A leading ~/ of it, and of paths in it, is the home folder that HOME names.
 * writer: set on success, and to NULL on failure. */
UZ_API uz_status uz_open(const char* name, MPI_Comm comm, const char* file, uz_writer** writer);

/* The same with a communicator as Fortran has it; `comm` NULL: this process alone. Sentences of
 * errors then have axes and indices as Fortran has them: x, y, z from 1. */
UZ_API uz_status uz_open_fortran(const char* name, const MPI_Fint* comm, const char* file,
                                 uz_writer** writer);

/* Numbers and texts that go with the steps from now on. Called again: a new value. Readers know the
 * text "periodic", "x y" say: axes along which the first value of fields follows the last one, so
 * that derivatives are taken and pictures drawn across the seam. */
UZ_API uz_status uz_attribute_int(uz_writer* writer, const char* name, int64_t value);
UZ_API uz_status uz_attribute_double(uz_writer* writer, const char* name, double value);
UZ_API uz_status uz_attribute_text(uz_writer* writer, const char* name, const char* value);

/* A mesh: a structured index space that blocks of all ranks cover in parts. All ranks that use it
 * describe it, and alike. Any number of meshes: the zones of a multiblock grid, say.
 *
 * dimension: 1, 2 or 3 axes in use, counted from x.
 * elements: all of them, whichever rank holds them. There is one vertex more along each axis in
 * use. origin, spacing: vertex i along an axis is at origin + i * spacing, i being its global
 * index. Three each. */
UZ_API uz_status uz_uniform_mesh(uz_writer* writer, const char* name, int dimension,
                                 uz_box elements, const double* origin, const double* spacing);

/* Coordinates of all vertices along each axis, as many as the whole mesh has. NULL for axes not in
 * use. */
UZ_API uz_status uz_rectilinear_mesh(uz_writer* writer, const char* name, int dimension,
                                     uz_box elements, const double* z, const double* y,
                                     const double* x);

/* Coordinates of every vertex are a field, which this defines too: of vertices, of UZ_FLOAT32 or
 * UZ_FLOAT64, with three components x, y, z (sic), put like any other in every step. */
UZ_API uz_status uz_curvilinear_mesh(uz_writer* writer, const char* name, int dimension,
                                     uz_box elements, const char* coordinates, uz_type type);

/* A field on a mesh. components: 1 to 65536. units: as in "m/s", kept as the attribute
 * "units"; NULL or "": none. */
UZ_API uz_status uz_field(uz_writer* writer, const char* name, const char* mesh,
                          uz_association association, uz_type type, int components,
                          const char* units);

/* A part of a mesh that this rank holds, from now on. A rank may hold any number of blocks, none
 * included.
 *
 * id: a number of the solver's own, that no other block on any rank has at that time.
 * owned, association: the elements that this rank owns if UZ_ELEMENT, and then it shares the
 * vertices between them with its neighbours; or the vertices if UZ_VERTEX, shared with nobody.
 * Ghost layers are not counted. */
UZ_API uz_status uz_block(uz_writer* writer, uint64_t id, const char* mesh, uz_box owned,
                          uz_association association);
/* It is this rank's no more. */
UZ_API uz_status uz_remove_block(uz_writer* writer, uint64_t id);

/* Begin a step: the solver's number for it, and its time. Collective. */
UZ_API uz_status uz_begin_step(uz_writer* writer, int64_t index, double time);

/* Values of a field on a block, for this step: without gaps, in the order z, y, x, component
 * (components of a value side by side), ghost layers included. They are read in uz_end_step: leave
 * them alone until then. ghosts: NULL for none. */
UZ_API uz_status uz_put(uz_writer* writer, const char* field, uint64_t block, const void* values,
                        const uz_ghosts* ghosts);

/* The same with any strides: a part of a larger array, one component of several, another order of
 * axes. Counts, type and components are checked against what was described. */
UZ_API uz_status uz_put_array(uz_writer* writer, const char* field, uint64_t block,
                              const uz_array* array, const uz_ghosts* ghosts);

/* Memory to write a block's values of this step into, instead of uz_put: in uz_put's order. Where
 * the engine can, readers then get it without a copy. Valid until uz_end_step; the library's. Its
 * contents are undefined.
 * type: what the memory is taken for; must be the field's.
 * count: if not NULL, four numbers are put there: values along z, y, x, and components. */
UZ_API uz_status uz_buffer(uz_writer* writer, const char* field, uint64_t block,
                           const uz_ghosts* ghosts, uz_type type, void** memory, int64_t* count);

/* Publish the step. Collective. All arrays are the solver's again when this returns.
 * sequence: if not NULL, the step's number in the stream, counted from 0, or -1 if the queue's
 * policy dropped it, for all readers, which is no error. */
UZ_API uz_status uz_end_step(uz_writer* writer, int64_t* sequence);

/* Give the step up instead of uz_end_step, on ranks that cannot finish it. Collective with the
 * others' uz_end_step, which fails with the reason. Nothing is published, and the next step may
 * begin. reason: what the other ranks are told. */
UZ_API uz_status uz_cancel_step(uz_writer* writer, const char* reason);

UZ_API uz_status uz_get_counters(const uz_writer* writer, uz_counters* counters);

/* Give readers what is left, as long as the options say, end the stream, free the writer and set it
 * to NULL. Collective; before MPI_Finalize. The writer is freed even if this fails. Nothing is done
 * with a writer that is NULL already. */
UZ_API uz_status uz_close(uz_writer** writer);

/* Free the writer at once and set it to NULL, without a word to readers, who see it gone: for a
 * solver that fails. Not collective. */
UZ_API void uz_abandon(uz_writer** writer);

#ifdef __cplusplus
}
#endif

#endif
