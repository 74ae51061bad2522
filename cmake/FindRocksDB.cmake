# Finds RocksDB and defines the target RocksDB::RocksDB.
#
# Looked at: ROCKSDB_ROOT (CMake or environment variable: an install prefix, or a RocksDB source
# folder after `make shared_lib` or `make static_lib`) and nothing else when it is set, because a
# mistake there must not end in another library; else CMAKE_PREFIX_PATH and the system. The shared
# library comes first where there are both: Debian's db_bench uses it too, so that figures of both
# can be compared.
#
# The library must have run-time type information (Debian's has; a release build by hand needs
# USE_RTTI=1), since testbed derives from RocksDB's FileSystem.
#
# Sets RocksDB_FOUND, RocksDB_VERSION, RocksDB_INCLUDE_DIR, RocksDB_LIBRARY; RocksDB_REASON, when it
# is not found.
#
# A module of our own and not RocksDB's CMake package: that one asks for the development package of
# everything RocksDB was built with even for the shared library, and a Makefile build has none.

include("${CMAKE_CURRENT_LIST_DIR}/StaticLibraryNeeds.cmake")

set(_rocksdb_hints)
set(_rocksdb_only)
if(ROCKSDB_ROOT)
  set(_rocksdb_hints "${ROCKSDB_ROOT}")
elseif(NOT "$ENV{ROCKSDB_ROOT}" STREQUAL "")
  set(_rocksdb_hints "$ENV{ROCKSDB_ROOT}")
endif()
if(_rocksdb_hints)
  set(_rocksdb_only NO_DEFAULT_PATH)
  get_filename_component(_rocksdb_hints "${_rocksdb_hints}" ABSOLUTE BASE_DIR "${CMAKE_BINARY_DIR}")
endif()

# A result of an earlier configuration must not outlive a change of the place that it was found in.
if(NOT "${_rocksdb_hints}" STREQUAL "${RocksDB_SEARCHED}")
  unset(RocksDB_INCLUDE_DIR CACHE)
  unset(RocksDB_LIBRARY CACHE)
endif()
set(RocksDB_SEARCHED "${_rocksdb_hints}" CACHE INTERNAL "Where RocksDB was looked for")

find_path(RocksDB_INCLUDE_DIR rocksdb/db.h HINTS ${_rocksdb_hints}
          PATH_SUFFIXES include ${_rocksdb_only})
find_library(RocksDB_LIBRARY rocksdb HINTS ${_rocksdb_hints}
             PATH_SUFFIXES lib lib64 "lib/${CMAKE_LIBRARY_ARCHITECTURE}" build ${_rocksdb_only})
mark_as_advanced(RocksDB_INCLUDE_DIR RocksDB_LIBRARY)

set(RocksDB_VERSION)
if(EXISTS "${RocksDB_INCLUDE_DIR}/rocksdb/version.h")
  foreach(_rocksdb_part MAJOR MINOR PATCH)
    file(STRINGS "${RocksDB_INCLUDE_DIR}/rocksdb/version.h" _rocksdb_line
         REGEX "^#define[ \t]+ROCKSDB_${_rocksdb_part}[ \t]+[0-9]+")
    string(REGEX MATCH "[0-9]+$" _rocksdb_number "${_rocksdb_line}")
    list(APPEND RocksDB_VERSION "${_rocksdb_number}")
  endforeach()
  list(JOIN RocksDB_VERSION "." RocksDB_VERSION)
endif()

if(_rocksdb_only)
  set(RocksDB_REASON "There is no RocksDB (include/rocksdb/db.h and librocksdb.so or librocksdb.a) \
in ROCKSDB_ROOT=${_rocksdb_hints}")
else()
  set(RocksDB_REASON "RocksDB (Debian: librocksdb-dev, or -DROCKSDB_ROOT=DIR for your own build)")
endif()

set(RocksDB_USABLE TRUE)
set(_rocksdb_needs)
if(RocksDB_LIBRARY)
  static_library_needs("${RocksDB_LIBRARY}" _rocksdb_needs _rocksdb_missing)
  set(_rocksdb_dynamic)
  if(NOT RocksDB_LIBRARY MATCHES "\\.a$")
    set(_rocksdb_dynamic --dynamic)
  endif()
  execute_process(COMMAND "${CMAKE_NM}" ${_rocksdb_dynamic} --defined-only "${RocksDB_LIBRARY}"
                  OUTPUT_VARIABLE _rocksdb_symbols RESULT_VARIABLE _rocksdb_nm_failed ERROR_QUIET)
  string(FIND "${_rocksdb_symbols}" "_ZTIN7rocksdb10FileSystemE" _rocksdb_typeinfo)
  if(NOT _rocksdb_nm_failed AND _rocksdb_typeinfo LESS 0)
    set(RocksDB_USABLE FALSE)
    set(RocksDB_REASON "${RocksDB_LIBRARY} was built without run-time type information, which \
testbed needs; build it with USE_RTTI=1")
  elseif(_rocksdb_missing)
    set(RocksDB_USABLE FALSE)
    set(RocksDB_REASON "${RocksDB_LIBRARY} needs libraries that are missing: ${_rocksdb_missing}")
  endif()
  unset(_rocksdb_symbols)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RocksDB
  REQUIRED_VARS RocksDB_LIBRARY RocksDB_INCLUDE_DIR RocksDB_USABLE
  VERSION_VAR RocksDB_VERSION
  REASON_FAILURE_MESSAGE "${RocksDB_REASON}")

if(RocksDB_FOUND AND NOT TARGET RocksDB::RocksDB)
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED)
  add_library(RocksDB::RocksDB UNKNOWN IMPORTED)
  set_target_properties(RocksDB::RocksDB PROPERTIES
    IMPORTED_LOCATION "${RocksDB_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${RocksDB_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${_rocksdb_needs};Threads::Threads;${CMAKE_DL_LIBS}")
endif()
