# Staging for other codes, and solvers of blocks, as installed libraries with headers.
#
# libuzushio: staging for other codes. The C interface (include/uzushio/uzushio.h), which the Fortran module
# calls, and the C++ classes Writer and Reader with their dependences.
#
# Installed twice from one build: into the Python package (uzushio/include, uzushio/lib), where `uzushio config`
# finds it, and by a plain `cmake --install` for a site (include, lib). Either is a prefix for find_package(uzushio).
target_include_directories(uzushio_capi PUBLIC "${PROJECT_SOURCE_DIR}/include")
target_compile_definitions(uzushio_capi PRIVATE UZUSHIO_VERSION="${PROJECT_VERSION}")

# The objects, since nothing in C refers to the C++ classes.
add_library(uzushio SHARED $<TARGET_OBJECTS:uzushio_capi> $<TARGET_OBJECTS:uzushio_staging>)
add_library(uzushio::uzushio ALIAS uzushio)
target_link_libraries(uzushio PRIVATE uzushio::capi uzushio::staging)
set(exports "${PROJECT_SOURCE_DIR}/src/capi/exports.map")
# METIS and other libraries of rooms whose code it does not use are left out.
target_link_options(uzushio PRIVATE "LINKER:--version-script=${exports}" "LINKER:--no-undefined" "LINKER:--as-needed")
set_target_properties(
    uzushio
    PROPERTIES LINKER_LANGUAGE CXX
               SOVERSION ${PROJECT_VERSION_MAJOR}
               LINK_DEPENDS "${exports}")

