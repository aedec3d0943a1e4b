/*
 * Heat conduction in a doubly periodic plate, on any number of ranks; instrumented for Uzushio.
 *
 *     dT/dt = kappa (d2T/dx2 + d2T/dy2),  0 <= x, y < 1
 *
 * Finite volumes, forward Euler. The initial mode is an eigenvector of the scheme, so that its
 * exact solution is known: T = 1 + g^n sin(2 pi x) sin(2 pi y) after n steps. The program fails
 * unless it reproduces that and conserves heat.
 *
 *     mpiexec -n 2 ./heat [nx ny steps every]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <uzushio/uzushio.h>

/* One rank's part of the plate, with a layer of ghost cells on all sides. */
typedef struct Part {
    MPI_Comm comm;
    int rank, below, above, left, right;
    int ny, nx;       /* own cells */
    int j0, i0;       /* global index of the first one */
    double *T, *next; /* (ny + 2) * (nx + 2) */
} Part;

static size_t at(const Part* p, int j, int i) {
    return (size_t)(j + 1) * (size_t)(p->nx + 2) + (size_t)(i + 1);
}

static void share(int n, int parts, int part, int* first, int* count) {
    *first = (int)((long long)n * part / parts);
    *count = (int)((long long)n * (part + 1) / parts) - *first;
}

/* Return the communicator of the ranks that run this program of the launch. */
static MPI_Comm program(void) {
    int *number, given;
    MPI_Comm ranks;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &given);
    MPI_Comm_split(MPI_COMM_WORLD, given ? *number : 0, 0, &ranks);
    return ranks;
}

