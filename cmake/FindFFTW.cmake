# FFTW::FFTW: the double-precision FFTW 3 interface, from the library that UZUSHIO_FFTW names.
#
# FFTW itself is looked for with pkg-config, then where a cluster's modules point to (FFTW_ROOT,
# FFTW_HOME, FFTW_DIR), then on the compiler's own paths. FFTW is GPL; MKL and SSL II
# offer the same interface under other licences.
if(NOT UZUSHIO_FFTW STREQUAL "${FFTW_FOUND_FOR}")
    unset(FFTW_INCLUDE_DIR CACHE)
    unset(FFTW_LIBRARY CACHE)
endif()

set(_fftw_hints $ENV{FFTW_ROOT} $ENV{FFTW_HOME} $ENV{FFTW_DIR} $ENV{FFTW_BASE})

if(UZUSHIO_FFTW STREQUAL "mkl")
    set(_mkl_hints ${MKL_ROOT} $ENV{MKLROOT} /opt/intel/oneapi/mkl/latest)
    find_path(FFTW_INCLUDE_DIR fftw3.h HINTS ${_mkl_hints} PATH_SUFFIXES include/fftw fftw)
    # Sequential, because ranks fill the cores.
    foreach(part intel_lp64 sequential core)
        find_library(FFTW_MKL_${part} mkl_${part} HINTS ${_mkl_hints} PATH_SUFFIXES lib lib/intel64)
        mark_as_advanced(FFTW_MKL_${part})
        list(APPEND FFTW_LIBRARY ${FFTW_MKL_${part}})
    endforeach()
elseif(UZUSHIO_FFTW STREQUAL "fftw3")
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
        pkg_check_modules(_fftw QUIET fftw3)
    endif()
    find_path(FFTW_INCLUDE_DIR fftw3.h HINTS ${_fftw_INCLUDEDIR} ${_fftw_hints}
              PATH_SUFFIXES include)
    find_library(FFTW_LIBRARY fftw3 HINTS ${_fftw_LIBDIR} ${_fftw_hints}
                 PATH_SUFFIXES lib lib64)
else()
    cmake_path(GET UZUSHIO_FFTW PARENT_PATH _fftw_libdir)
    find_path(FFTW_INCLUDE_DIR fftw3.h HINTS "${_fftw_libdir}/../include" ${_fftw_hints}
              PATH_SUFFIXES fftw include)
    if(EXISTS "${UZUSHIO_FFTW}")
        set(FFTW_LIBRARY "${UZUSHIO_FFTW}")
    endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
    FFTW REQUIRED_VARS FFTW_LIBRARY FFTW_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "UZUSHIO_FFTW is '${UZUSHIO_FFTW}': install libfftw3-dev, load the \
cluster's FFTW module, or set UZUSHIO_FFTW to mkl or to the path of a library")
mark_as_advanced(FFTW_INCLUDE_DIR FFTW_LIBRARY)

set(FFTW_FOUND_FOR "${UZUSHIO_FFTW}" CACHE INTERNAL "What UZUSHIO_FFTW was at the last search")
if(FFTW_FOUND AND NOT TARGET FFTW::FFTW)
    add_library(FFTW::FFTW INTERFACE IMPORTED)
    target_include_directories(FFTW::FFTW INTERFACE "${FFTW_INCLUDE_DIR}")
    target_link_libraries(FFTW::FFTW INTERFACE ${FFTW_LIBRARY})
    list(GET FFTW_LIBRARY 0 _fftw_first)
    cmake_path(GET _fftw_first PARENT_PATH FFTW_LIBRARY_DIR)
endif()
