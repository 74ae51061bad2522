# Compiles the files of a room (a folder) together, some at a time. Most of a first build is the reading
# of headers (fmt, nlohmann-json, CLI11, googletest) and the code of their templates, which each file
# would have anew. A name in an unnamed namespace is therefore given once in a room.
#
#   testbed_compile_by_room(testbed_tools 12)     at most 12 files of a room at a time
#   testbed_compile_by_room(testbed_tools 12 "CLI/CLI.hpp" cli)
#                                                 those that include this header make a room `cli`
#
# Whoever works on a few files compiles less without it: -DTESTBED_BY_ROOM=OFF.

option(TESTBED_BY_ROOM "Compile the files of a room together" ON)

# GCC collects its garbage when its heap has doubled, which is up to a tenth of the time of a room. With
# memory for it (1.1 GB for the largest), it need not. Tools that take a single file's command, such as
# clang-tidy, do not know the option.
cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR memory_mib "${memory_mib} / ${processors}")
if(TESTBED_BY_ROOM AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND memory_mib GREATER_EQUAL 3000)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=2000000>")
endif()

function(testbed_compile_by_room target most)
  if(NOT TESTBED_BY_ROOM)
    return()
  endif()
  set(header "${ARGV2}")
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(room ${source} DIRECTORY)
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${room})
    if(header AND EXISTS ${source})
      file(STRINGS ${source} includes REGEX "^#include <${header}>")
      if(includes)
        set(name ${ARGV3})
      endif()
    endif()
    string(MAKE_C_IDENTIFIER "${name}" name)
    if(NOT DEFINED files_${name})
      set(files_${name} 0)
    endif()
    math(EXPR part "${files_${name}} / ${most}")
    math(EXPR files_${name} "${files_${name}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${part})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes the files for headers, in which an unnamed namespace is most often a mistake.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# Compiles what is not measured (the tools, the tests) in half of the time. Programs with sanitizers
# keep the debug information that their stacks are printed with.
function(testbed_compile_lightly target)
  if(NOT TESTBED_SANITIZE AND NOT TESTBED_FUZZ)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-Og -g0>)
  endif()
endfunction()

# Has a target's files begin with headers that are compiled once for all targets with the same flags: `measured` for
# those that are optimized, `light` after testbed_compile_lightly. That saves a tenth of a first build. Each file still
# includes what it uses, as files that are compiled alone (TESTBED_BY_ROOM=OFF, as the linter does) have no such
# headers. CMAKE_DISABLE_PRECOMPILE_HEADERS leaves them out, too.
function(testbed_begin_with_headers target flags)
  if(NOT TESTBED_BY_ROOM)
    return()
  endif()
  set(headers testbed_headers_${flags})
  if(NOT TARGET ${headers})
    set(source ${PROJECT_BINARY_DIR}/${headers}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(${headers} OBJECT ${source})
    set(files <algorithm> <array> <atomic> <cerrno> <chrono> <cstddef> <cstdint> <cstring> <filesystem> <functional> <map>
        <memory> <optional> <set> <string> <string_view> <thread> <utility> <vector> <fmt/format.h>)
    target_link_libraries(${headers} PRIVATE fmt::fmt)
    if(flags STREQUAL "light")
      list(APPEND files <cmath> <fmt/ranges.h> <nlohmann/json.hpp>)
      target_link_libraries(${headers} PRIVATE nlohmann_json::nlohmann_json)
      testbed_compile_lightly(${headers})
    endif()
    target_precompile_headers(${headers} PRIVATE ${files})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()
