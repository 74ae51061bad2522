# How engines and workloads join the build: by a folder with a CMakeLists.txt, and nothing else.
#
#   testbed_engine(btree LIBRARIES testbed::xxhash)     in engines/btree/CMakeLists.txt
#   testbed_engine_that_loads(pebble)                   in engines/pebble/CMakeLists.txt
#   testbed_workloads(linkbench)                        in workloads/linkbench/CMakeLists.txt
#
# Each takes all .cc files of its folder and of the folders below it. engines/CMakeLists.txt and
# workloads/CMakeLists.txt look for such folders, and for those of -DTESTBED_EXTRA_ENGINES=DIR;... and
# -DTESTBED_EXTRA_WORKLOADS=DIR;..., which need not lie in this tree.

# linkbench -> Linkbench, insert_benchmark -> InsertBenchmark
function(testbed_camel_case name out)
  string(REPLACE "_" ";" words "${name}")
  set(result "")
  foreach(word IN LISTS words)
    string(SUBSTRING "${word}" 0 1 first)
    string(SUBSTRING "${word}" 1 -1 rest)
    string(TOUPPER "${first}" first)
    string(APPEND result "${first}${rest}")
  endforeach()
  set(${out} "${result}" PARENT_SCOPE)
endfunction()

# Adds the folder that calls it to `target`, and its name to the global property `list`.
function(testbed_join target list name)
  cmake_parse_arguments(PARSE_ARGV 3 ARG "" "" "LIBRARIES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  target_sources(${target} PRIVATE ${sources})
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES})
  string(TOUPPER ${name} upper)
  target_compile_definitions(${target} PUBLIC TESTBED_HAVE_${upper}=1)
  set_property(GLOBAL APPEND PROPERTY ${list} ${name})
endfunction()

# The engine's objects are a library of their own, testbed_engine_NAME, because a program may bring
# another release of the engine (cmake/Releases.cmake).
function(testbed_engine name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "LIBRARIES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_library(testbed_engine_${name} OBJECT ${sources})
  target_link_libraries(testbed_engine_${name} PRIVATE testbed_device ${ARG_LIBRARIES})
  testbed_compile_by_room(testbed_engine_${name} 12)
  testbed_begin_with_headers(testbed_engine_${name} measured)
  set_property(GLOBAL APPEND PROPERTY TESTBED_ENGINE_LIBRARIES ${ARG_LIBRARIES})
  testbed_replaceable(${name} libraries ${ARG_LIBRARIES})
  target_sources(testbed_engines PRIVATE $<TARGET_OBJECTS:testbed_engine_${name}>)
  target_link_libraries(testbed_engines INTERFACE ${libraries})
  string(TOUPPER ${name} upper)
  target_compile_definitions(testbed_engines PUBLIC TESTBED_HAVE_${upper}=1)
  set_property(GLOBAL APPEND PROPERTY TESTBED_ENGINES ${name})
endfunction()

# An engine that loads its library at run time, so it is built whether or not the library is there.
# tools/setup/build_NAME.sh builds the library of the engine's folder library/. Of the engine's name in
# capital letters are the option TESTBED_NAME, which leaves it out, NAME_ROOT, an install prefix (by
# default the folder that the script installs in), and TESTBED_NAME_LIBRARY, the file, for its code.
function(testbed_engine_that_loads name)
  string(TOUPPER ${name} upper)
  string(REPLACE "_" "-" shown ${name})
  set(script ${PROJECT_SOURCE_DIR}/tools/setup/build_${name}.sh)
  option(TESTBED_${upper} "Build the ${shown} engine, which loads its library (tools/setup/build_${name}.sh)" ON)
  if(NOT TESTBED_${upper})
    return()
  endif()
  set(root "${${upper}_ROOT}")
  if(NOT root)
    execute_process(COMMAND ${script} --where OUTPUT_VARIABLE root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  # The folder's name follows from these.
  file(GLOB sources CONFIGURE_DEPENDS library/* ${script})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  testbed_engine(${name} LIBRARIES ${CMAKE_DL_LIBS})
  target_compile_definitions(testbed_engine_${name} PRIVATE
    TESTBED_${upper}_LIBRARY="${root}/lib/libtestbed_${name}.so")
endfunction()

function(testbed_workloads name)
  testbed_join(testbed_workloads TESTBED_WORKLOADS ${name} ${ARGN})
endfunction()

# Calls the CMakeLists.txt of each folder here, and of the folders that are given.
macro(testbed_add_folders)
  file(GLOB folders CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(file IN LISTS folders)
    get_filename_component(folder ${file} DIRECTORY)
    add_subdirectory(${folder})
  endforeach()
  foreach(folder IN ITEMS ${ARGN})
    get_filename_component(name ${folder} NAME)
    if(NOT EXISTS ${folder}/CMakeLists.txt)
      message(FATAL_ERROR "There is no ${folder}/CMakeLists.txt: give a folder as engines/btree is one.")
    endif()
    add_subdirectory(${folder} extra_${name})
  endforeach()
endmacro()
