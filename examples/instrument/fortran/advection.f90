!> Advection of a dye by a constant wind through a periodic box, on any number of ranks; instrumented for Uzushio.
!!
!!     dq/dt + u dq/dx + v dq/dy + w dq/dz = 0,  0 <= x, y, z < 1,  u, v, w > 0
!!
!! Finite volumes, donor-cell scheme, slabs along z. A wave is an eigenvector of the scheme, so that the exact solution is
!! known: q = 1 + Re(g**n exp(i k x)) / 2 after n steps. The program fails unless it reproduces that and conserves the dye.
!!
!!     mpiexec -n 2 ./advection [nx ny nz steps every]
!!
!! MPI: `use mpi` is the module of the site's MPI if it was built with one for this compiler. Open MPI of the Python
!! packages has none: CMakeLists.txt then uses mpi_from_c.f90, which has the few routines needed here.
program advection
    use, intrinsic :: iso_fortran_env, only: real32, real64
    use mpi
    use uzushio
    implicit none

    real(real64), parameter :: pi = acos(-1d0), wind(3) = [1d0, 0.7d0, 0.4d0]
    integer :: n(3), steps, every, rank, ranks, first, nz, step, axis, comm, threads, ierr
    integer(MPI_ADDRESS_KIND) :: number
    logical :: given
    real(real64) :: h(3), dt, c(3), theta(3), local(2), error, dye
    complex(real64) :: g
    !> Values with a layer of ghost cells upwind: index 0 of each axis.
    real(real64), allocatable, target :: q(:, :, :)
    real(real32), allocatable, target :: flux(:, :, :, :)
    type(uz_writer) :: writer

    call MPI_Init_thread(MPI_THREAD_MULTIPLE, threads, ierr) ! required by the engine mpi only
    ! Communicator of the ranks that run this program of the launch.
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, number, given, ierr)
    call MPI_Comm_split(MPI_COMM_WORLD, merge(int(number), 0, given), 0, comm, ierr)
    call MPI_Comm_rank(comm, rank, ierr)
    call MPI_Comm_size(comm, ranks, ierr)
    n = [argument(1, 64), argument(2, 48), argument(3, 40)]
    steps = argument(4, 1000)
    every = argument(5, 20)

    first = n(3) * rank / ranks + 1
    nz = n(3) * (rank + 1) / ranks - first + 1
    allocate (q(0:n(1), 0:n(2), 0:nz), flux(n(1), n(2), nz, 3))
    h = 1d0 / n
    dt = 0.8d0 / sum(wind / h)
    c = wind * dt / h
    theta = 2 * pi / n
    g = 1 - sum(c * (1 - exp(cmplx(0d0, -theta, real64))))
    q(1:, 1:, 1:) = exact((1d0, 0d0))

    ! ---- Uzushio: description. Axes are x, y, z, indices count from 1. ----
    call writer%open("advection", comm, "staging.yaml")
    call writer%attribute("scheme", "donor cell")
    call writer%attribute("periodic", "x y z")
    call writer%uniform_mesh("box", count=n, origin=[0d0, 0d0, 0d0], spacing=h)
    call writer%field("q", "box", uz_element, uz_float64, units="kg/m3")
    call writer%field("flux", "box", uz_element, uz_float32, components=3)
    call writer%block(rank, "box", start=[1, 1, first], count=[n(1), n(2), nz])

    do step = 0, steps
        if (mod(step, every) == 0) then
            do axis = 1, 3
                flux(:, :, :, axis) = real(wind(axis) * q(1:, 1:, 1:), real32)
            end do
            ! ---- Uzushio: a step. The section of q is published without a copy. ----
            call writer%begin_step(step, step * dt)
            call writer%put("q", rank, q(1:, 1:, 1:))
            call writer%put("flux", rank, flux)
            call writer%end_step()
        end if
        if (step < steps) call advance()
    end do
    call writer%close()

    local = [maxval(abs(q(1:, 1:, 1:) - exact(g**steps))), (sum(q(1:, 1:, 1:)) - size(flux) / 3) * product(h)]
    call MPI_Allreduce(local(1), error, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm, ierr)
    call MPI_Allreduce(local(2), dye, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
    if (rank == 0) print '(a, es8.1, a, es9.1)', "advection: maximum error ", error, ", dye gained ", dye
    call MPI_Finalize(ierr)
    if (error > 1d-11 .or. abs(dye) > 1d-11) error stop "advection: WRONG"

contains

    subroutine advance()
        integer :: i, j, k, below, above

        q(0, :, :) = q(n(1), :, :)
        q(:, 0, :) = q(:, n(2), :)
        below = modulo(rank - 1, ranks)
        above = modulo(rank + 1, ranks)
        call MPI_Sendrecv(q(:, :, nz), size(q(:, :, 0)), MPI_DOUBLE_PRECISION, above, 0, &
                          q(:, :, 0), size(q(:, :, 0)), MPI_DOUBLE_PRECISION, below, 0, &
                          comm, MPI_STATUS_IGNORE, ierr)
        ! In descending order, against the wind, so that no old value is overwritten before its last use.
        do k = nz, 1, -1
            do j = n(2), 1, -1
                do i = n(1), 1, -1
                    q(i, j, k) = q(i, j, k) - c(1) * (q(i, j, k) - q(i - 1, j, k)) &
                                 - c(2) * (q(i, j, k) - q(i, j - 1, k)) &
                                 - c(3) * (q(i, j, k) - q(i, j, k - 1))
                end do
            end do
        end do
    end subroutine advance

    !> Return the exact solution of this rank's part; `factor` is g**n after n steps.
    function exact(factor) result(wave)
        complex(real64), intent(in) :: factor
        real(real64), allocatable :: wave(:, :, :)
        integer :: i, j, k
        real(real64) :: phase

        allocate (wave(n(1), n(2), nz))
        do k = 1, nz
            do j = 1, n(2)
                do i = 1, n(1)
                    phase = sum(theta * ([i, j, first + k - 1] - 0.5d0))
                    wave(i, j, k) = 1 + real(factor * exp(cmplx(0d0, phase, real64))) / 2
                end do
            end do
        end do
    end function exact

    integer function argument(position, otherwise)
        integer, intent(in) :: position, otherwise
        character(20) :: text

        argument = otherwise
        if (command_argument_count() < position) return
        call get_command_argument(position, text)
        read (text, *) argument
    end function argument
end program advection
