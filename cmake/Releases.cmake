# Programs that run other releases of an engine than the one that is linked into testbed.
#
#   tools/build_engine.sh rocksdb 10.4.2     writes releases/rocksdb-10.4.2.cmake below the build folder:
#
#   testbed_release(rocksdb 10.4.2 PREFIX /home/me/.cache/testbed/rocksdb-10.4.2-... FROM 2025-07)
#
# Each is the same testbed, linked from the same libraries, but for the engine's own folder, which is
# compiled against the headers of the release, and the engine's library, which is that in PREFIX. It lies in
# releases/rocksdb-10.4.2/testbed below the build folder, beside release.json, which says what it is. The
# build brings all of them up to date with the command itself (target testbed_releases). The conformance suite
# on a release is a target of its own:
#
#   ninja -C build/release testbed_release_rocksdb-10.4.2_tests
#   build/release/releases/rocksdb-10.4.2/testbed_release_rocksdb-10.4.2_tests --gtest_filter='*rocksdb*'

# Reads how the library in `prefix` was built: the line that its builder left there.
function(testbed_recipe prefix out)
  set(recipe "built elsewhere")
  if(EXISTS ${prefix}/share/testbed/recipe)
    file(READ ${prefix}/share/testbed/recipe recipe)
    string(STRIP "${recipe}" recipe)
    string(REGEX REPLACE "[\"\\]" "" recipe "${recipe}")
  endif()
  set(${out} "${recipe}" PARENT_SCOPE)
endfunction()

function(testbed_release engine release)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "PREFIX;FROM;FOLDER" "")
  if(NOT TARGET testbed_engine_${engine})
    message(STATUS "${engine}@${release} is left out: this build is without ${engine}")
    return()
  endif()
  set(libraries ${ARG_PREFIX}/lib/lib${engine}.a ${ARG_PREFIX}/lib64/lib${engine}.a
                ${ARG_PREFIX}/lib/${CMAKE_LIBRARY_ARCHITECTURE}/lib${engine}.a ${ARG_PREFIX}/lib${engine}.a)
  set(library "")
  foreach(file IN LISTS libraries)
    if(NOT library AND EXISTS ${file})
      set(library ${file})
    endif()
  endforeach()
  if(NOT library)
    message(STATUS "${engine}@${release} is left out: there is no lib/lib${engine}.a in ${ARG_PREFIX}")
    return()
  endif()
  # Where the library has no headers beside it, the compiler takes those of another release that the system has. A
  # program whose structures differ from the library's can be linked all the same.
  if(NOT IS_DIRECTORY "${ARG_PREFIX}/include/${engine}" AND NOT EXISTS "${ARG_PREFIX}/include/${engine}.h")
    message(STATUS "${engine}@${release} is left out: there are no headers of ${engine} in ${ARG_PREFIX}/include")
    return()
  endif()
  # A library that is made anew may need others and be built otherwise. One that is gone, as with the whole cache folder,
  # or that needs what is not installed must not fail each build: it leaves the release out.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${library})
  include(StaticLibraryNeeds)
  static_library_needs(${library} needs missing)
  if(missing)
    message(STATUS "${engine}@${release} is left out: ${library} needs libraries that are missing: ${missing}")
    return()
  endif()
  # An installation of the user's own may lack what this tree's recipe gives (cmake/FindRocksDB.cmake says why).
  if(engine STREQUAL "rocksdb" AND release MATCHES "^/")
    static_library_defines(${library} _ZTIN7rocksdb10FileSystemE has_types)
    if(NOT has_types)
      message(STATUS "${engine}@${release} is left out: ${library} was built without run-time type information, which \
testbed needs; build it with USE_RTTI=1")
      return()
    endif()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/releases/${ARG_FOLDER})
  set(program testbed_release_${ARG_FOLDER})
  get_target_property(sources testbed_engine_${engine} SOURCES)
  add_library(${program}_engine OBJECT ${sources})
  target_include_directories(${program}_engine SYSTEM BEFORE PRIVATE ${ARG_PREFIX}/include)
  # An installation that takes the place of another may be older, as when a link leads to it. Ninja compares times alone,
  # and would keep what was compiled and linked with the other; a definition that changes with the library makes it anew.
  file(SIZE ${library} bytes)
  file(TIMESTAMP ${library} time "%s" UTC)
  target_compile_definitions(${program}_engine PRIVATE TESTBED_LIBRARY_MADE=${bytes}_${time})
  target_link_libraries(${program}_engine PRIVATE testbed_device)
  set(brings $<TARGET_OBJECTS:${program}_engine> ${library} ${needs} Threads::Threads ${CMAKE_DL_LIBS})
  add_executable(${program} ${PROJECT_SOURCE_DIR}/tools/main.cc)
  target_link_libraries(${program} PRIVATE ${brings} testbed_tools)
  testbed_recipe(${ARG_PREFIX} recipe)
  set_target_properties(${program} PROPERTIES TESTBED_BRINGS ${engine}
    OUTPUT_NAME testbed RUNTIME_OUTPUT_DIRECTORY ${folder} LINK_DEPENDS ${library})
  file(CONFIGURE OUTPUT ${folder}/release.json @ONLY CONTENT [[
{"engine": "@engine@", "release": "@release@", "from": "@ARG_FROM@", "recipe": "@recipe@", "library": "@library@",
 "made": "@bytes@ @time@"}
]])
  add_dependencies(testbed_releases ${program})
  if(TARGET testbed_engine_tests)  # the conformance suite on this release, by hand
    get_target_property(options testbed_engine_tests LINK_OPTIONS)
    add_executable(${program}_tests EXCLUDE_FROM_ALL $<TARGET_OBJECTS:testbed_engine_tests>)
    target_link_libraries(${program}_tests PRIVATE ${brings} testbed_test_paths testbed_tools GTest::gmock GTest::gtest_main)
    target_link_options(${program}_tests PRIVATE ${options})
    set_target_properties(${program}_tests PROPERTIES TESTBED_BRINGS ${engine} RUNTIME_OUTPUT_DIRECTORY ${folder})
  endif()
endfunction()

add_custom_target(testbed_releases ALL)
file(GLOB releases CONFIGURE_DEPENDS ${PROJECT_BINARY_DIR}/releases/*.cmake)
foreach(file IN LISTS releases)
  include(${file})
endforeach()
