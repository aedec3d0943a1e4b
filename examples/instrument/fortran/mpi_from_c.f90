!> The routines of `use mpi` that advection.f90 calls, from the C interface of MPI (mpi_from_c.c): for an MPI that was
!! built without Fortran. Only reals of double precision are sent. Not a replacement for the real module.
module mpi
    use, intrinsic :: iso_c_binding, only: c_double, c_int, c_intptr_t
    implicit none
    public

    integer, parameter :: MPI_DOUBLE_PRECISION = 1, MPI_SUM = 1, MPI_MAX = 2, MPI_STATUS_IGNORE = 0
    integer, parameter :: MPI_THREAD_MULTIPLE = 3, MPI_APPNUM = 1, MPI_ADDRESS_KIND = c_intptr_t
    !> Set by MPI_Init_thread.
    integer(c_int), bind(c, name="from_c_comm_world") :: MPI_COMM_WORLD

    interface
        !> Initialise MPI with MPI_THREAD_MULTIPLE; `required` is ignored.
        subroutine MPI_Init_thread(required, provided, ierr) bind(c, name="from_c_init_thread")
            import
            integer(c_int), intent(in) :: required
            integer(c_int), intent(out) :: provided, ierr
        end subroutine MPI_Init_thread

        subroutine MPI_Comm_split(comm, colour, key, part, ierr) bind(c, name="from_c_comm_split")
            import
            integer(c_int), intent(in) :: comm, colour, key
            integer(c_int), intent(out) :: part, ierr
        end subroutine MPI_Comm_split

        subroutine MPI_Finalize(ierr) bind(c, name="from_c_finalize")
            import
            integer(c_int), intent(out) :: ierr
        end subroutine MPI_Finalize

        subroutine MPI_Comm_rank(comm, rank, ierr) bind(c, name="from_c_comm_rank")
            import
            integer(c_int), intent(in) :: comm
            integer(c_int), intent(out) :: rank, ierr
        end subroutine MPI_Comm_rank

        subroutine MPI_Comm_size(comm, size, ierr) bind(c, name="from_c_comm_size")
            import
            integer(c_int), intent(in) :: comm
            integer(c_int), intent(out) :: size, ierr
        end subroutine MPI_Comm_size

        subroutine MPI_Sendrecv(sent, send_count, send_type, to, send_tag, received, receive_count, receive_type, from, &
                                receive_tag, comm, status, ierr) bind(c, name="from_c_sendrecv")
            import
            real(c_double), intent(in) :: sent(*)
            real(c_double), intent(inout) :: received(*)
            integer(c_int), intent(in) :: send_count, send_type, to, send_tag, receive_count, receive_type, from
            integer(c_int), intent(in) :: receive_tag, comm, status
            integer(c_int), intent(out) :: ierr
        end subroutine MPI_Sendrecv

        subroutine MPI_Allreduce(mine, all, count, type, operation, comm, ierr) bind(c, name="from_c_allreduce")
            import
            real(c_double), intent(in) :: mine
            real(c_double), intent(inout) :: all
            integer(c_int), intent(in) :: count, type, operation, comm
            integer(c_int), intent(out) :: ierr
        end subroutine MPI_Allreduce
    end interface

contains

    !> Supports MPI_APPNUM only.
    subroutine MPI_Comm_get_attr(comm, key, value, given, ierr)
        integer, intent(in) :: comm, key
        integer(MPI_ADDRESS_KIND), intent(out) :: value
        logical, intent(out) :: given
        integer, intent(out) :: ierr
        interface
            subroutine appnum(comm, key, number, found, ierr) bind(c, name="from_c_appnum")
                import
                integer(c_int), intent(in) :: comm, key
                integer(c_int), intent(out) :: number, found, ierr
            end subroutine appnum
        end interface
        integer(c_int) :: number, found

        call appnum(comm, key, number, found, ierr)
        value = number
        given = found /= 0
    end subroutine MPI_Comm_get_attr
end module mpi
