/* The C side of mpi_from_c.f90. Communicators are Fortran handles (MPI_Fint). */
#include <mpi.h>

MPI_Fint from_c_comm_world;

void from_c_init_thread(const int* required, int* provided, int* ierr) {
    (void)required;
    *ierr = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, provided);
    from_c_comm_world = MPI_Comm_c2f(MPI_COMM_WORLD);
}

void from_c_comm_split(const MPI_Fint* comm, const int* colour, const int* key, MPI_Fint* part,
                       int* ierr) {
    MPI_Comm made;
    *ierr = MPI_Comm_split(MPI_Comm_f2c(*comm), *colour, *key, &made);
    *part = MPI_Comm_c2f(made);
}

void from_c_appnum(const MPI_Fint* comm, const int* key, int* number, int* found, int* ierr) {
    int* value;
    (void)key;
    *ierr = MPI_Comm_get_attr(MPI_Comm_f2c(*comm), MPI_APPNUM, &value, found);
    *number = *found ? *value : 0;
}

void from_c_finalize(int* ierr) { *ierr = MPI_Finalize(); }

void from_c_comm_rank(const MPI_Fint* comm, int* rank, int* ierr) {
    *ierr = MPI_Comm_rank(MPI_Comm_f2c(*comm), rank);
}

void from_c_comm_size(const MPI_Fint* comm, int* size, int* ierr) {
    *ierr = MPI_Comm_size(MPI_Comm_f2c(*comm), size);
}

void from_c_sendrecv(const double* sent, const int* send_count, const int* send_type, const int* to,
                     const int* send_tag, double* received, const int* receive_count,
                     const int* receive_type, const int* from, const int* receive_tag,
                     const MPI_Fint* comm, const int* status, int* ierr) {
    (void)send_type;
    (void)receive_type;
    (void)status;
    *ierr = MPI_Sendrecv(sent, *send_count, MPI_DOUBLE, *to, *send_tag, received, *receive_count,
                         MPI_DOUBLE, *from, *receive_tag, MPI_Comm_f2c(*comm), MPI_STATUS_IGNORE);
}

void from_c_allreduce(const double* mine, double* all, const int* count, const int* type,
                      const int* operation, const MPI_Fint* comm, int* ierr) {
    (void)type;
    *ierr = MPI_Allreduce(mine, all, *count, MPI_DOUBLE, *operation == 1 ? MPI_SUM : MPI_MAX,
                          MPI_Comm_f2c(*comm));
}
