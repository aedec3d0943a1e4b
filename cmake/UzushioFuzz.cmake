# fuzz_decode: the decoder of src/staging under libFuzzer, with the address and undefined-behaviour
# sanitizers. Needs clang, and is compiled apart from the rooms, since they are not instrumented:
#
#   cmake --preset dev -B build/fuzz -DCMAKE_CXX_COMPILER=clang++ -DUZUSHIO_FUZZ=ON
#   cmake --build build/fuzz --target fuzz_decode
#   mkdir -p build/corpus
#   build/fuzz/fuzz_decode -max_total_time=600 -max_len=4096 build/corpus tests/fuzz/corpus
#
# tests/unit/test_staging_corpus.cpp runs the corpus with any compiler.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "UZUSHIO_FUZZ needs clang, which brings libFuzzer: set CMAKE_CXX_COMPILER to clang++")
endif()

set(fuzz_rooms "${PROJECT_SOURCE_DIR}/src/staging")
add_executable(
    fuzz_decode EXCLUDE_FROM_ALL
    "${PROJECT_SOURCE_DIR}/tests/fuzz/decode.cpp"
    "${fuzz_rooms}/datamodel/box.cpp"
    "${fuzz_rooms}/datamodel/step_info.cpp"
    "${fuzz_rooms}/wire/crc32c.cpp"
    "${fuzz_rooms}/wire/decoder.cpp"
    "${fuzz_rooms}/wire/frame_header.cpp"
    "${fuzz_rooms}/wire/message_codec.cpp"
    "${fuzz_rooms}/wire/step_codec.cpp")
target_include_directories(fuzz_decode PRIVATE "${PROJECT_SOURCE_DIR}/src")
set(fuzz_flags -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined)
target_compile_options(fuzz_decode PRIVATE ${fuzz_flags})
target_link_options(fuzz_decode PRIVATE ${fuzz_flags})
