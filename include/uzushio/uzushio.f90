!> Uzushio's staging for Fortran 2008: publish the steps of a running solver to any number of readers.
!!
!! Compile this file with your own compiler, since module files are specific to it, and link libuzushio:
!!
!!     mpifort $(uzushio config --fortran-source) solver.f90 $(uzushio config --libs)
!!
!!     type(uz_writer) :: w
!!     call w%open("flow", comm, "staging.yaml")
!!     call w%uniform_mesh("box", count=[nx, ny, nz], origin=[0d0, 0d0, 0d0], spacing=[h, h, h])
!!     call w%field("q", "box", uz_element, uz_float64, units="kg/m3")
!!     call w%block(rank, "box", start=[is, js, ks], count=[ni, nj, nk])
!!     do ...
!!         call w%begin_step(step, time)
!!         call w%put("q", rank, q(1:ni, 1:nj, 1:nk))
!!         call w%end_step()
!!     end do
!!     call w%close()
!!
!! Axes are x, y, z with x contiguous, as many as the mesh has dimensions. Indices count from 1; a block's start is the
!! first index that it owns. Readers in C and Python see the same values with axes
!! reversed (z, y, x) and indices from 0.
!!
!! Communicators are the integers of `use mpi`; with `use mpi_f08` pass comm%mpi_val. Without a communicator, the stream
!! belongs to this process alone, without MPI. All ranks must call open, begin_step, end_step and close.
!!
!! Values are read in end_step. Declare the arrays that are put with `target` (or `asynchronous`), so that the
!! compiler keeps stores to them before it, and do not put expressions. Sections need not be contiguous, and
!! are not copied; their strides must be positive.
!!
!! Errors. Without `stat`, an error prints its message and stops the program. With it, stat is 0 or one of uz_error_*,
!! and the program continues; `errmsg` receives the message, as in Fortran's own statements.
!!
!! All procedures are described in uzushio.h, beside this file.
module uzushio
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit, int8, int32, int64, real32, real64
    implicit none
    private

    public :: uz_writer, uz_counters, uz_version

    integer, parameter, public :: uz_ok = 0, uz_error_argument = 1, uz_error_staging = 2, uz_error_gone = 3, &
        uz_error_silent = 4, uz_error_timeout = 5, uz_error_memory = 6, uz_error_internal = 7
    integer, parameter, public :: uz_float32 = 1, uz_float64 = 2, uz_int32 = 3, uz_int64 = 4, uz_uint8 = 5
    integer, parameter, public :: uz_vertex = 1, uz_element = 2

    !> Counters of steps. Complete on rank 0 only.
    type, bind(c) :: uz_counters
        integer(c_int64_t) :: published !< steps that the solver offered
        integer(c_int64_t) :: delivered !< to readers, counted for each reader
        integer(c_int64_t) :: dropped !< steps that a reader attached at that time never got
        real(c_double) :: seconds_waited !< of the solver
        integer(c_int64_t) :: peak_bytes !< maximum in the queue
        integer(c_int64_t) :: bytes !< in the queue now
        integer(c_int64_t) :: steps !< in the queue now
    end type uz_counters

    !> Writing side of a stream. Copies refer to the same stream; close one of them.
    type :: uz_writer
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: open => writer_open
        procedure :: close => writer_close
        procedure :: abandon => writer_abandon
        procedure :: uniform_mesh => writer_uniform_mesh
        procedure :: rectilinear_mesh => writer_rectilinear_mesh
        procedure :: curvilinear_mesh => writer_curvilinear_mesh
        procedure :: field => writer_field
        procedure :: block => writer_block
        procedure :: remove_block => writer_remove_block
        procedure :: begin_step => writer_begin_step
        procedure :: end_step => writer_end_step
        procedure :: cancel_step => writer_cancel_step
        procedure :: counters => writer_counters
        generic :: attribute => attribute_int, attribute_real, attribute_text
        generic :: put => &
            put_real32_1, put_real32_2, put_real32_3, put_real32_4, put_real64_1, put_real64_2, &
            put_real64_3, put_real64_4, put_int32_1, put_int32_2, put_int32_3, put_int32_4, put_int64_1, &
            put_int64_2, put_int64_3, put_int64_4, put_uint8_1, put_uint8_2, put_uint8_3, put_uint8_4
        generic :: buffer => &
            buffer_real32_1, buffer_real32_2, buffer_real32_3, buffer_real32_4, buffer_real64_1, &
            buffer_real64_2, buffer_real64_3, buffer_real64_4
        procedure, private :: attribute_int, attribute_real, attribute_text
        procedure, private :: &
            put_real32_1, put_real32_2, put_real32_3, put_real32_4, put_real64_1, put_real64_2, &
            put_real64_3, put_real64_4, put_int32_1, put_int32_2, put_int32_3, put_int32_4, put_int64_1, &
            put_int64_2, put_int64_3, put_int64_4, put_uint8_1, put_uint8_2, put_uint8_3, put_uint8_4, &
            buffer_real32_1, buffer_real32_2, buffer_real32_3, buffer_real32_4, buffer_real64_1, &
            buffer_real64_2, buffer_real64_3, buffer_real64_4
    end type uz_writer

    ! ---- declarations of uzushio.h ----

    type, bind(c) :: c_box
        integer(c_int64_t) :: start(3), count(3)
    end type c_box

    type, bind(c) :: c_ghosts
        integer(c_int32_t) :: lower(3), upper(3)
    end type c_ghosts

    type, bind(c) :: c_array
        type(c_ptr) :: data
        integer(c_int) :: type
        integer(c_int64_t) :: components
        integer(c_int64_t) :: count(3), stride(3)
        integer(c_int64_t) :: component_stride
    end type c_array

    interface
        function c_strlen(text) bind(c, name="strlen") result(length)
            import
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function c_strlen

        function c_version() bind(c, name="uz_version") result(text)
            import
            type(c_ptr) :: text
        end function c_version

        function c_error_message() bind(c, name="uz_error_message") result(text)
            import
            type(c_ptr) :: text
        end function c_error_message

        function c_open(name, comm, file, writer) bind(c, name="uz_open_fortran") result(status)
            import
            character(kind=c_char), intent(in) :: name(*), file(*)
            type(c_ptr), value :: comm
            type(c_ptr), intent(out) :: writer
            integer(c_int) :: status
        end function c_open

        function c_close(writer) bind(c, name="uz_close") result(status)
            import
            type(c_ptr), intent(inout) :: writer
            integer(c_int) :: status
        end function c_close

        subroutine c_abandon(writer) bind(c, name="uz_abandon")
            import
            type(c_ptr), intent(inout) :: writer
        end subroutine c_abandon

        function c_attribute_int(writer, name, value) bind(c, name="uz_attribute_int") result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int64_t), value :: value
            integer(c_int) :: status
        end function c_attribute_int

        function c_attribute_double(writer, name, value) bind(c, name="uz_attribute_double") result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: name(*)
            real(c_double), value :: value
            integer(c_int) :: status
        end function c_attribute_double

        function c_attribute_text(writer, name, value) bind(c, name="uz_attribute_text") result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: name(*), value(*)
            integer(c_int) :: status
        end function c_attribute_text

        function c_uniform_mesh(writer, name, dimension, elements, origin, spacing) &
            bind(c, name="uz_uniform_mesh") result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), value :: dimension
            type(c_box), value :: elements
            real(c_double), intent(in) :: origin(3), spacing(3)
            integer(c_int) :: status
        end function c_uniform_mesh

        function c_rectilinear_mesh(writer, name, dimension, elements, z, y, x) &
            bind(c, name="uz_rectilinear_mesh") result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), value :: dimension
            type(c_box), value :: elements
            real(c_double), intent(in) :: z(*), y(*), x(*)
            integer(c_int) :: status
        end function c_rectilinear_mesh

        function c_curvilinear_mesh(writer, name, dimension, elements, coordinates, type) &
            bind(c, name="uz_curvilinear_mesh") result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: name(*), coordinates(*)
            integer(c_int), value :: dimension, type
            type(c_box), value :: elements
            integer(c_int) :: status
        end function c_curvilinear_mesh

        function c_field(writer, name, mesh, association, type, components, units) &
            bind(c, name="uz_field") result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: name(*), mesh(*), units(*)
            integer(c_int), value :: association, type, components
            integer(c_int) :: status
        end function c_field

        function c_block(writer, id, mesh, owned, association) bind(c, name="uz_block") result(status)
            import
            type(c_ptr), value :: writer
            integer(c_int64_t), value :: id
            character(kind=c_char), intent(in) :: mesh(*)
            type(c_box), value :: owned
            integer(c_int), value :: association
            integer(c_int) :: status
        end function c_block

        function c_remove_block(writer, id) bind(c, name="uz_remove_block") result(status)
            import
            type(c_ptr), value :: writer
            integer(c_int64_t), value :: id
            integer(c_int) :: status
        end function c_remove_block

        function c_begin_step(writer, index, time) bind(c, name="uz_begin_step") result(status)
            import
            type(c_ptr), value :: writer
            integer(c_int64_t), value :: index
            real(c_double), value :: time
            integer(c_int) :: status
        end function c_begin_step

        function c_put_array(writer, field, block, array, ghosts) bind(c, name="uz_put_array") result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: field(*)
            integer(c_int64_t), value :: block
            type(c_array), intent(in) :: array
            type(c_ghosts), intent(in) :: ghosts
            integer(c_int) :: status
        end function c_put_array

        function c_buffer(writer, field, block, ghosts, type, memory, count) bind(c, name="uz_buffer") result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: field(*)
            integer(c_int64_t), value :: block
            type(c_ghosts), intent(in) :: ghosts
            integer(c_int), value :: type
            type(c_ptr), intent(out) :: memory
            integer(c_int64_t), intent(out) :: count(4)
            integer(c_int) :: status
        end function c_buffer

        function c_end_step(writer, sequence) bind(c, name="uz_end_step") result(status)
            import
            type(c_ptr), value :: writer
            integer(c_int64_t), intent(out) :: sequence
            integer(c_int) :: status
        end function c_end_step

        function c_cancel_step(writer, reason) bind(c, name="uz_cancel_step") result(status)
            import
            type(c_ptr), value :: writer
            character(kind=c_char), intent(in) :: reason(*)
            integer(c_int) :: status
        end function c_cancel_step

        function c_get_counters(writer, counters) bind(c, name="uz_get_counters") result(status)
            import
            type(c_ptr), value :: writer
            type(uz_counters), intent(out) :: counters
            integer(c_int) :: status
        end function c_get_counters
    end interface

