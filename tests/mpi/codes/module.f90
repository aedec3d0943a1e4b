!> What the module `uzushio` puts, for test_instrument.py: the value of a global index (i, j, k), counted from 0, is
!! i + 10 j + 100 k, and component c adds 1000 c; arrays are filled with -1 outside of what is put.
program module_test
    use, intrinsic :: iso_fortran_env, only: int8, int32, int64, real32, real64
    use uzushio
    implicit none

    integer, parameter :: nx = 6, ny = 4, nz = 3, is = 3, js = 2, ks = 1 ! the block's first indices
    integer, parameter :: ni = 4, nj = 3, nk = 2
    real(real64), target :: wide(0:nx + 1, 0:ny + 1, 0:nz + 1), first(3, ni, nj, nk), last(ni, nj, nk, 3)
    real(real32), target :: plane(2 * ni, nj, nk)
    real(real64), pointer :: scalar(:, :, :), vector(:, :, :, :)
    integer(int32), target :: row(2 * nx)
    integer(int64), target :: flat(nx, ny), pair(2, nx, ny)
    integer(int8), target :: mask(ni + 2, nj, nk + 1)
    real(real64), target :: xyz(nx + 1, ny + 1, 3)
    type(uz_writer) :: w
    type(uz_counters) :: counters
    integer(int64) :: sequence
    integer :: stat, i, j, k, c
    character(200) :: message

    call w%open("module", file="nowhere.yaml", stat=stat, errmsg=message)
    call check(stat == uz_error_staging .and. index(message, "nowhere.yaml") > 0, "a file that is not there")
    call w%begin_step(1, 0d0, stat=stat, errmsg=message)
    call check(stat == uz_error_argument .and. index(message, "is not open") > 0, "a writer that is not open")

    call w%open("module", file="staging.yaml")
    call w%open("module", file="staging.yaml", stat=stat)
    call check(stat == uz_error_argument, "one that is open already")
    call w%attribute("Re", 180)
    call w%attribute("nu", 0.5d0)
    call w%attribute("title", "all kinds ")
    call w%uniform_mesh("box", count=[nx, ny, nz], origin=[1d0, 2d0, 3d0], spacing=[0.1d0, 0.2d0, 0.3d0])
    call w%rectilinear_mesh("line", x=[0d0, 1d0, 3d0, 7d0, 15d0, 31d0, 63d0])
    call w%curvilinear_mesh("sheet", count=[nx, ny], coordinates="xyz")
    call w%field("wide", "box", uz_element, uz_float64, units="m/s")
    call w%field("first", "box", uz_element, uz_float64, components=3)
    call w%field("last", "box", uz_element, uz_float64, components=3)
    call w%field("plane", "box", uz_element, uz_float32)
    call w%field("mask", "box", uz_element, uz_uint8)
    call w%field("scalar", "box", uz_element, uz_float64)
    call w%field("vector", "box", uz_element, uz_float64, components=3)
    call w%field("row", "line", uz_element, uz_int32)
    call w%field("flat", "sheet", uz_element, uz_int64)
    call w%field("pair", "sheet", uz_element, uz_int64, components=2)
    call w%block(1, "box", start=[is, js, ks], count=[ni, nj, nk])
    call w%block(2, "line", start=[1], count=[nx])
    call w%block(3, "sheet", start=[1, 1], count=[nx, ny])

    call w%field("more", "elsewhere", uz_element, uz_float64, stat=stat, errmsg=message)
    call check(stat == uz_error_staging .and. index(message, "elsewhere") > 0, "a mesh that is not there")
    call w%block(4, "box", start=[1, 1], count=[nx, ny, nz], stat=stat)
    call check(stat == uz_error_argument, "start and count of unequal size")
    call w%block(5, "box", start=[is, js, ks], count=[nx, nj, nk], stat=stat, errmsg=message)
    call check(stat == uz_error_staging .and. index(message, "(3:8, 2:4, 1:2)") > 0 .and. &
        index(message, "(1:6, 1:4, 1:3)") > 0, "a block that reaches out of its mesh")
    call w%put("wide", 1, wide, stat=stat, errmsg=message)
    call check(stat == uz_error_staging .and. index(message, "begin_step") > 0, "a put outside of a step")

    call w%begin_step(7, 0.25d0)

    ! With ghost layers: a section of an array that is larger on all sides.
    wide = -1
    do k = ks - 1, ks + nk
        do j = js, js + nj - 1
            do i = is - 2, is + ni
                wide(i, j, k) = number(i, j, k)
            end do
        end do
    end do
    call w%put("wide", 1, wide(is - 2:is + ni, js:js + nj - 1, ks - 1:ks + nk), ghosts_lower=[2, 0, 1], ghosts_upper=[1, 0, 1])

    plane = -1
    mask = -1
    do k = 1, nk
        do j = 1, nj
            do i = 1, ni
                plane(2 * i - 1, j, k) = real(number(i + is - 1, j + js - 1, k + ks - 1), real32)
                mask(i + 1, j, k) = int(mod(number(i + is - 1, j + js - 1, k + ks - 1), 256d0) - &
                    merge(256, 0, mod(number(i + is - 1, j + js - 1, k + ks - 1), 256d0) > 127), int8)
                do c = 1, 3
                    first(c, i, j, k) = number(i + is - 1, j + js - 1, k + ks - 1) + 1000 * (c - 1)
                    last(i, j, k, c) = first(c, i, j, k)
                end do
            end do
        end do
    end do
    call w%put("plane", 1, plane(1::2, :, :)) ! every second value
    call w%put("mask", 1, mask(2:ni + 1, :, 1:nk))
    call w%put("first", 1, first, component_axis=1)
    call w%put("last", 1, last)

    row = -1
    row(2::2) = [(i, i=0, nx - 1)]
    call w%put("row", 2, row(2::2))
    do j = 1, ny
        do i = 1, nx
            flat(i, j) = int(number(i, j, 1), int64)
            pair(:, i, j) = flat(i, j) + [0_int64, 1000_int64]
        end do
    end do
    call w%put("flat", 3, flat)
    call w%put("pair", 3, pair, component_axis=1)
    do j = 1, ny + 1
        do i = 1, nx + 1
            xyz(i, j, :) = [i - 1d0, 2 * (j - 1d0), 0.5d0]
        end do
    end do
    call w%put("xyz", 3, xyz, component_axis=3)

    call w%buffer("scalar", 1, scalar)
    call check(all(shape(scalar) == [ni, nj, nk]), "the shape of a buffer")
    scalar = last(:, :, :, 1)
    call w%buffer("vector", 1, vector, ghosts_lower=[1, 0, 0])
    call check(all(shape(vector) == [3, ni + 1, nj, nk]), "the shape of a buffer with ghosts and components")
    vector = -1
    vector(:, 2:, :, :) = first

    call w%put("last", 1, first, stat=stat, errmsg=message)
    call check(stat == uz_error_argument .and. index(message, "components") > 0, "the wrong axis of components")
    call w%put("wide", 1, plane, stat=stat, errmsg=message)
    call check(stat == uz_error_argument .and. index(message, "float32") > 0, "values of another kind")
    call w%put("row", 2, row(2 * nx:2:-2), stat=stat, errmsg=message)
    call check(stat == uz_error_argument .and. index(message, "backwards") > 0, "an array that runs backwards")

    call w%end_step(sequence)
    call check(sequence == 0, "the first sequence number")
    call w%counters(counters)
    call check(counters%published == 1, "the number of steps")
    ! The reader holds the first step, which is all that the queue has room for; without arguments there is one.
    call w%begin_step(8, 0.5d0)
    call w%put("wide", 1, wide(is:is + ni - 1, js:js + nj - 1, ks:ks + nk - 1))
    call w%end_step(sequence)
    call check(sequence == merge(1, -1, command_argument_count() > 0), "the number of a step that was dropped")
    call w%close()
    call w%close()
    if (command_argument_count() > 0) call w%remove_block(1) ! without stat: stops, and says why
    print '(a)', "correct"

contains

    !> Of an index as Fortran counts them.
    real(real64) function number(i, j, k)
        integer, intent(in) :: i, j, k
        number = (i - 1) + 10 * (j - 1) + 100 * (k - 1)
    end function number

    subroutine check(holds, what)
        logical, intent(in) :: holds
        character(*), intent(in) :: what
        if (holds) return
        print '(3a, i0, 2a)', "WRONG: ", what, ": ", stat, " ", trim(message)
        error stop 3
    end subroutine check
end program module_test