static Part divide(MPI_Comm comm, int ny, int nx) {
    Part p;
    int ranks, dims[2] = {0, 0}, periodic[2] = {1, 1}, coords[2];
    MPI_Comm_size(comm, &ranks);
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(comm, 2, dims, periodic, 1, &p.comm);
    MPI_Comm_rank(p.comm, &p.rank);
    MPI_Cart_coords(p.comm, p.rank, 2, coords);
    MPI_Cart_shift(p.comm, 0, 1, &p.below, &p.above);
    MPI_Cart_shift(p.comm, 1, 1, &p.left, &p.right);
    share(ny, dims[0], coords[0], &p.j0, &p.ny);
    share(nx, dims[1], coords[1], &p.i0, &p.nx);
    p.T = calloc((size_t)(p.ny + 2) * (size_t)(p.nx + 2), sizeof(double));
    p.next = calloc((size_t)(p.ny + 2) * (size_t)(p.nx + 2), sizeof(double));
    if (p.T == NULL || p.next == NULL || p.ny < 1 || p.nx < 1) {
        fprintf(stderr, "heat: too little memory, or more ranks than cells\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return p;
}

/* Exchange rows first, then columns including the ghosts of the rows, which gives the corners. */
static void exchange_halo(Part* p) {
    MPI_Datatype column;
    MPI_Type_vector(p->ny + 2, 1, p->nx + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    double* T = p->T;
    MPI_Sendrecv(&T[at(p, p->ny - 1, 0)], p->nx, MPI_DOUBLE, p->above, 0, &T[at(p, -1, 0)], p->nx,
                 MPI_DOUBLE, p->below, 0, p->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&T[at(p, 0, 0)], p->nx, MPI_DOUBLE, p->below, 1, &T[at(p, p->ny, 0)], p->nx,
                 MPI_DOUBLE, p->above, 1, p->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&T[at(p, -1, p->nx - 1)], 1, column, p->right, 2, &T[at(p, -1, -1)], 1, column,
                 p->left, 2, p->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&T[at(p, -1, 0)], 1, column, p->left, 3, &T[at(p, -1, p->nx)], 1, column, p->right,
                 3, p->comm, MPI_STATUS_IGNORE);
    MPI_Type_free(&column);
}

/* Advance one step; cy, cx: kappa dt / h^2. */
static void advance(Part* p, double cy, double cx) {
    const double* T = p->T;
    exchange_halo(p);
    for (int j = 0; j < p->ny; ++j)
        for (int i = 0; i < p->nx; ++i)
            p->next[at(p, j, i)] =
                T[at(p, j, i)] +
                cy * (T[at(p, j + 1, i)] - 2 * T[at(p, j, i)] + T[at(p, j - 1, i)]) +
                cx * (T[at(p, j, i + 1)] - 2 * T[at(p, j, i)] + T[at(p, j, i - 1)]);
    double* was = p->T;
    p->T = p->next;
    p->next = was;
}

static double mode(const Part* p, int j, int i, int ny, int nx) {
    const double pi = acos(-1.0);
    return sin(2 * pi * (p->j0 + j + 0.5) / ny) * sin(2 * pi * (p->i0 + i + 0.5) / nx);
}

/* Print Uzushio's message and stop on an error. */
static void must(uz_status status) {
    if (status != UZ_OK) {
        fprintf(stderr, "heat: %s\n", uz_error_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char** argv) {
    int threads; /* required by the engine mpi only */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
    MPI_Comm comm = program();
    const int nx = argc > 1 ? atoi(argv[1]) : 256, ny = argc > 2 ? atoi(argv[2]) : 192;
    const int steps = argc > 3 ? atoi(argv[3]) : 2000, every = argc > 4 ? atoi(argv[4]) : 20;
    Part p = divide(comm, ny, nx);

    const double pi = acos(-1.0), kappa = 1e-3, hx = 1.0 / nx, hy = 1.0 / ny;
    const double dt = 0.2 * fmin(hx, hy) * fmin(hx, hy) / kappa;
    const double cx = kappa * dt / (hx * hx), cy = kappa * dt / (hy * hy);
    const double g = 1 - 4 * cy * pow(sin(pi / ny), 2) - 4 * cx * pow(sin(pi / nx), 2);
    for (int j = 0; j < p.ny; ++j)
        for (int i = 0; i < p.nx; ++i)
            p.T[at(&p, j, i)] = 1 + mode(&p, j, i, ny, nx);

    /* ---- Uzushio: description. Axes are z, y, x. ---- */
    uz_writer* writer;
    const uz_box plate = {{0, 0, 0}, {1, ny, nx}}, mine = {{0, p.j0, p.i0}, {1, p.ny, p.nx}};
    const double origin[3] = {0, 0, 0}, spacing[3] = {1, hy, hx};
    const uz_ghosts ghosts = {{0, 1, 1}, {0, 1, 1}};
    must(uz_open("heat", p.comm, "staging.yaml", &writer));
    must(uz_attribute_double(writer, "kappa", kappa));
    must(uz_attribute_text(writer, "periodic", "x y"));
    must(uz_uniform_mesh(writer, "plate", 2, plate, origin, spacing));
    must(uz_field(writer, "T", "plate", UZ_ELEMENT, UZ_FLOAT64, 1, "K"));
    must(uz_block(writer, (uint64_t)p.rank, "plate", mine, UZ_ELEMENT));

    for (int n = 0;; ++n) {
        if (n % every == 0) {
            exchange_halo(&p); /* so that readers get ghosts of this step */
            /* ---- Uzushio: a step. ---- */
            must(uz_begin_step(writer, n, n * dt));
            must(uz_put(writer, "T", (uint64_t)p.rank, p.T, &ghosts));
            must(uz_end_step(writer, NULL));
        }
        if (n == steps)
            break;
        advance(&p, cy, cx);
    }
    must(uz_close(&writer));

    double local[2] = {0, 0}, error, heat;
    for (int j = 0; j < p.ny; ++j)
        for (int i = 0; i < p.nx; ++i) {
            const double exact = 1 + pow(g, steps) * mode(&p, j, i, ny, nx);
            local[0] = fmax(local[0], fabs(p.T[at(&p, j, i)] - exact));
            local[1] += p.T[at(&p, j, i)] * hx * hy;
        }
    MPI_Allreduce(&local[0], &error, 1, MPI_DOUBLE, MPI_MAX, p.comm);
    MPI_Allreduce(&local[1], &heat, 1, MPI_DOUBLE, MPI_SUM, p.comm);
    const int good = error < 1e-11 && fabs(heat - 1) < 1e-11;
    if (p.rank == 0)
        printf("heat: %s; maximum error %.1e, heat gained %.1e\n", good ? "correct" : "WRONG",
               error, heat - 1);
    free(p.T);
    free(p.next);
    MPI_Comm_free(&p.comm);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return good ? 0 : 1;
}
