# Finds the libraries that all of testbed needs, and says by name what is missing and which Debian
# package has it. An engine's own CMakeLists.txt asks for its library by the same two macros.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # an engine's library is linked outside its folder too
function(testbed_missing sentence)
  set_property(GLOBAL APPEND PROPERTY TESTBED_MISSING "${sentence}")
endfunction()
macro(testbed_require name package)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND AND ${name}_REASON)  # our own find modules know more than the name
    testbed_missing("${${name}_REASON}")
  elseif(NOT ${name}_FOUND)
    testbed_missing("${name} (Debian: ${package})")
  endif()
endmacro()

# Header-and-library pairs that come without a CMake package of their own.
# Further arguments are folders of the include path that the header may be in.
macro(testbed_require_library target header library package)
  set_property(GLOBAL PROPERTY TESTBED_LIBRARY_${target} "${target};${header};${library};${package};${ARGN}")
  find_path(${target}_INCLUDE_DIR ${header} PATH_SUFFIXES ${ARGN})
  find_library(${target}_LIBRARY ${library})
  if(${target}_INCLUDE_DIR AND ${target}_LIBRARY)
    add_library(testbed::${target} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(testbed::${target} PROPERTIES
      IMPORTED_LOCATION ${${target}_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${${target}_INCLUDE_DIR})
  else()
    testbed_missing("${library} (Debian: ${package})")
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
testbed_require(fmt libfmt-dev)
testbed_require(CLI11 libcli11-dev)
testbed_require(nlohmann_json nlohmann-json3-dev)
testbed_require(tomlplusplus libtomlplusplus-dev)
testbed_require(muparser libmuparser-dev)
testbed_require(Boost libboost-dev CONFIG)
testbed_require_library(bpf bpf/bpf.h bpf libbpf-dev)
testbed_require_library(fuse3 fuse3/fuse_lowlevel.h fuse3 libfuse3-dev)
testbed_require_library(uring liburing.h uring liburing-dev)
testbed_require_library(xxhash xxhash.h xxhash libxxhash-dev)
testbed_require_library(duktape duktape.h duktape duktape-dev)
testbed_require_library(lz4 lz4.h lz4 liblz4-dev)
testbed_require_library(zstd zstd.h zstd libzstd-dev)
testbed_require_library(snappy snappy.h snappy libsnappy-dev)
testbed_require(ZLIB zlib1g-dev)
testbed_require_library(civetweb civetweb.h civetweb libcivetweb-dev)
testbed_require_library(ncurses ncurses.h ncursesw libncurses-dev)
if(TESTBED_TCMALLOC AND NOT TESTBED_SANITIZE AND NOT TESTBED_FUZZ)  # sanitizers bring an allocator
  testbed_require_library(tcmalloc gperftools/malloc_extension.h tcmalloc_minimal libgoogle-perftools-dev)
endif()
if(TESTBED_TESTS)
  testbed_require(GTest "libgtest-dev libgmock-dev")
endif()
if(TESTBED_BENCH)
  testbed_require(benchmark libbenchmark-dev)
endif()

# Called when all folders have asked for what they need: names everything that is missing at once.
function(testbed_report_missing)
  get_property(missing GLOBAL PROPERTY TESTBED_MISSING)
  if(missing)
    list(JOIN missing "\n  " lines)
    message(FATAL_ERROR "These libraries are missing:\n  ${lines}\n"
      "tools/test.sh installs all of them, and tools/run.sh those of the program without its tests "
      "(-DTESTBED_TESTS=OFF -DTESTBED_BENCH=OFF). -DTESTBED_ROCKSDB=OFF, -DTESTBED_WIREDTIGER=OFF, "
      "-DTESTBED_LMDB=OFF or -DTESTBED_INNODB=OFF build without an engine.")
  endif()
endfunction()
