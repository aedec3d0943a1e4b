# Asio::Asio: standalone Asio, header-only (Debian's libasio-dev).
find_path(ASIO_INCLUDE_DIR asio.hpp HINTS ${ASIO_ROOT} $ENV{ASIO_ROOT} PATH_SUFFIXES include)
mark_as_advanced(ASIO_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Asio REQUIRED_VARS ASIO_INCLUDE_DIR)

if(Asio_FOUND AND NOT TARGET Asio::Asio)
    add_library(Asio::Asio INTERFACE IMPORTED)
    target_include_directories(Asio::Asio INTERFACE "${ASIO_INCLUDE_DIR}")
    # Asio's use of aligned_alloc depends on the headers that a file includes before it. One file
    # may free the memory of another, so aligned_alloc is disabled in all of them.
    target_compile_definitions(Asio::Asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED
                                                    ASIO_DISABLE_STD_ALIGNED_ALLOC)
endif()
