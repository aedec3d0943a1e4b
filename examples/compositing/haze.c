/*
 * Slabs of haze, each with a ball in it, one behind the other. Each rank draws its own slab; the
 * images of all ranks are composited to one picture. Any number of ranks.
 *
 * The picture is made twice, seen from the front and from behind. The root compares it with the
 * slabs composited in double precision, and fails unless every channel is within 2 of 255.
 *
 *     mpiexec -n 4 ./haze
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <uzushio/compositing.h>

enum { WIDTH = 320, HEIGHT = 240, VIEWS = 2 };

/* Compute the colour of a rank's slab at a pixel, premultiplied by opacity, both in [0, 1]. */
static void colour(int rank, int ranks, int x, int y, double rgba[4]) {
    const double angle = 6.283185307179586 * rank / ranks;
    const double dx = (x - WIDTH * (0.5 + 0.25 * cos(angle))) / HEIGHT;
    const double dy = (y - HEIGHT * (0.5 + 0.25 * sin(angle))) / HEIGHT;
    const double opacity = dx * dx + dy * dy < 0.04 ? 0.7 : 0.4 / ranks;
    for (int c = 0; c < 3; ++c)
        rgba[c] = opacity * (0.5 + 0.5 * cos(angle + 2.0943951023931953 * c));
    rgba[3] = opacity;
}

static unsigned char byte(double value) { return (unsigned char)(255 * value + 0.5); }

static void draw(unsigned char* image, int rank, int ranks) {
    for (int y = 0; y < HEIGHT; ++y)
        for (int x = 0; x < WIDTH; ++x) {
            double rgba[4];
            colour(rank, ranks, x, y, rgba);
            for (int c = 0; c < 4; ++c)
                *image++ = byte(rgba[c]);
        }
}

/* Return the maximum difference from the exact picture, of 255. */
static double error(const unsigned char* picture, const int* order, int ranks) {
    double max_error = 0;
    for (int y = 0; y < HEIGHT; ++y)
        for (int x = 0; x < WIDTH; ++x) {
            double sum[4] = {0, 0, 0, 0};
            for (int i = 0; i < ranks; ++i) {
                double rgba[4];
                colour(order[i], ranks, x, y, rgba);
                const double clear = 1 - sum[3];
                for (int c = 0; c < 4; ++c)
                    sum[c] += clear * rgba[c];
            }
            for (int c = 0; c < 4; ++c)
                max_error = fmax(max_error, fabs(255 * sum[c] - *picture++));
        }
    return max_error;
}

static void save(const unsigned char* picture, int view) {
    char name[32];
    snprintf(name, sizeof name, "haze%d.ppm", view);
    FILE* file = fopen(name, "wb");
    if (file == NULL) {
        perror(name);
        return;
    }
    fprintf(file, "P6 %d %d 255\n", WIDTH, HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; ++i)
        fwrite(picture + 4 * i, 1, 3, file);
    fclose(file);
}

static void check(uz_status status) {
    if (status == UZ_OK)
        return;
    fprintf(stderr, "haze: %s\n", uz_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks, failed = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    uz_compositor_options options;
    uz_compositor_defaults(&options);
    options.width = WIDTH;
    options.height = HEIGHT;
    uz_compositor* compositor;
    check(uz_compositor_create(MPI_COMM_WORLD, &options, &compositor));

    int* order = malloc((size_t)ranks * sizeof *order);
    for (int view = 0; view < VIEWS; ++view) {
        for (int i = 0; i < ranks; ++i)
            order[i] = view == 0 ? i : ranks - 1 - i;
        check(uz_compositor_set_order(compositor, order, ranks));
        void* image;
        check(uz_compositor_canvas(compositor, &image));
        draw(image, rank, ranks);
        check(uz_compositor_submit(compositor, NULL, NULL));
        uz_picture picture;
        check(uz_compositor_finish(compositor, &picture));
        if (picture.count == 0)
            continue; /* the picture is at the root */
        const double max_error = error(picture.pixels, order, ranks);
        printf("view %d: %d ranks, maximum error %.2f of 255\n", view, ranks, max_error);
        failed = failed || max_error > 2;
        save(picture.pixels, view);
    }
    free(order);
    check(uz_compositor_destroy(&compositor));
    MPI_Finalize();
    return failed;
}
