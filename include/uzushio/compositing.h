/*
 * Uzushio's sort-last compositing for C: the images of all ranks are composited to one picture.
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
 * uz_compositor_canvas. Errors are as in uzushio.h: a status, and uz_error_message(). An argument
 * that must be the same on all ranks and differs is an error on all of them.
 */
#ifndef UZUSHIO_COMPOSITING_H
#define UZUSHIO_COMPOSITING_H

#include <mpi.h>
#include <stddef.h>

#include "uzushio/uzushio.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pixel type and operator. */
typedef int uz_pixel;
enum {
    UZ_RGBA8 = 1,      /* 4 bytes; over */
    UZ_RGBA_FLOAT = 2, /* 4 floats; over */
    UZ_RGBA8_DEPTH = 3 /* 4 bytes and a float depth, aligned to 8 bytes; the smaller depth */
};

typedef struct uz_compositor uz_compositor;

/* Options, the same on all ranks. Fill them with uz_compositor_defaults first. */
typedef struct uz_compositor_options {
    int width;
    int height;
    uz_pixel format;       /* UZ_RGBA8 */
    const char* algorithm; /* "auto"; or "binary_swap", "radix_k(8)", "hybrid(binary_swap)", ... */
    int root;              /* rank that receives the picture: 0 */
    int gather;            /* 1; 0: every rank keeps the tile that it composited */
    int interlace;         /* pixels of a block of an interlaced image; 0: not interlaced */
    int frames;            /* maximum number of pictures in flight: 2 */
    float far_depth;       /* depth of the background: infinity */
    double limit;          /* timeout of a call in seconds: 600; 0: unlimited */
} uz_compositor_options;

/* Part of an image: x0 <= x < x1, y0 <= y < y1. */
typedef struct uz_rectangle {
    int x0, x1, y0, y1;
} uz_rectangle;

/* Pixels of a picture on this rank, valid until the picture `frames` after it is submitted. */
typedef struct uz_picture {
    const void* pixels; /* contiguous; null where count is 0 */
    size_t first;       /* position of the first, for uz_compositor_pixel */
    size_t count;       /* all at the root of a gathered picture, 0 at the other ranks */
} uz_picture;

/* Set all options to their defaults; the image has no size. */
UZ_API void uz_compositor_defaults(uz_compositor_options* options);
/* Make a compositor for the ranks of `comm` (collective). */
UZ_API uz_status uz_compositor_create(MPI_Comm comm, const uz_compositor_options* options,
                                      uz_compositor** compositor);
/* Set the ranks that have data, front to back; the default is all ranks by number. The list must be
 * the same on all ranks, including those that are not in it. Where it differs, the functions fail
 * on all ranks, and the compositor can only be destroyed. */
UZ_API uz_status uz_compositor_set_order(uz_compositor* compositor, const int* front_to_back,
                                         int count);
/* Return memory for the next image, which is then not copied. It may be written only until
 * uz_compositor_submit: other ranks may read it even after uz_compositor_finish. */
UZ_API uz_status uz_compositor_canvas(uz_compositor* compositor, void** image);
/* Begin a picture. `image` null: the canvas; else it must not change until uz_compositor_finish has
 * returned the picture. `bounds` null: the whole image; pixels outside are background. */
UZ_API uz_status uz_compositor_submit(uz_compositor* compositor, const void* image,
                                      const uz_rectangle* bounds);
/* Wait for the oldest picture in flight. */
UZ_API uz_status uz_compositor_finish(uz_compositor* compositor, uz_picture* picture);
/* Advance the pictures in flight without waiting. */
UZ_API uz_status uz_compositor_progress(uz_compositor* compositor);
/* Return the index in the image, row by row, of the pixel at a position of a tile. */
UZ_API size_t uz_compositor_pixel(const uz_compositor* compositor, size_t position);
/* Finish the pictures in flight and free the compositor (collective, unless one of its functions
 * has failed because of other ranks). The handle becomes null; it may be null already. */
UZ_API uz_status uz_compositor_destroy(uz_compositor** compositor);

#ifdef __cplusplus
}
#endif

#endif
