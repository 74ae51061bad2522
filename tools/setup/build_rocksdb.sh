#!/usr/bin/env bash
# Builds one release of RocksDB as a static library, once per machine and user, and prints the folder
# it is installed in, which is the only line on stdout:
#
#   tools/setup/build_rocksdb.sh 10.4.2           build it if it is not there yet (15 processor minutes)
#   tools/setup/build_rocksdb.sh --where 10.4.2   print the folder it is or would be in, build nothing
#
# tools/build_engine.sh calls it, and makes a testbed that runs the release. The releases, and the
# packages that hold their sources, are in tools/setup/engine_releases. All are built by one recipe:
# compiler, flags and compression libraries are the same, so that two releases differ in their own
# source alone. The folder holds include/, lib/librocksdb.a, share/licenses/rocksdb/ and
# share/testbed/recipe, one line that says how it was built. It is
#
#   ${TESTBED_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/testbed}/rocksdb-<release>-<recipe>
#
# and <recipe> is a hash of what decides the library's contents (source, options, compiler version).
#
# Environment: CC and CXX (compilers, default cc and c++), TESTBED_CACHE_DIR, TESTBED_ROCKSDB_CRATE
# (path of an already downloaded package, for machines without a network or cargo), TESTBED_JOBS
# (parallel jobs; default: one for each processor, but at most one for each 1.5 GB of free memory).
#
# Safe to run several times at once (a lock) and to kill (the folder appears by one rename, and the next
# call goes on where a killed one was). Needs: a C++ compiler, cmake, ninja, cargo, headers of snappy, lz4,
# zstd and zlib.
set -euo pipefail

# shellcheck source=tools/setup/library.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/library.sh"

take_release rocksdb RocksDB "$@"

cc=${CC:-cc}
cxx=${CXX:-c++}
# RocksDB's own Makefile compiles a release build with -O2. This script chooses the processor's
# checksum instructions, because each release has a rule of its own for them. Releases before 7
# leave out headers that GCC 13 requires.
cxx_flags='-O2 -DNDEBUG'
common='-w -include cstdint'
case $(uname -m) in
  x86_64) machine='-msse4.2 -mpclmul' ;;
  aarch64) machine='-march=armv8-a+crc+crypto' ;;
  *) machine='' ;;
esac
options=(
  -DCMAKE_BUILD_TYPE=Release -DPORTABLE=1 -DUSE_RTTI=1 -DFAIL_ON_WARNINGS=0
  -DROCKSDB_BUILD_SHARED=0 -DWITH_TESTS=0 -DWITH_TOOLS=0 -DWITH_CORE_TOOLS=0 -DWITH_TRACE_TOOLS=0
  -DWITH_BENCHMARK_TOOLS=0 -DWITH_GFLAGS=0 -DWITH_LIBURING=0 -DWITH_NUMA=0 -DWITH_TBB=0 -DWITH_JEMALLOC=0
  -DWITH_BZ2=0 -DWITH_SNAPPY=1 -DWITH_LZ4=1 -DWITH_ZSTD=1 -DWITH_ZLIB=1
)

command -v "$cxx" >/dev/null ||
  die "RocksDB needs a C++ compiler, and there is no '$cxx' (Debian: apt install g++)."
recipe=$(recipe_of "$cxx" "$release $package_sha256 $cxx_flags $common $machine ${options[*]}")
prefix=$cache/rocksdb-$release-$recipe

if [[ -n $where || -e $prefix/lib/librocksdb.a ]]; then
  echo "$prefix"
  exit 0
fi

for tool in cmake ninja; do
  command -v "$tool" >/dev/null ||
    die "RocksDB's build needs $tool (Debian: apt install cmake ninja-build)."
done
enter_cache "rocksdb-$release" "RocksDB $release" "$prefix" lib/librocksdb.a

# A killed build leaves this folder, and the next call of the same recipe goes on in it.
work=$cache/.rocksdb-$release-$recipe.build
log=$cache/rocksdb-$release-$recipe.log
mkdir -p "$work"
[[ -w $work ]] ||
  die "the build in $work is another user's, who was killed: remove that folder as that user."
# When root builds in a user's cache folder, the folder is given to that user, whose next call may go on with
# it.
trap '[[ -z $cache_owner || ! -e $work ]] || chown -hR -- "$cache_owner" "$work" || true' EXIT
rm -f -- "$log"

source=$work/source/rocksdb
if [[ ! -e $work/unpacked ]]; then
  rm -rf -- "$work/source"
  fetch_crate "$work/package" "RocksDB $release" "$package" "$version" "$package_sha256" TESTBED_ROCKSDB_CRATE
  mkdir -p "$work/source"
  step "unpacking RocksDB" \
    tar -xzf "$work/package" -C "$work/source" --strip-components=1 --no-same-owner
  : >"$work/unpacked"
fi

# Compiling a file of RocksDB takes up to 1.5 GB of memory.
free_kb=$(awk '$1 == "MemAvailable:" {print $2}' /proc/meminfo)
jobs=$((free_kb / 1500000))
processors=$(nproc)
((jobs <= processors)) || jobs=$processors
((jobs >= 1)) || jobs=1
jobs=${TESTBED_JOBS:-$jobs}
say "building RocksDB $release once: about 15 processor minutes, $jobs at a time"
export CCACHE_DISABLE=1 # the cache folder keeps the library already
step "configuring RocksDB" env -u CMAKE_C_COMPILER_LAUNCHER -u CMAKE_CXX_COMPILER_LAUNCHER \
  CC="$cc" CXX="$cxx" cmake -S "$source" -B "$work/build" -G Ninja "${options[@]}" \
  "-DCMAKE_CXX_FLAGS_RELEASE=$cxx_flags" \
  "-DCMAKE_CXX_FLAGS=$common $machine \"-ffile-prefix-map=$source=rocksdb-$release\""

# Shows ninja's own count of files, a line every half minute or so.
progress() {
  local line last=0
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    if ((SECONDS - last >= 30)); then
      last=$SECONDS
      say "RocksDB $release: file ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
    fi
  done
}
: >"$log"
ninja -C "$work/build" -j "$jobs" librocksdb.a 2>&1 9>&- </dev/null | progress || {
  grep -m3 -A8 -E 'FAILED|error:' "$log" >&2 || true
  die "building RocksDB $release failed; the whole output is in $log."
}

install=$work/install
rm -rf -- "$install"
mkdir -p "$install/lib" "$install/share/testbed"
cp -r -- "$source/include" "$install/include"
cp -- "$work/build/librocksdb.a" "$install/lib/"
install -D -m 644 -t "$install/share/licenses/rocksdb" "$source/COPYING" "$source/LICENSE.Apache" "$source/LICENSE.leveldb"
printf '%s, %s %s %s, static; snappy lz4 zstd zlib; recipe %s\n' "$("$cxx" --version | head -1)" \
  "$cxx_flags" "$machine" "PORTABLE USE_RTTI" "$recipe" >"$install/share/testbed/recipe"
publish "$install" "$prefix"
rm -rf -- "$work"
