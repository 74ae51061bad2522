#!/usr/bin/env bash
# Asks for components of the CMake package where some of their libraries are missing. The libraries are empty files, and
# the package's own file is made from embed/testbedConfig.cmake.in, so that nothing is built.
#
#   tests/embedding/components.sh WORK_DIR        (made anew; one that somebody else has made is left alone)
set -euo pipefail
unset CDPATH
source "$(dirname -- "${BASH_SOURCE[0]}")/../../tools/setup/own_folder.sh"
source_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
work=$1
empty_own_folder "$work"
mkdir -p -- "$work"/{package,modules,include/{bpf,fuse3},lib}
cd -- "$work"
sed -e 's/^@ROCKSDB_ROOT_line@.*//' -e 's/^@engine_libraries@/  testbed_library(oak oak.h oak liboak-dev)\n/' \
  "$source_dir/embed/testbedConfig.cmake.in" >package/testbedConfig.cmake
for component in account btree engines; do echo "set(defined \${defined}$component,)" >"package/testbed-$component.cmake"; done
for package in Threads fmt; do echo "set(${package}_FOUND TRUE)" >"modules/Find$package.cmake"; done
(cd include && touch bpf/bpf.h liburing.h xxhash.h lz4.h zstd.h fuse3/fuse_lowlevel.h oak.h)
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(components NONE)
set(CMAKE_CXX_COMPILER_LOADED ${CXX})  # a project with C++ has this variable
set(CMAKE_FIND_LIBRARY_PREFIXES lib)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
set(CMAKE_LIBRARY_PATH ${CMAKE_SOURCE_DIR}/lib)
set(CMAKE_INCLUDE_PATH ${CMAKE_SOURCE_DIR}/include)
set(CMAKE_MODULE_PATH ${CMAKE_SOURCE_DIR}/modules)
set(testbed_DIR ${CMAKE_SOURCE_DIR}/package)
find_package(testbed QUIET ${WORDS})
foreach(component account btree engines elm)
  if(testbed_${component}_FOUND)
    string(APPEND found "${component},")
  endif()
endforeach()
message("RESULT ${testbed_FOUND} defined:${defined} found:${found} ${testbed_NOT_FOUND_MESSAGE}")
END

# expect RESULT WORDS...: what find_package(testbed WORDS) comes to.
expect() {
  local expected=$1 found words
  shift
  rm -rf build
  # Ninja, because a machine that builds testbed may have no make.
  words=$(IFS=';'; echo "$*")
  cmake -G Ninja -S . -B build -DCXX="${cxx:-1}" -DWORDS="$words" >cmake.log 2>&1 || { cat cmake.log >&2; exit 1; }
  found=$(sed -n 's/^RESULT //p' cmake.log)
  [[ $found == "$expected"* ]] || { printf 'components: with %s, find_package(testbed %s): expected\n%s\nand found\n%s\n' "$(echo lib/*)" "$*" "$expected" "$found" >&2; exit 1; }
}
libraries() {
  rm -rf lib && mkdir lib
  for name in "$@"; do : >"lib/lib$name.a"; done
}

libraries bpf uring xxhash lz4 zstd fuse3 oak
expect "1 defined:account,btree,engines, found:account,btree,engines,"
expect "1 defined:account,btree, found:account,btree," COMPONENTS btree
libraries bpf uring xxhash lz4 zstd fuse3
expect "1 defined:account,btree, found:account,btree,"
expect "1 defined:account,btree, found:account,btree," COMPONENTS btree OPTIONAL_COMPONENTS engines
expect "0 defined: found: testbed::engines is not there: missing are oak (liboak-dev)" COMPONENTS engines
libraries bpf uring xxhash lz4 fuse3 oak
expect "1 defined:account, found:account,"
expect "1 defined:account, found:account," COMPONENTS account OPTIONAL_COMPONENTS btree elm
expect "0 defined: found: testbed::btree is not there: missing are zstd (libzstd-dev)" COMPONENTS btree
expect "0 defined: found: testbed has no component elm: there are account, btree and engines" COMPONENTS elm
libraries bpf xxhash lz4 zstd
expect "0 defined: found: testbed::account is not there: missing are uring (liburing-dev)"
expect "0 defined: found: testbed::account is not there: missing are uring (liburing-dev)" OPTIONAL_COMPONENTS btree
# A project in C alone has not the linker of C++, which testbed::c needs, too.
libraries bpf uring xxhash lz4 zstd fuse3 oak
cxx=0
expect "0 defined: found: the libraries are C++, and so must the linker be: write project(... LANGUAGES C CXX), or take the shared library" COMPONENTS engines
expect "0 defined: found: the libraries are C++"
echo "components: ok"
