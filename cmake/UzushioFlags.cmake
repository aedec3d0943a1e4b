# uzushio::flags: how every room is compiled.
add_library(uzushio_flags INTERFACE)
add_library(uzushio::flags ALIAS uzushio_flags)

set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")

target_compile_options(
    uzushio_flags
    INTERFACE
        # errno and trapping keep loops from vectorising; NaN and Inf keep their meaning, because
        # the run loop checks for them.
        -fno-math-errno
        -fno-trapping-math
        -ffp-contract=fast
        ${OpenMP_CXX_FLAGS}  # in every room: precompiled headers are shared by rooms of the same flags
        -Wall
        -Wextra
        -Wpedantic
        -Wshadow
        -Wconversion
        -Wno-sign-conversion  # sizes meet MPI's int and strides' ptrdiff_t in every kernel
        -Wnon-virtual-dtor
        -Woverloaded-virtual
        $<$<BOOL:${UZUSHIO_NATIVE}>:-march=native>
        $<$<BOOL:${UZUSHIO_WERROR}>:-Werror>)
