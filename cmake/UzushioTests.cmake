# One executable per test_*.cpp of tests/{unit,verification,mpi}, registered with CTest on one rank, or on each number of
# ranks that a line of the file names: "// ranks: 1 2 4 6". "// programs: 2+1" runs it as two programs of one launch
# too. The folder is the label: ctest -L verification.
enable_testing()
find_package(GTest REQUIRED)

# Open MPI refuses more ranks than cores, and binds every job to the same cores, unless told not to.
execute_process(COMMAND "${MPIEXEC_EXECUTABLE}" --version OUTPUT_VARIABLE version ERROR_QUIET)
if(version MATCHES "Open MPI|OpenRTE|prte")
    set(launch_flags --oversubscribe --bind-to none)
    set(launcher "${PROJECT_SOURCE_DIR}/tools/own_memory")
endif()

# Waiting threads and ranks that spin take the cores that other ranks need: threads sleep, and ranks
# yield between polls. Ranks that sleep wait longer for each message: test_compositing_sequences takes 26 s instead of 10.
set(waits "OMP_WAIT_POLICY=passive" "OMPI_MCA_mpi_yield_when_idle=1")

# A library, so that a test with a main of its own wins.
add_library(uzushio_test_main STATIC "${PROJECT_SOURCE_DIR}/tests/support/mpi_main.cpp")
target_link_libraries(uzushio_test_main PUBLIC GTest::gtest MPI::MPI_CXX PRIVATE uzushio::flags)
# CMake compiles a library with -fPIC and a program with -fPIE, which then cannot share a precompiled header.
unset(CMAKE_POSITION_INDEPENDENT_CODE)
set_target_properties(uzushio_test_main PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_precompile_headers(uzushio_test_main PRIVATE ${UZUSHIO_HEADERS} <gtest/gtest.h>)

get_property(rooms GLOBAL PROPERTY UZUSHIO_ROOMS)
file(GLOB tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*/test_*.cpp")
foreach(source IN LISTS tests)
    cmake_path(GET source STEM name)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME label)
    add_executable(${name} "${source}")
    target_include_directories(
        ${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${name} PRIVATE ${rooms} uzushio::flags uzushio_test_main)
    if(name STREQUAL "test_staging_corpus")
        target_compile_definitions(
            ${name} PRIVATE UZUSHIO_FUZZ_CORPUS="${PROJECT_SOURCE_DIR}/tests/fuzz/corpus")
    endif()
    if(name STREQUAL "test_domain_heat") # its kernels must not depend on where in a row a value lies
        target_compile_options(${name} PRIVATE -ffp-contract=off)
    else() # GCC takes that option from a precompiled header, not from the command
        target_precompile_headers(${name} REUSE_FROM uzushio_test_main)
    endif()
    set_target_properties(
        ${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")

    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    file(STRINGS "${source}" ranks REGEX "^// ranks:" LIMIT_COUNT 1)
    string(REGEX MATCHALL "[0-9]+" ranks "${ranks}")
    if(NOT ranks)
        set(ranks 1)
    endif()
    foreach(n IN LISTS ranks)
        add_test(NAME ${name}.${n}
                 COMMAND ${launcher} "${MPIEXEC_EXECUTABLE}" ${launch_flags}
                         ${MPIEXEC_NUMPROC_FLAG} ${n} ${MPIEXEC_PREFLAGS}
                         $<TARGET_FILE:${name}> ${MPIEXEC_POSTFLAGS})
        set_tests_properties(${name}.${n} PROPERTIES PROCESSORS ${n} TIMEOUT 240 LABELS ${label}
                             ENVIRONMENT "${waits}")
    endforeach()

    file(STRINGS "${source}" programs REGEX "^// programs:" LIMIT_COUNT 1)
    string(REGEX MATCHALL "[0-9]+\\+[0-9]+" programs "${programs}")
    foreach(both IN LISTS programs)
        string(REPLACE "+" ";" ranks "${both}")
        list(GET ranks 0 first)
        list(GET ranks 1 second)
        add_test(NAME ${name}.${both}
                 COMMAND ${launcher} "${MPIEXEC_EXECUTABLE}" ${launch_flags}
                         ${MPIEXEC_NUMPROC_FLAG} ${first} $<TARGET_FILE:${name}> :
                         ${MPIEXEC_NUMPROC_FLAG} ${second} $<TARGET_FILE:${name}>)
        set_tests_properties(${name}.${both} PROPERTIES PROCESSORS 3 TIMEOUT 120 LABELS ${label}
                             ENVIRONMENT "${waits}")
    endforeach()
endforeach()

# A solver of blocks in an extension module of its own, for tests/block_heat.py.
nanobind_add_module(cylinder_heat NOMINSIZE NB_SUPPRESS_WARNINGS
                    "${PROJECT_SOURCE_DIR}/tests/extension/cylinder_heat.cpp")
target_include_directories(
    cylinder_heat PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(cylinder_heat PRIVATE uzushio::domain uzushio::flags)
target_compile_options(cylinder_heat PRIVATE -ffp-contract=off)
set_target_properties(
    cylinder_heat PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")

# Each installed header compiles alone, and finds what it includes among the installed ones.
set(headers "${PROJECT_BINARY_DIR}/tests/headers")
file(REMOVE_RECURSE "${headers}/include")
foreach(header IN LISTS cpp_headers)
    cmake_path(GET header PARENT_PATH folder)
    file(MAKE_DIRECTORY "${headers}/include/${folder}")
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src/${header}" "${headers}/include/${header}" SYMBOLIC)
    file(CONFIGURE OUTPUT "${headers}/${header}.cpp" CONTENT "#include \"${header}\"\n")
    list(APPEND header_sources "${headers}/${header}.cpp")
endforeach()
add_library(installed_headers OBJECT ${header_sources})
target_include_directories(installed_headers PRIVATE "${headers}/include")
target_link_libraries(installed_headers PRIVATE MPI::MPI_CXX Python::Module nanobind-static)
target_compile_definitions(installed_headers PRIVATE UZUSHIO_VERSION="${PROJECT_VERSION}")

# Programs on simulated ranks, for tests/scale: build/release/tests/scale/NAME. SimGrid's compiler has an MPI of its
# own, and statics are shared between its ranks where the linker makes them unique, hence -fno-gnu-unique.
find_program(UZUSHIO_SMPICXX smpicxx)
set(scale_domain coordinates decomposition field_spec ghost_sources halo_exchange halo_messages halo_plan mesh
                 mesh_validation process_counts redistribution redistribution_plan zone zone_parts)
list(TRANSFORM scale_domain PREPEND domain/)
file(GLOB scale_compositing CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/src"
     "${PROJECT_SOURCE_DIR}/src/compositing/*.cpp")
list(TRANSFORM scale_compositing REPLACE "\\.cpp$" "")
set(scale_sources_compositing ${scale_compositing} parallel/backoff parallel/collective_group parallel/wait_hook)
set(scale_sources_halo ${scale_domain} parallel/backoff parallel/wait_hook)
set(scale_channel halo partitioned pipelined plane_transform transposed tridiagonal)
list(TRANSFORM scale_channel PREPEND solvers/channel/)
set(scale_sources_channel ${scale_channel} linalg/fftw parallel/backoff parallel/section_monitor parallel/shared_arrays
                          parallel/wait_hook)
set(scale_sources_network)
set(scale_libraries_channel ${FFTW_LIBRARY})
if(UZUSHIO_SMPICXX)
    set(folder "${PROJECT_BINARY_DIR}/tests/scale")
    foreach(name IN ITEMS channel compositing halo network)
        set(objects)
        foreach(source IN LISTS scale_sources_${name} ITEMS "../tests/scale/${name}")
            string(REPLACE "../" "" object "${folder}/objects/${source}.o")
            cmake_path(GET object PARENT_PATH object_folder)
            file(MAKE_DIRECTORY "${object_folder}")
            if(NOT object IN_LIST scale_objects) # else another program uses it
                add_custom_command(
                    OUTPUT "${object}"
                    DEPENDS "${PROJECT_SOURCE_DIR}/src/${source}.cpp"
                    DEPFILE "${object}.d"
                    COMMAND "${UZUSHIO_SMPICXX}" -std=c++20 -O1 -fopenmp -fno-gnu-unique "-I${PROJECT_SOURCE_DIR}/src"
                            -idirafter "${FFTW_INCLUDE_DIR}"
                            -MD -MF "${object}.d" -MT "${object}" -c "${PROJECT_SOURCE_DIR}/src/${source}.cpp"
                            -o "${object}"
                    VERBATIM)
            endif()
            list(APPEND objects "${object}")
            list(APPEND scale_objects "${object}")
        endforeach()
        add_custom_command(OUTPUT "${folder}/${name}" DEPENDS ${objects}
                           COMMAND "${UZUSHIO_SMPICXX}" -fopenmp ${objects} ${scale_libraries_${name}} -o "${folder}/${name}"
                           VERBATIM)
        list(APPEND scale_programs "${folder}/${name}")
    endforeach()
    add_custom_target(scale_programs ALL DEPENDS ${scale_programs})
endif()

option(UZUSHIO_FUZZ "Offer the fuzzer's target fuzz_decode (clang)" OFF)
if(UZUSHIO_FUZZ)
    include(UzushioFuzz)
endif()
