# METIS::METIS: graph partitioning (Debian's libmetis-dev), looked for where a cluster's modules point to (METIS_ROOT,
# METIS_DIR), then on the compiler's own paths.
find_path(METIS_INCLUDE_DIR metis.h HINTS $ENV{METIS_ROOT} $ENV{METIS_DIR} PATH_SUFFIXES include)
find_library(METIS_LIBRARY metis HINTS $ENV{METIS_ROOT} $ENV{METIS_DIR} PATH_SUFFIXES lib lib64)
mark_as_advanced(METIS_INCLUDE_DIR METIS_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(METIS REQUIRED_VARS METIS_LIBRARY METIS_INCLUDE_DIR)

if(METIS_FOUND AND NOT TARGET METIS::METIS)
    add_library(METIS::METIS UNKNOWN IMPORTED)
    set_target_properties(
        METIS::METIS PROPERTIES IMPORTED_LOCATION "${METIS_LIBRARY}"
                                INTERFACE_INCLUDE_DIRECTORIES "${METIS_INCLUDE_DIR}")
endif()
