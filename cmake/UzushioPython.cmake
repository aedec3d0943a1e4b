# uzushio._core: the one extension module, from src/bindings/.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
    COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_ROOT
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

file(GLOB bindings CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/bindings/*.cpp")
if(NOT bindings)
    message(WARNING "src/bindings/ holds no .cpp file yet: the package will have no uzushio._core")
    return()
endif()

get_property(rooms GLOBAL PROPERTY UZUSHIO_ROOMS)
nanobind_add_module(_core NOMINSIZE NB_SUPPRESS_WARNINGS ${bindings})
target_include_directories(_core PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(_core PRIVATE ${rooms} uzushio::flags OpenMP::OpenMP_CXX)
set_target_properties(nanobind-static PROPERTIES UNITY_BUILD ON)
target_precompile_headers(
    _core
    PRIVATE ${UZUSHIO_HEADERS} <nanobind/nanobind.h> <nanobind/ndarray.h> <nanobind/stl/array.h>
            <nanobind/stl/optional.h> <nanobind/stl/pair.h> <nanobind/stl/string.h> <nanobind/stl/vector.h>)

# From <environment>/lib/pythonX.Y/site-packages/uzushio to <environment>/lib, where the wheel's
# libmpi is. Libraries of a site are found where they were at build time.
set(rpath "$ORIGIN/../../..")
if(UZUSHIO_MPI STREQUAL "site")
    foreach(library IN LISTS MPI_CXX_LIBRARIES)
        cmake_path(GET library PARENT_PATH directory)
        list(APPEND rpath "${directory}")
    endforeach()
endif()
list(APPEND rpath "${FFTW_LIBRARY_DIR}")
list(REMOVE_DUPLICATES rpath)
list(REMOVE_ITEM rpath "" ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
set_target_properties(_core PROPERTIES INSTALL_RPATH "${rpath}")

install(TARGETS _core LIBRARY DESTINATION uzushio COMPONENT python EXCLUDE_FROM_ALL)

# Type stubs of the core, uzushio/_core/*.pyi, for type checkers and editors. They are generated
# from the module, which must run here.
if(SKBUILD AND NOT CMAKE_CROSSCOMPILING)
    set(stubs "${PROJECT_BINARY_DIR}/stubs")
    add_custom_command(
        OUTPUT "${stubs}/_core/__init__.pyi"
        COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/write_stubs.py"
                "$<TARGET_FILE_DIR:_core>" "${PROJECT_SOURCE_DIR}/python" "${stubs}"
        DEPENDS _core "${PROJECT_SOURCE_DIR}/cmake/write_stubs.py"
        COMMENT "Writing the type stubs of uzushio._core"
        VERBATIM)
    add_custom_target(stubs ALL DEPENDS "${stubs}/_core/__init__.pyi")
    install(DIRECTORY "${stubs}/_core" DESTINATION uzushio COMPONENT python EXCLUDE_FROM_ALL)
endif()
