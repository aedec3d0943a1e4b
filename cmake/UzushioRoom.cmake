# uzushio_room(<folder> DEPENDS <target>...)
#
# Make src/<folder>/, with its folders, the library uzushio::<name>, <name> being the last part of <folder>: static, or header-only while it holds no .cpp file.
# Every room made so is linked into the extension and the tests. Headers are included from src/ ("parallel/block.hpp").
function(uzushio_room folder)
    cmake_parse_arguments(PARSE_ARGV 1 room "" "" DEPENDS)
    cmake_path(GET folder FILENAME name)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp")

    if(sources)
        set(scope PUBLIC)
        add_library(uzushio_${name} STATIC ${sources})
        target_link_libraries(uzushio_${name} PRIVATE uzushio::flags)
    else()
        set(scope INTERFACE)
        add_library(uzushio_${name} INTERFACE)
    endif()
    target_include_directories(uzushio_${name} ${scope} "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(uzushio_${name} ${scope} ${room_DEPENDS})
    add_library(uzushio::${name} ALIAS uzushio_${name})
    set_property(GLOBAL APPEND PROPERTY UZUSHIO_ROOMS uzushio::${name})
endfunction()
