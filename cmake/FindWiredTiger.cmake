# Finds WiredTiger and defines the target WiredTiger::WiredTiger.
#
# Looked at, in this order:
#   WIREDTIGER_ROOT   CMake or environment variable: an install prefix (include/wiredtiger.h,
#                     lib/libwiredtiger.{a,so}) or a WiredTiger build folder. When it is set nothing
#                     else is looked at: a mistake there must not end in another library.
#   the cache folder  where tools/setup/build_wiredtiger.sh installs; the newest build of 11.3.1 in it
#   the system        CMAKE_PREFIX_PATH and the system's folders
#
# Sets WiredTiger_FOUND, WiredTiger_VERSION, WiredTiger_INCLUDE_DIR, WiredTiger_LIBRARY;
# WiredTiger_REASON, when it is not found. The version
# that testbed is made for is 11.3.1, the last release that has direct_io; ask for it with
# find_package(WiredTiger 11.3.1 ...).

include("${CMAKE_CURRENT_LIST_DIR}/StaticLibraryNeeds.cmake")

set(_wiredtiger_hints)
set(_wiredtiger_only)
if(WIREDTIGER_ROOT)
  set(_wiredtiger_hints "${WIREDTIGER_ROOT}")
elseif(NOT "$ENV{WIREDTIGER_ROOT}" STREQUAL "")
  set(_wiredtiger_hints "$ENV{WIREDTIGER_ROOT}")
endif()

if(_wiredtiger_hints)
  set(_wiredtiger_only NO_DEFAULT_PATH)
  get_filename_component(_wiredtiger_hints "${_wiredtiger_hints}" ABSOLUTE
                         BASE_DIR "${CMAKE_BINARY_DIR}")
else()
  if(NOT "$ENV{TESTBED_CACHE_DIR}" STREQUAL "")
    set(_wiredtiger_cache "$ENV{TESTBED_CACHE_DIR}")
  elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(_wiredtiger_cache "$ENV{XDG_CACHE_HOME}/testbed")
  else()
    set(_wiredtiger_cache "$ENV{HOME}/.cache/testbed")
  endif()
  file(GLOB _wiredtiger_builds "${_wiredtiger_cache}/wiredtiger-11.3.1-*/lib/libwiredtiger.a")
  set(_wiredtiger_newest 0)
  foreach(_wiredtiger_build IN LISTS _wiredtiger_builds)
    file(TIMESTAMP "${_wiredtiger_build}" _wiredtiger_time "%s")
    if(_wiredtiger_time GREATER _wiredtiger_newest)
      set(_wiredtiger_newest ${_wiredtiger_time})
      get_filename_component(_wiredtiger_hints "${_wiredtiger_build}/../.." ABSOLUTE)
    endif()
  endforeach()
endif()

# A result of an earlier configuration must not outlive a change of the place that it was found in.
if(NOT "${_wiredtiger_hints}" STREQUAL "${WiredTiger_SEARCHED}")
  unset(WiredTiger_INCLUDE_DIR CACHE)
  unset(WiredTiger_LIBRARY CACHE)
endif()
set(WiredTiger_SEARCHED "${_wiredtiger_hints}" CACHE INTERNAL "Where WiredTiger was looked for")

find_path(WiredTiger_INCLUDE_DIR wiredtiger.h HINTS ${_wiredtiger_hints}
          PATH_SUFFIXES include ${_wiredtiger_only})
find_library(WiredTiger_LIBRARY NAMES libwiredtiger.a wiredtiger HINTS ${_wiredtiger_hints}
             PATH_SUFFIXES lib lib64 "lib/${CMAKE_LIBRARY_ARCHITECTURE}" ${_wiredtiger_only})
mark_as_advanced(WiredTiger_INCLUDE_DIR WiredTiger_LIBRARY)

set(WiredTiger_VERSION)
if(WiredTiger_INCLUDE_DIR)
  foreach(_wiredtiger_part MAJOR MINOR PATCH)
    file(STRINGS "${WiredTiger_INCLUDE_DIR}/wiredtiger.h" _wiredtiger_line
         REGEX "^#define[ \t]+WIREDTIGER_VERSION_${_wiredtiger_part}[ \t]+[0-9]+")
    string(REGEX MATCH "[0-9]+$" _wiredtiger_number "${_wiredtiger_line}")
    list(APPEND WiredTiger_VERSION "${_wiredtiger_number}")
  endforeach()
  list(JOIN WiredTiger_VERSION "." WiredTiger_VERSION)
endif()

static_library_needs("${WiredTiger_LIBRARY}" _wiredtiger_needs _wiredtiger_missing)
if(_wiredtiger_only)
  set(WiredTiger_REASON "There is no WiredTiger (include/wiredtiger.h and lib/libwiredtiger.a) in \
WIREDTIGER_ROOT=${_wiredtiger_hints}")
else()
  set(WiredTiger_REASON "WiredTiger (not in Debian: run tools/setup/build_wiredtiger.sh, or \
-DWIREDTIGER_ROOT=DIR for your own build)")
endif()
set(WiredTiger_USABLE TRUE)
if(_wiredtiger_missing)
  set(WiredTiger_USABLE FALSE)
  set(WiredTiger_REASON "${WiredTiger_LIBRARY} needs libraries that are missing: \
${_wiredtiger_missing}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(WiredTiger
  REQUIRED_VARS WiredTiger_LIBRARY WiredTiger_INCLUDE_DIR WiredTiger_USABLE
  VERSION_VAR WiredTiger_VERSION
  REASON_FAILURE_MESSAGE "${WiredTiger_REASON}")

if(WiredTiger_FOUND AND NOT TARGET WiredTiger::WiredTiger)
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED)
  add_library(WiredTiger::WiredTiger UNKNOWN IMPORTED)
  set_target_properties(WiredTiger::WiredTiger PROPERTIES
    IMPORTED_LOCATION "${WiredTiger_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${WiredTiger_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${_wiredtiger_needs};Threads::Threads;${CMAKE_DL_LIBS}")
endif()
