/*
 * Uzushio's sort-last compositing for C: the images of all ranks become one picture.
 *
 *     uz_compositor_options options;
 *     uz_compositor_defaults(&options);
 *     options.width = 1024;
 *     options.height = 768;
 *     uz_compositor *c;
 *     uz_compositor_create(MPI_COMM_WORLD, &options, &c);
 *     for (...) {
 *         void *image;
 *         uz_compositor_canvas(c, &image);
 *         draw(image);
 *         uz_compositor_set_order(c, front_to_back, count);
 *         uz_compositor_submit(c, NULL, NULL);
 *         uz_picture picture;
 *         uz_compositor_finish(c, &picture); // at the root: picture.pixels
 *     }
 *     uz_compositor_destroy(&c);
 *
 * Images are width x height pixels, row by row, colours premultiplied by opacity.
 *
 * All functions are collective, in the same order on all ranks, except uz_compositor_progress and
 * uz_compositor_canvas. Errors are as in uzushio.h: a status, and uz_error_message(). Arguments
 * that must be the same on all ranks fail on all of them.
 */
#ifndef UZUSHIO_COMPOSITING_H
#define UZUSHIO_COMPOSITING_H

#include <mpi.h>
#include <stddef.h>

#include "uzushio/uzushio.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a pixel is, and how two of them combine. */
typedef int uz_pixel;
enum {
    UZ_RGBA8 = 1,      /* 4 bytes; over */
    UZ_RGBA_FLOAT = 2, /* 4 floats; over */
    UZ_RGBA8_DEPTH = 3 /* 4 bytes and a float; the nearer one. Aligned to 8 bytes. */
};

typedef struct uz_compositor uz_compositor;

/* The same on all ranks. Fill it with uz_compositor_defaults first. */
typedef struct uz_compositor_options {
    int width;
    int height;
    uz_pixel format;       /* UZ_RGBA8 */
    const char* algorithm; /* "auto"; or "binary_swap", "radix_k(8)", "hybrid(binary_swap)", ... */
    int root;              /* who gets the picture: 0 */
    int gather;            /* 1; 0: every rank keeps the part that it composited */
    int interlace;         /* pixels of a block of an interlaced image; 0: not interlaced */
    int frames;            /* pictures that may be under way at a time: 2 */
    float far_depth;       /* depth of the background: infinity */
    double limit;          /* seconds that a call waits for other ranks at most: 600; 0: for ever */
} uz_compositor_options;

/* A part of an image: x0 <= x < x1, y0 <= y < y1. */
typedef struct uz_rectangle {
    int x0, x1, y0, y1;
} uz_rectangle;

/* What a rank has of a picture, until the one `frames` after it is submitted. */
typedef struct uz_picture {
    const void* pixels; /* one after the other; null where count is 0 */
    size_t first;       /* the first of them, in the order of uz_compositor_pixel */
    size_t count;       /* all at the root of a gathered picture, 0 at the other ranks */
} uz_picture;

UZ_API void uz_compositor_defaults(uz_compositor_options* options);
UZ_API uz_status uz_compositor_create(MPI_Comm comm, const uz_compositor_options* options,
                                      uz_compositor** compositor);
/* The ranks that have data, front to back; at first all, by number. The same list on all ranks,
 * also on those that are not in it; where it differs, the functions fail on all ranks, and the
 * compositor is of no more use. */
UZ_API uz_status uz_compositor_set_order(uz_compositor* compositor, const int* front_to_back,
                                         int count);
/* Memory to draw the next image into: it need not be copied then. It may be written until
 * uz_compositor_submit alone: other ranks may read it even after uz_compositor_finish. */
UZ_API uz_status uz_compositor_canvas(uz_compositor* compositor, void** image);
/* Begin a picture. `image` null: what is in the canvas; else it must stay as it is until
 * uz_compositor_finish has returned the picture. `bounds` null: the whole image; what is outside
 * counts as background. */
UZ_API uz_status uz_compositor_submit(uz_compositor* compositor, const void* image,
                                      const uz_rectangle* bounds);
/* Wait for the oldest picture under way. */
UZ_API uz_status uz_compositor_finish(uz_compositor* compositor, uz_picture* picture);
/* Move on what can be moved on without waiting. */
UZ_API uz_status uz_compositor_progress(uz_compositor* compositor);
/* Number in the image, row by row, of the pixel at a position of a picture's part. */
UZ_API size_t uz_compositor_pixel(const uz_compositor* compositor, size_t position);
/* Finish the pictures under way and free the compositor (collective, unless one of its functions
 * has failed because of other ranks). Null is allowed, and so it becomes. */
UZ_API uz_status uz_compositor_destroy(uz_compositor** compositor);

#ifdef __cplusplus
}
#endif

#endif