contains

    !> Of the library that was found at run time: "1.2.3".
    function uz_version() result(version)
        character(:), allocatable :: version
        version = text_at(c_version())
    end function uz_version

    !> Open the stream. `comm`: communicator of the publishing ranks; without: this process alone. `file`: YAML file
    !! with the engine's options; without: the defaults. The environment variable UZUSHIO_STAGING replaces the file.
    subroutine writer_open(self, name, comm, file, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        character(*), intent(in) :: name
        integer, intent(in), optional :: comm
        character(*), intent(in), optional :: file
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_int), target :: handle
        type(c_ptr) :: at
        character(:), allocatable :: options

        if (c_associated(self%handle)) then
            call fail("This uz_writer is open already; close it first.", stat, errmsg)
            return
        end if
        at = c_null_ptr
        if (present(comm)) then
            handle = int(comm, c_int)
            at = c_loc(handle)
        end if
        options = ""
        if (present(file)) options = trim(file)
        call finish(c_open(c_text(name), at, c_text(options), self%handle), stat, errmsg)
    end subroutine writer_open

    !> Wait up to close_limit for readers to get the remaining steps, and end the stream; before MPI_Finalize. Does
    !! nothing if the stream is not open.
    subroutine writer_close(self, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        call finish(c_close(self%handle), stat, errmsg)
    end subroutine writer_close

    !> End the stream at once after a failure of the solver. Not collective.
    subroutine writer_abandon(self)
        class(uz_writer), intent(inout) :: self
        call c_abandon(self%handle)
    end subroutine writer_abandon

    !> Describe a mesh of `count` elements along x, y, z; the first has the index `start` (1). Vertex i along an axis, counted
    !! from 1, is at origin + (i - 1) * spacing.
    subroutine writer_uniform_mesh(self, name, count, origin, spacing, start, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        character(*), intent(in) :: name
        integer, intent(in) :: count(:)
        real(real64), intent(in) :: origin(:), spacing(:)
        integer, intent(in), optional :: start(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        real(c_double) :: first(3), step(3)

        if (faulty_axes(count, start, stat, errmsg)) return
        if (size(origin) /= size(count) .or. size(spacing) /= size(count)) then
            call fail("origin and spacing must have as many numbers as count has.", stat, errmsg)
            return
        end if
        first = 0
        step = 1
        first(3:4 - size(count):-1) = origin
        step(3:4 - size(count):-1) = spacing
        call finish(c_uniform_mesh(self%handle, c_text(name), size(count, kind=c_int), box_of(count, start), &
            first, step), stat, errmsg)
    end subroutine writer_uniform_mesh

    !> Describe a mesh by the coordinates of all vertices along each axis, one more than elements.
    subroutine writer_rectilinear_mesh(self, name, x, y, z, start, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        character(*), intent(in) :: name
        real(real64), intent(in) :: x(:)
        real(real64), intent(in), optional :: y(:), z(:)
        integer, intent(in), optional :: start(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        real(c_double), allocatable :: yy(:), zz(:)
        integer, allocatable :: count(:)

        if (present(z) .and. .not. present(y)) then
            call fail("A mesh with z must have y, too.", stat, errmsg)
            return
        end if
        allocate (yy(1), zz(1), source=0d0)
        allocate (count(1), source=size(x) - 1)
        if (present(y)) then
            yy = y
            count = [count, size(y) - 1]
        end if
        if (present(z)) then
            zz = z
            count = [count, size(z) - 1]
        end if
        if (faulty_axes(count, start, stat, errmsg)) return
        call finish(c_rectilinear_mesh(self%handle, c_text(name), size(count, kind=c_int), box_of(count, start), &
            zz, yy, x), stat, errmsg)
    end subroutine writer_rectilinear_mesh

    !> Describe a mesh whose coordinates are the vertex field `coordinates` with components x, y, z. This call also
    !! describes the field (of `type`, uz_float64 by default); put it in every step as any other.
    subroutine writer_curvilinear_mesh(self, name, count, coordinates, type, start, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        character(*), intent(in) :: name, coordinates
        integer, intent(in) :: count(:)
        integer, intent(in), optional :: type
        integer, intent(in), optional :: start(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_int) :: scalar

        if (faulty_axes(count, start, stat, errmsg)) return
        scalar = uz_float64
        if (present(type)) scalar = int(type, c_int)
        call finish(c_curvilinear_mesh(self%handle, c_text(name), size(count, kind=c_int), box_of(count, start), &
            c_text(coordinates), scalar), stat, errmsg)
    end subroutine writer_curvilinear_mesh

    !> Describe a field on the vertices (uz_vertex) or elements (uz_element) of a mesh.
    subroutine writer_field(self, name, mesh, association, type, components, units, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        character(*), intent(in) :: name, mesh
        integer, intent(in) :: association, type
        integer, intent(in), optional :: components
        character(*), intent(in), optional :: units
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        character(:), allocatable :: text
        integer(c_int) :: number

        number = 1
        if (present(components)) number = int(components, c_int)
        text = ""
        if (present(units)) text = units
        call finish(c_field(self%handle, c_text(name), c_text(mesh), int(association, c_int), int(type, c_int), &
            number, c_text(text)), stat, errmsg)
    end subroutine writer_field

    !> Describe a block of this rank: `count` elements from `start` (from 1), without ghosts; or vertices, if
    !! `association` is uz_vertex. The id is the solver's, unique among all ranks' blocks.
    subroutine writer_block(self, id, mesh, start, count, association, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        integer, intent(in) :: id
        character(*), intent(in) :: mesh
        integer, intent(in) :: start(:), count(:)
        integer, intent(in), optional :: association
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_int) :: owns

        if (faulty_axes(count, start, stat, errmsg)) return
        owns = uz_element
        if (present(association)) owns = int(association, c_int)
        call finish(c_block(self%handle, int(id, c_int64_t), c_text(mesh), box_of(count, start), owns), stat, errmsg)
    end subroutine writer_block

    !> Remove a block of this rank.
    subroutine writer_remove_block(self, id, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        integer, intent(in) :: id
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        call finish(c_remove_block(self%handle, int(id, c_int64_t)), stat, errmsg)
    end subroutine writer_remove_block

    !> Set an attribute of this and later steps. The text "periodic", such as "x y", names the periodic axes for
    !> readers.
    subroutine attribute_int(self, name, value, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        character(*), intent(in) :: name
        integer, intent(in) :: value
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        call finish(c_attribute_int(self%handle, c_text(name), int(value, c_int64_t)), stat, errmsg)
    end subroutine attribute_int

    subroutine attribute_real(self, name, value, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        character(*), intent(in) :: name
        real(real64), intent(in) :: value
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        call finish(c_attribute_double(self%handle, c_text(name), value), stat, errmsg)
    end subroutine attribute_real

    subroutine attribute_text(self, name, value, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        character(*), intent(in) :: name, value
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        call finish(c_attribute_text(self%handle, c_text(name), c_text(value)), stat, errmsg)
    end subroutine attribute_text

    !> Begin a step with the solver's number and time.
    subroutine writer_begin_step(self, index, time, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        integer, intent(in) :: index
        real(real64), intent(in) :: time
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        call finish(c_begin_step(self%handle, int(index, c_int64_t), time), stat, errmsg)
    end subroutine writer_begin_step

    !> Publish the step; its arrays may change afterwards. `sequence`: the step's number in the stream, from 0, or -1
    !! if the queue's policy dropped it, which is no error.
    subroutine writer_end_step(self, sequence, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        integer(int64), intent(out), optional :: sequence
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_int64_t) :: number

        number = -1
        call finish(c_end_step(self%handle, number), stat, errmsg)
        if (present(sequence)) sequence = number
    end subroutine writer_end_step

    !> Cancel the step, on ranks that cannot finish it; collective with the others' end_step, which fails with the
    !! reason. No step is published, and the next step may begin.
    subroutine writer_cancel_step(self, reason, stat, errmsg)
        class(uz_writer), intent(inout) :: self
        character(*), intent(in) :: reason
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        call finish(c_cancel_step(self%handle, c_text(reason)), stat, errmsg)
    end subroutine writer_cancel_step

    subroutine writer_counters(self, counters, stat, errmsg)
        class(uz_writer), intent(in) :: self
        type(uz_counters), intent(out) :: counters
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        call finish(c_get_counters(self%handle, counters), stat, errmsg)
    end subroutine writer_counters

    ! ---- put ----

    !> Put values of a field on a block. `ghosts_lower`, `ghosts_upper`: ghost widths of the array along each axis of
    !! the mesh; without: none. `component_axis`: the array's axis of the components; without: the fourth axis of an
    !! array of rank 4, else the field has one component and all axes are the mesh's. Values of uz_uint8 are passed as
    !! integer(int8) with the same bits.
    !!
    !! at(0): address of the first value; at(i): of the second value along axis i, or of the first if there is one only.
    subroutine put(self, field, block, type, n, at, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block, type, n(:)
        integer(c_intptr_t), intent(in) :: at(0:)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_array) :: array
        type(c_ghosts) :: ghosts
        integer :: axis, c, along

        along = merge(4, 0, size(n) == 4)
        if (present(component_axis)) along = component_axis
        if (along < 0 .or. along > size(n)) then
            call fail("component_axis must be an axis of the array that is put, or 0.", stat, errmsg)
            return
        end if
        if (size(n) == 4 .and. along == 0) then
            call fail("An array of rank 4 must have an axis for the components.", stat, errmsg)
            return
        end if
        if (faulty_ghosts(ghosts_lower, ghosts_upper, stat, errmsg)) return
        array%data = transfer(at(0), c_null_ptr)
        array%type = int(type, c_int)
        array%components = 1
        array%count = 1
        array%stride = 1
        array%component_stride = 1
        c = 3
        do axis = 1, size(n)
            if (axis == along) then
                array%components = n(axis)
                array%component_stride = at(axis) - at(0)
            else
                array%count(c) = n(axis)
                array%stride(c) = at(axis) - at(0)
                c = c - 1
            end if
        end do
        ghosts = ghosts_of(ghosts_lower, ghosts_upper)
        call finish(c_put_array(self%handle, c_text(field), int(block, c_int64_t), array, ghosts), stat, errmsg)
    end subroutine put

    ! These differ in the type and rank of `values` only.

    subroutine put_real32_1(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real32), intent(in), target :: values(:)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:1)
        integer :: m(1)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1))), &
                address(c_loc(values(m(1))))]
        end if
        call put(self, field, block, uz_float32, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_real32_1

    subroutine put_real32_2(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real32), intent(in), target :: values(:, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:2)
        integer :: m(2)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1))), &
                address(c_loc(values(m(1), 1))), &
                address(c_loc(values(1, m(2))))]
        end if
        call put(self, field, block, uz_float32, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_real32_2

    subroutine put_real32_3(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real32), intent(in), target :: values(:, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:3)
        integer :: m(3)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1, 1))), &
                address(c_loc(values(m(1), 1, 1))), &
                address(c_loc(values(1, m(2), 1))), &
                address(c_loc(values(1, 1, m(3))))]
        end if
        call put(self, field, block, uz_float32, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_real32_3

    subroutine put_real32_4(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real32), intent(in), target :: values(:, :, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:4)
        integer :: m(4)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1, 1, 1))), &
                address(c_loc(values(m(1), 1, 1, 1))), &
                address(c_loc(values(1, m(2), 1, 1))), &
                address(c_loc(values(1, 1, m(3), 1))), &
                address(c_loc(values(1, 1, 1, m(4))))]
        end if
        call put(self, field, block, uz_float32, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_real32_4

    subroutine put_real64_1(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real64), intent(in), target :: values(:)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:1)
        integer :: m(1)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1))), &
                address(c_loc(values(m(1))))]
        end if
        call put(self, field, block, uz_float64, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_real64_1

    subroutine put_real64_2(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real64), intent(in), target :: values(:, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:2)
        integer :: m(2)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1))), &
                address(c_loc(values(m(1), 1))), &
                address(c_loc(values(1, m(2))))]
        end if
        call put(self, field, block, uz_float64, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_real64_2

    subroutine put_real64_3(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real64), intent(in), target :: values(:, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:3)
        integer :: m(3)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1, 1))), &
                address(c_loc(values(m(1), 1, 1))), &
                address(c_loc(values(1, m(2), 1))), &
                address(c_loc(values(1, 1, m(3))))]
        end if
        call put(self, field, block, uz_float64, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_real64_3

    subroutine put_real64_4(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real64), intent(in), target :: values(:, :, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:4)
        integer :: m(4)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1, 1, 1))), &
                address(c_loc(values(m(1), 1, 1, 1))), &
                address(c_loc(values(1, m(2), 1, 1))), &
                address(c_loc(values(1, 1, m(3), 1))), &
                address(c_loc(values(1, 1, 1, m(4))))]
        end if
        call put(self, field, block, uz_float64, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_real64_4

    subroutine put_int32_1(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        integer(int32), intent(in), target :: values(:)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:1)
        integer :: m(1)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1))), &
                address(c_loc(values(m(1))))]
        end if
        call put(self, field, block, uz_int32, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_int32_1

    subroutine put_int32_2(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        integer(int32), intent(in), target :: values(:, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:2)
        integer :: m(2)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1))), &
                address(c_loc(values(m(1), 1))), &
                address(c_loc(values(1, m(2))))]
        end if
        call put(self, field, block, uz_int32, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_int32_2

    subroutine put_int32_3(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        integer(int32), intent(in), target :: values(:, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:3)
        integer :: m(3)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1, 1))), &
                address(c_loc(values(m(1), 1, 1))), &
                address(c_loc(values(1, m(2), 1))), &
                address(c_loc(values(1, 1, m(3))))]
        end if
        call put(self, field, block, uz_int32, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_int32_3

    subroutine put_int32_4(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        integer(int32), intent(in), target :: values(:, :, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:4)
        integer :: m(4)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1, 1, 1))), &
                address(c_loc(values(m(1), 1, 1, 1))), &
                address(c_loc(values(1, m(2), 1, 1))), &
                address(c_loc(values(1, 1, m(3), 1))), &
                address(c_loc(values(1, 1, 1, m(4))))]
        end if
        call put(self, field, block, uz_int32, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_int32_4

    subroutine put_int64_1(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        integer(int64), intent(in), target :: values(:)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:1)
        integer :: m(1)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1))), &
                address(c_loc(values(m(1))))]
        end if
        call put(self, field, block, uz_int64, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_int64_1

    subroutine put_int64_2(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        integer(int64), intent(in), target :: values(:, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:2)
        integer :: m(2)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1))), &
                address(c_loc(values(m(1), 1))), &
                address(c_loc(values(1, m(2))))]
        end if
        call put(self, field, block, uz_int64, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_int64_2

    subroutine put_int64_3(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        integer(int64), intent(in), target :: values(:, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:3)
        integer :: m(3)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1, 1))), &
                address(c_loc(values(m(1), 1, 1))), &
                address(c_loc(values(1, m(2), 1))), &
                address(c_loc(values(1, 1, m(3))))]
        end if
        call put(self, field, block, uz_int64, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_int64_3

    subroutine put_int64_4(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        integer(int64), intent(in), target :: values(:, :, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:4)
        integer :: m(4)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1, 1, 1))), &
                address(c_loc(values(m(1), 1, 1, 1))), &
                address(c_loc(values(1, m(2), 1, 1))), &
                address(c_loc(values(1, 1, m(3), 1))), &
                address(c_loc(values(1, 1, 1, m(4))))]
        end if
        call put(self, field, block, uz_int64, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_int64_4

    subroutine put_uint8_1(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        integer(int8), intent(in), target :: values(:)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:1)
        integer :: m(1)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1))), &
                address(c_loc(values(m(1))))]
        end if
        call put(self, field, block, uz_uint8, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_uint8_1

    subroutine put_uint8_2(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        integer(int8), intent(in), target :: values(:, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:2)
        integer :: m(2)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1))), &
                address(c_loc(values(m(1), 1))), &
                address(c_loc(values(1, m(2))))]
        end if
        call put(self, field, block, uz_uint8, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_uint8_2

    subroutine put_uint8_3(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        integer(int8), intent(in), target :: values(:, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:3)
        integer :: m(3)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1, 1))), &
                address(c_loc(values(m(1), 1, 1))), &
                address(c_loc(values(1, m(2), 1))), &
                address(c_loc(values(1, 1, m(3))))]
        end if
        call put(self, field, block, uz_uint8, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_uint8_3

    subroutine put_uint8_4(self, field, block, values, ghosts_lower, ghosts_upper, component_axis, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        integer(int8), intent(in), target :: values(:, :, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:), component_axis
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_intptr_t) :: at(0:4)
        integer :: m(4)

        m = min(2, shape(values))
        at = 0
        if (size(values) > 0) then
            at = [address(c_loc(values(1, 1, 1, 1))), &
                address(c_loc(values(m(1), 1, 1, 1))), &
                address(c_loc(values(1, m(2), 1, 1))), &
                address(c_loc(values(1, 1, m(3), 1))), &
                address(c_loc(values(1, 1, 1, m(4))))]
        end if
        call put(self, field, block, uz_uint8, shape(values), at, ghosts_lower, ghosts_upper, component_axis, &
            stat, errmsg)
    end subroutine put_uint8_4

    ! ---- buffer ----

    !> Return memory of the library for a block's values of this step, as an alternative to put, for real types.
    !! Components are the first axis: values(component, x, y, z). Valid until end_step, and uninitialised. Null on
    !! failure.
    subroutine buffer(self, field, block, type, rank, memory, n, ghosts_lower, ghosts_upper, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block, type, rank
        type(c_ptr), intent(out) :: memory
        integer(c_int64_t), intent(out) :: n(rank)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_int64_t) :: count(4)
        integer(c_int64_t) :: axes(4)
        integer(c_int) :: status

        n = 0
        memory = c_null_ptr
        if (faulty_ghosts(ghosts_lower, ghosts_upper, stat, errmsg)) return
        status = c_buffer(self%handle, c_text(field), int(block, c_int64_t), ghosts_of(ghosts_lower, ghosts_upper), &
            int(type, c_int), memory, count)
        if (status /= 0) then
            memory = c_null_ptr
            call finish(status, stat, errmsg)
            return
        end if
        axes = [count(3:1:-1), 1_c_int64_t]
        if (count(4) > 1) axes = [count(4), count(3:1:-1)]
        if (product(axes) /= product(axes(:rank))) then
            memory = c_null_ptr
            call fail("The array pointer has fewer axes than the mesh, or none for the components.", stat, errmsg)
            return
        end if
        n = axes(:rank)
        call finish(status, stat, errmsg)
    end subroutine buffer

    subroutine buffer_real32_1(self, field, block, values, ghosts_lower, ghosts_upper, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real32), intent(out), pointer :: values(:)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_ptr) :: memory
        integer(c_int64_t) :: n(1)

        nullify (values)
        call buffer(self, field, block, uz_float32, 1, memory, n, ghosts_lower, ghosts_upper, stat, errmsg)
        if (c_associated(memory)) call c_f_pointer(memory, values, n)
    end subroutine buffer_real32_1

    subroutine buffer_real32_2(self, field, block, values, ghosts_lower, ghosts_upper, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real32), intent(out), pointer :: values(:, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_ptr) :: memory
        integer(c_int64_t) :: n(2)

        nullify (values)
        call buffer(self, field, block, uz_float32, 2, memory, n, ghosts_lower, ghosts_upper, stat, errmsg)
        if (c_associated(memory)) call c_f_pointer(memory, values, n)
    end subroutine buffer_real32_2

    subroutine buffer_real32_3(self, field, block, values, ghosts_lower, ghosts_upper, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real32), intent(out), pointer :: values(:, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_ptr) :: memory
        integer(c_int64_t) :: n(3)

        nullify (values)
        call buffer(self, field, block, uz_float32, 3, memory, n, ghosts_lower, ghosts_upper, stat, errmsg)
        if (c_associated(memory)) call c_f_pointer(memory, values, n)
    end subroutine buffer_real32_3

    subroutine buffer_real32_4(self, field, block, values, ghosts_lower, ghosts_upper, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real32), intent(out), pointer :: values(:, :, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_ptr) :: memory
        integer(c_int64_t) :: n(4)

        nullify (values)
        call buffer(self, field, block, uz_float32, 4, memory, n, ghosts_lower, ghosts_upper, stat, errmsg)
        if (c_associated(memory)) call c_f_pointer(memory, values, n)
    end subroutine buffer_real32_4

    subroutine buffer_real64_1(self, field, block, values, ghosts_lower, ghosts_upper, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real64), intent(out), pointer :: values(:)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_ptr) :: memory
        integer(c_int64_t) :: n(1)

        nullify (values)
        call buffer(self, field, block, uz_float64, 1, memory, n, ghosts_lower, ghosts_upper, stat, errmsg)
        if (c_associated(memory)) call c_f_pointer(memory, values, n)
    end subroutine buffer_real64_1

    subroutine buffer_real64_2(self, field, block, values, ghosts_lower, ghosts_upper, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real64), intent(out), pointer :: values(:, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_ptr) :: memory
        integer(c_int64_t) :: n(2)

        nullify (values)
        call buffer(self, field, block, uz_float64, 2, memory, n, ghosts_lower, ghosts_upper, stat, errmsg)
        if (c_associated(memory)) call c_f_pointer(memory, values, n)
    end subroutine buffer_real64_2

    subroutine buffer_real64_3(self, field, block, values, ghosts_lower, ghosts_upper, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real64), intent(out), pointer :: values(:, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_ptr) :: memory
        integer(c_int64_t) :: n(3)

        nullify (values)
        call buffer(self, field, block, uz_float64, 3, memory, n, ghosts_lower, ghosts_upper, stat, errmsg)
        if (c_associated(memory)) call c_f_pointer(memory, values, n)
    end subroutine buffer_real64_3

    subroutine buffer_real64_4(self, field, block, values, ghosts_lower, ghosts_upper, stat, errmsg)
        class(uz_writer), intent(in) :: self
        character(*), intent(in) :: field
        integer, intent(in) :: block
        real(real64), intent(out), pointer :: values(:, :, :, :)
        integer, intent(in), optional :: ghosts_lower(:), ghosts_upper(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_ptr) :: memory
        integer(c_int64_t) :: n(4)

        nullify (values)
        call buffer(self, field, block, uz_float64, 4, memory, n, ghosts_lower, ghosts_upper, stat, errmsg)
        if (c_associated(memory)) call c_f_pointer(memory, values, n)
    end subroutine buffer_real64_4

    ! ---- helpers ----

    function c_text(text) result(terminated)
        character(*), intent(in) :: text
        character(kind=c_char, len=:), allocatable :: terminated
        terminated = trim(text)//c_null_char
    end function c_text

    function text_at(at) result(text)
        type(c_ptr), intent(in) :: at
        character(:), allocatable :: text
        character(kind=c_char), pointer :: characters(:)
        integer :: i

        call c_f_pointer(at, characters, [c_strlen(at)])
        allocate (character(size(characters)) :: text)
        do i = 1, size(characters)
            text(i:i) = characters(i)
        end do
    end function text_at

    !> Return whether count or start do not have 1 to 3 axes, and report it.
    function faulty_axes(count, start, stat, errmsg) result(faulty)
        integer, intent(in) :: count(:)
        integer, intent(in), optional :: start(:)
        integer, intent(inout), optional :: stat
        character(*), intent(inout), optional :: errmsg
        logical :: faulty

        faulty = size(count) < 1 .or. size(count) > 3
        if (present(start)) faulty = faulty .or. size(start) /= size(count)
        if (faulty) call fail("start and count must have as many numbers as the mesh has axes: 1 to 3.", stat, errmsg)
    end function faulty_axes

    function faulty_ghosts(lower, upper, stat, errmsg) result(faulty)
        integer, intent(in), optional :: lower(:), upper(:)
        integer, intent(inout), optional :: stat
        character(*), intent(inout), optional :: errmsg
        logical :: faulty

        faulty = .false.
        if (present(lower)) faulty = size(lower) > 3
        if (present(upper)) faulty = faulty .or. size(upper) > 3
        if (faulty) call fail("Ghost layers must be given for 3 axes at most.", stat, errmsg)
    end function faulty_ghosts

    !> Return a box with reversed axes and indices from 0.
    function box_of(count, start) result(box)
        integer, intent(in) :: count(:)
        integer, intent(in), optional :: start(:)
        type(c_box) :: box

        box%start = 0
        box%count = 1
        box%count(3:4 - size(count):-1) = count
        if (present(start)) box%start(3:4 - size(start):-1) = int(start, c_int64_t) - 1
    end function box_of

    function ghosts_of(lower, upper) result(ghosts)
        integer, intent(in), optional :: lower(:), upper(:)
        type(c_ghosts) :: ghosts

        ghosts%lower = 0
        ghosts%upper = 0
        if (present(lower)) ghosts%lower(3:4 - size(lower):-1) = lower
        if (present(upper)) ghosts%upper(3:4 - size(upper):-1) = upper
    end function ghosts_of

    function address(at) result(number)
        type(c_ptr), intent(in) :: at
        integer(c_intptr_t) :: number
        number = transfer(at, number)
    end function address

    !> Set stat and errmsg from the status of a library function, or stop.
    subroutine finish(status, stat, errmsg)
        integer(c_int), intent(in) :: status
        integer, intent(inout), optional :: stat
        character(*), intent(inout), optional :: errmsg

        if (present(stat)) stat = status
        if (status == 0) return
        if (present(errmsg)) errmsg = text_at(c_error_message())
        if (.not. present(stat)) call give_up(text_at(c_error_message()))
    end subroutine finish

    !> Set stat and errmsg for an error that was found in this module, or stop.
    subroutine fail(sentence, stat, errmsg)
        character(*), intent(in) :: sentence
        integer, intent(inout), optional :: stat
        character(*), intent(inout), optional :: errmsg

        if (present(errmsg)) errmsg = sentence
        if (.not. present(stat)) call give_up(sentence)
        if (present(stat)) stat = uz_error_argument
    end subroutine fail

    subroutine give_up(sentence)
        character(*), intent(in) :: sentence
        write (error_unit, '(2a)') "uzushio: error: ", sentence
        flush (error_unit)
        error stop 1
    end subroutine give_up
end module uzushio
