# Asio::Asio: standalone Asio, header-only (Debian's libasio-dev).
find_path(ASIO_INCLUDE_DIR asio.hpp HINTS ${ASIO_ROOT} $ENV{ASIO_ROOT} PATH_SUFFIXES include)
mark_as_advanced(ASIO_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Asio REQUIRED_VARS ASIO_INCLUDE_DIR)

if(Asio_FOUND AND NOT TARGET Asio::Asio)
    add_library(Asio::Asio INTERFACE IMPORTED)
    target_include_directories(Asio::Asio INTERFACE "${ASIO_INCLUDE_DIR}")
    # Whether Asio finds aligned_alloc depends on what a file includes before it, and memory goes
    # from one file to another: all must do without.
    target_compile_definitions(Asio::Asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED
                                                    ASIO_DISABLE_STD_ALIGNED_ALLOC)
endif()
