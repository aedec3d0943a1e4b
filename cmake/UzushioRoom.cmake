# Headers that most files include, precompiled once: a fifth of the time of a build.
set(UZUSHIO_HEADERS
    <algorithm> <array> <atomic> <bit> <chrono> <cmath> <cstdint> <cstring> <exception> <filesystem> <functional>
    <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <stdexcept> <string> <string_view>
    <tuple> <utility> <variant> <vector> <mpi.h>)

# uzushio_room(<folder> DEPENDS <target>... [HEADERS <header>...])
#
# Make src/<folder>/, with its folders, the library uzushio::<name>, <name> being the last part of <folder>: static, or header-only while it holds no .cpp file.
# Every room made so is linked into the extension and the tests. Headers are included from src/ ("parallel/block.hpp").
# HEADERS are precompiled for this room, beside UZUSHIO_HEADERS; without them, the first room's are used.
function(uzushio_room folder)
    cmake_parse_arguments(PARSE_ARGV 1 room "" "" "DEPENDS;HEADERS")
    cmake_path(GET folder FILENAME name)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp")

    if(sources)
        set(scope PUBLIC)
        add_library(uzushio_${name} STATIC ${sources})
        target_link_libraries(uzushio_${name} PRIVATE uzushio::flags)
        get_property(first GLOBAL PROPERTY UZUSHIO_FIRST_ROOM)
        if(room_HEADERS OR NOT first)
            target_precompile_headers(uzushio_${name} PRIVATE ${UZUSHIO_HEADERS} ${room_HEADERS})
        else()
            target_precompile_headers(uzushio_${name} REUSE_FROM ${first})
        endif()
        if(NOT first)
            set_property(GLOBAL PROPERTY UZUSHIO_FIRST_ROOM uzushio_${name})
        endif()
    else()
        set(scope INTERFACE)
        add_library(uzushio_${name} INTERFACE)
    endif()
    target_include_directories(uzushio_${name} ${scope} "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(uzushio_${name} ${scope} ${room_DEPENDS})
    add_library(uzushio::${name} ALIAS uzushio_${name})
    set_property(GLOBAL APPEND PROPERTY UZUSHIO_ROOMS uzushio::${name})
endfunction()

# uzushio_folders(<room> <folder>...): an error if a folder of src/<room>/ includes a header of a later one.
function(uzushio_folders room)
    set(later ${ARGN})
    foreach(folder IN LISTS ARGN)
        list(POP_FRONT later)
        string(JOIN "|" names ${later})
        file(GLOB_RECURSE files "${PROJECT_SOURCE_DIR}/src/${room}/${folder}/*.[ch]pp")
        foreach(file IN LISTS files)
            file(STRINGS "${file}" includes REGEX "#include \"${room}/(${names})/")
            if(includes AND later)
                message(FATAL_ERROR "${file} includes a header of a later folder of src/${room}: ${includes}")
            endif()
        endforeach()
    endforeach()
endfunction()
