/*
 * Reader of the plate of heat.c, on any number of ranks: each reads its rows of every step. The
 * mean temperature is 1 at all times; the program fails otherwise.
 *
 *     mpiexec -n 2 ./look [contact]
 *
 * contact: heat.contact by default; a folder of stored steps (heat.zarr), or mpi:heat in one launch
 * with the solver.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <uzushio/uzushio.h>

/* Print Uzushio's message and stop on an error. */
static void must(uz_status status) {
    if (status != UZ_OK) {
        fprintf(stderr, "look: %s\n", uz_error_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char** argv) {
    int threads, given, *number, rank, ranks, state, good = 1;
    MPI_Comm comm; /* the ranks that run this program of the launch */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &given);
    MPI_Comm_split(MPI_COMM_WORLD, given ? *number : 0, 0, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);

    uz_reader* reader;
    must(uz_attach(argc > 1 ? argv[1] : "heat.contact", comm, 60, &reader));
    for (;;) {
        must(uz_next(reader, 60, &state));
        if (state != UZ_STEP)
            break;
        int64_t step, missing;
        double time, local = 0, mean;
        uz_field_info T;
        must(uz_get_step(reader, &step, &time, NULL));
        must(uz_get_field(reader, "T", &T));
        const int64_t ny = T.box.count[1], nx = T.box.count[2];
        const int64_t first = ny * rank / ranks, rows = ny * (rank + 1) / ranks - first;
        const uz_box mine = {{0, first, 0}, {1, rows, nx}};
        double* values = malloc(sizeof(double) * (size_t)(rows * nx + 1));
        must(uz_read(reader, "T", mine, values, &missing));
        must(uz_release(reader)); /* the solver may reuse its memory now */
        for (int64_t i = 0; i < rows * nx; ++i)
            local += values[i];
        free(values);
        MPI_Allreduce(&local, &mean, 1, MPI_DOUBLE, MPI_SUM, comm);
        mean /= (double)(ny * nx);
        good = good && missing == 0 && fabs(mean - 1) < 1e-11;
        if (rank == 0)
            printf("look: step %lld, t = %.4f s: mean %.12f %s\n", (long long)step, time, mean,
                   T.units);
    }
    must(uz_detach(&reader));
    if (rank == 0)
        printf("look: %s\n", good ? "correct" : "WRONG");
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return good ? 0 : 1;
}