# MPI is in the environment that the package is installed into, or where the site has it.
if(UZUSHIO_MPI STREQUAL "site")
    foreach(library IN LISTS MPI_CXX_LIBRARIES)
        cmake_path(GET library PARENT_PATH directory)
        list(APPEND library_rpath "${directory}")
    endforeach()
    list(REMOVE_DUPLICATES library_rpath)
    list(REMOVE_ITEM library_rpath "" ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
else()
    set(library_rpath "$ORIGIN/../../../..") # <environment>/lib/pythonX.Y/site-packages/uzushio/lib
endif()
set_target_properties(uzushio PROPERTIES INSTALL_RPATH "${library_rpath}")
set(UZUSHIO_MPI_FOLDERS "${library_rpath}") # for uzushioConfig.cmake
list(TRANSFORM UZUSHIO_MPI_FOLDERS REPLACE "(.+)" "\"\\1\"")
list(JOIN UZUSHIO_MPI_FOLDERS " " UZUSHIO_MPI_FOLDERS)

# Recorder of traffic, which is preloaded into programs: it replaces functions of MPI, so that nothing else links it.
add_library(uzushio_traffic SHARED "${PROJECT_SOURCE_DIR}/src/traffic/recorder.cpp")
target_link_libraries(uzushio_traffic PRIVATE uzushio::flags MPI::MPI_CXX ${CMAKE_DL_LIBS})
set_target_properties(uzushio_traffic PROPERTIES INSTALL_RPATH "${library_rpath}" CXX_VISIBILITY_PRESET default)

# Headers that staging/writer.hpp and staging/reader.hpp include, and those of their errors.
set(cpp_headers choose_options command engine_options reader reader_options staging_error writer
    datamodel/array_layout datamodel/array_view datamodel/attribute datamodel/block datamodel/box datamodel/coordset
    datamodel/field datamodel/ghosts datamodel/model_error datamodel/scalar_type datamodel/step_info
    datamodel/stored_array datamodel/topology
    queue/delivery queue/queue_counters queue/queue_options queue/queue_timeout wire/mpi_mode
    wire/decode_error)
list(TRANSFORM cpp_headers PREPEND "staging/")
list(TRANSFORM cpp_headers APPEND ".hpp")

# Solvers of blocks: a static library, so that an author's extension module depends on no file of this package. All headers
# of its rooms; the build of the tests compiles each installed header alone.
file(GLOB solver_headers RELATIVE "${PROJECT_SOURCE_DIR}/src" CONFIGURE_DEPENDS
     "${PROJECT_SOURCE_DIR}/src/domain/*.hpp" "${PROJECT_SOURCE_DIR}/src/parallel/*.hpp")
list(APPEND cpp_headers ${solver_headers} bindings/block_solver.hpp bindings/mpi_handle.hpp)
add_library(uzushio_solver STATIC $<TARGET_OBJECTS:uzushio_domain> $<TARGET_OBJECTS:uzushio_parallel>)
set_target_properties(uzushio_solver PROPERTIES LINKER_LANGUAGE CXX)

cmake_path(GET METIS_LIBRARY PARENT_PATH METIS_LIBRARY_DIR) # for uzushioConfig.cmake

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/uzushioConfigVersion.cmake" COMPATIBILITY SameMinorVersion)

# A wheel cannot contain links: in it, libuzushio.so for `-luzushio` is a linker script.
file(WRITE "${PROJECT_BINARY_DIR}/libuzushio.so.script"
     "INPUT(libuzushio.so.${PROJECT_VERSION_MAJOR})\n")

include(UzushioFortran)
make_fortran_module("${PROJECT_BINARY_DIR}/uzushio.f90")

function(install_library prefix libdir component)
    if(component STREQUAL "python")
        install(TARGETS uzushio LIBRARY DESTINATION "${prefix}${libdir}" NAMELINK_SKIP COMPONENT python EXCLUDE_FROM_ALL)
        install(TARGETS uzushio_traffic LIBRARY DESTINATION "${prefix}${libdir}" COMPONENT python EXCLUDE_FROM_ALL)
        install(FILES "${PROJECT_BINARY_DIR}/libuzushio.so.script" RENAME libuzushio.so
                DESTINATION "${prefix}${libdir}" COMPONENT python EXCLUDE_FROM_ALL)
        set(only COMPONENT python EXCLUDE_FROM_ALL)
    else()
        install(TARGETS uzushio uzushio_traffic LIBRARY DESTINATION "${prefix}${libdir}" COMPONENT ${component})
        set(only COMPONENT ${component})
    endif()
    install(FILES "${PROJECT_SOURCE_DIR}/include/uzushio/uzushio.h"
                  "${PROJECT_SOURCE_DIR}/include/uzushio/compositing.h"
                  "${PROJECT_BINARY_DIR}/uzushio.f90"
            DESTINATION "${prefix}include/uzushio" ${only})
    foreach(header IN LISTS cpp_headers)
        cmake_path(GET header PARENT_PATH folder)
        install(FILES "${PROJECT_SOURCE_DIR}/src/${header}"
                DESTINATION "${prefix}include/uzushio/cpp/${folder}" ${only})
    endforeach()

    install(TARGETS uzushio_solver ARCHIVE DESTINATION "${prefix}${libdir}" ${only})

    set(destination "${prefix}${libdir}/cmake/uzushio")
    configure_package_config_file(
        "${PROJECT_SOURCE_DIR}/cmake/uzushioConfig.cmake.in"
        "${PROJECT_BINARY_DIR}/${component}/uzushioConfig.cmake"
        INSTALL_DESTINATION "${libdir}/cmake/uzushio"
        PATH_VARS libdir
        NO_CHECK_REQUIRED_COMPONENTS_MACRO)
    install(FILES "${PROJECT_BINARY_DIR}/${component}/uzushioConfig.cmake"
                  "${PROJECT_BINARY_DIR}/uzushioConfigVersion.cmake"
                  "${PROJECT_SOURCE_DIR}/cmake/uzushioSolver.cmake"
            DESTINATION "${destination}" ${only})

    set(UZUSHIO_LIBDIR "${libdir}")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/uzushio.pc.in" "${PROJECT_BINARY_DIR}/${component}/uzushio.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${component}/uzushio.pc" DESTINATION "${prefix}${libdir}/pkgconfig" ${only})
endfunction()

install_library("" "${CMAKE_INSTALL_LIBDIR}" site)
install_library("uzushio/" lib python)
