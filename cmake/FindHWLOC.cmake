# HWLOC::HWLOC: topology of the machine and binding (Debian's libhwloc-dev), looked for where a cluster's modules point to
# (HWLOC_ROOT, HWLOC_DIR), then on the compiler's own paths.
#
# Shared, because an MPI library may bring its own libhwloc.so.15: a process has one, whichever is loaded first.
find_path(HWLOC_INCLUDE_DIR hwloc.h HINTS $ENV{HWLOC_ROOT} $ENV{HWLOC_DIR} PATH_SUFFIXES include)
find_library(HWLOC_LIBRARY hwloc HINTS $ENV{HWLOC_ROOT} $ENV{HWLOC_DIR} PATH_SUFFIXES lib lib64)
mark_as_advanced(HWLOC_INCLUDE_DIR HWLOC_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HWLOC REQUIRED_VARS HWLOC_LIBRARY HWLOC_INCLUDE_DIR)

if(HWLOC_FOUND AND NOT TARGET HWLOC::HWLOC)
    add_library(HWLOC::HWLOC UNKNOWN IMPORTED)
    set_target_properties(
        HWLOC::HWLOC PROPERTIES IMPORTED_LOCATION "${HWLOC_LIBRARY}"
                                INTERFACE_INCLUDE_DIRECTORIES "${HWLOC_INCLUDE_DIR}")
endif()
