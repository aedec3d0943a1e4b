!> Reader of the dye of advection.f90, on any number of ranks: each reads its planes of every step. The mean is 1 at all
!! times; the program fails otherwise.
!!
!!     mpiexec -n 2 ./look [contact]
!!
!! contact: advection.contact by default; a folder of stored steps (advection.zarr), or mpi:advection in one launch with
!! the solver.
program look
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use mpi
    use uzushio
    implicit none

    integer :: rank, ranks, comm, threads, ierr, step, first, planes
    integer(MPI_ADDRESS_KIND) :: number
    integer(int64) :: missing
    logical :: given, good
    real(real64) :: time, local, mean
    real(real64), allocatable, target :: q(:, :, :)
    integer, allocatable :: n(:)
    character(:), allocatable :: units
    character(200) :: contact
    type(uz_reader) :: reader

    call MPI_Init_thread(MPI_THREAD_MULTIPLE, threads, ierr)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, number, given, ierr)
    call MPI_Comm_split(MPI_COMM_WORLD, merge(int(number), 0, given), 0, comm, ierr)
    call MPI_Comm_rank(comm, rank, ierr)
    call MPI_Comm_size(comm, ranks, ierr)
    contact = "advection.contact"
    if (command_argument_count() > 0) call get_command_argument(1, contact)

    good = .true.
    call reader%attach(trim(contact), comm)
    do while (reader%next())
        call reader%step(index=step, time=time)
        call reader%field("q", count=n, units=units)
        first = n(3) * rank / ranks + 1
        planes = n(3) * (rank + 1) / ranks - first + 1
        allocate (q(n(1), n(2), planes))
        call reader%read("q", q, start=[1, 1, first], missing=missing)
        call reader%release() ! the solver may reuse its memory now
        local = sum(q)
        deallocate (q)
        call MPI_Allreduce(local, mean, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
        mean = mean / product(real(n, real64))
        good = good .and. missing == 0 .and. abs(mean - 1) < 1d-11
        if (rank == 0) print '(a, i0, a, f0.4, a, f0.12, 1x, a)', "look: step ", step, ", t = ", time, ": mean ", mean, units
    end do
    call reader%detach()
    if (rank == 0) print '(2a)', "look: ", trim(merge("correct", "WRONG  ", good))
    call MPI_Finalize(ierr)
    if (.not. good) error stop "look: WRONG"
end program look
