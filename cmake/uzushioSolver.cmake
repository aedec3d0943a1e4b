# find_package(uzushio COMPONENTS solver): uzushio::solver, the library of solvers of blocks in C++
# (#include "domain/block_solver.hpp"), and uzushio_add_solver(<name> <source>...), an extension module of such a solver.
include(CMakeFindDependencyMacro)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release)
endif()
find_dependency(MPI COMPONENTS CXX)
find_dependency(OpenMP COMPONENTS CXX)
find_dependency(Python 3.11 COMPONENTS Interpreter Development.Module)
if(NOT TARGET nanobind-static AND NOT COMMAND nanobind_add_module)
    execute_process(
        COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
        OUTPUT_VARIABLE nanobind_ROOT
        OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
        RESULT_VARIABLE _uzushio_status)
    if(_uzushio_status)
        message(FATAL_ERROR "A solver in C++ needs nanobind for ${Python_EXECUTABLE}: pip install nanobind")
    endif()
    find_dependency(nanobind CONFIG)
endif()
find_library(METIS_LIBRARY metis HINTS "${uzushio_METIS_DIR}" $ENV{METIS_ROOT} $ENV{METIS_DIR} PATH_SUFFIXES lib lib64)
mark_as_advanced(METIS_LIBRARY)
if(NOT METIS_LIBRARY)
    message(FATAL_ERROR "A solver in C++ needs METIS, as Uzushio does: install libmetis-dev, or set METIS_LIBRARY")
endif()

if(NOT TARGET uzushio::solver)
    add_library(uzushio::solver STATIC IMPORTED)
    set_target_properties(
        uzushio::solver
        PROPERTIES IMPORTED_LOCATION "${uzushio_SOLVER_LIBRARY}"
                   IMPORTED_LINK_INTERFACE_LANGUAGES CXX)
    target_include_directories(uzushio::solver INTERFACE "${uzushio_CPP_INCLUDE_DIR}")
    target_compile_definitions(uzushio::solver INTERFACE UZUSHIO_VERSION="${uzushio_VERSION}")
    target_compile_features(uzushio::solver INTERFACE cxx_std_20)
    target_link_libraries(uzushio::solver INTERFACE MPI::MPI_CXX OpenMP::OpenMP_CXX "${METIS_LIBRARY}")
endif()

# Compiled for the same processor as the package. A product and a sum are not fused: where the compiler fuses them
# depends on where in a row a value lies, and so on the number of ranks.
function(uzushio_add_solver name)
    nanobind_add_module(${name} NOMINSIZE NB_SUPPRESS_WARNINGS ${ARGN})
    target_link_libraries(${name} PRIVATE uzushio::solver)
    target_compile_options(
        ${name} PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math $<$<CONFIG:Release>:-O3>
                        $<$<BOOL:${uzushio_NATIVE}>:-march=native>)
    # MPI of a wheel is in <environment>/lib: above site-packages, or a package in it, that the module is installed into.
    set_target_properties(
        ${name} PROPERTIES INSTALL_RPATH "$ORIGIN/../..;$ORIGIN/../../.." INSTALL_RPATH_USE_LINK_PATH ON)
endfunction()
