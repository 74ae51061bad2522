#!/usr/bin/env bash
# Builds a release of an engine, and a testbed that runs it:
#
#   tools/build_engine.sh rocksdb 10.4.2         then: testbed --engine rocksdb@10.4.2
#   tools/build_engine.sh wiredtiger 11.2.0
#   tools/build_engine.sh lmdb 0.9.70
#   tools/build_engine.sh rocksdb /opt/rocksdb   an installation of your own: testbed --engine rocksdb@/opt/rocksdb
#   tools/build_engine.sh                        list the releases that can be built
#   tools/build_engine.sh --remove rocksdb 10.4.2   remove its program; the library stays in the cache
#
# The library is built once per machine and user, by one recipe for all releases of the engine, in the
# cache folder (tools/setup/build_rocksdb.sh, build_wiredtiger.sh and build_lmdb.sh, which say how): about 15
# processor minutes for RocksDB, one for WiredTiger, a few seconds for LMDB. The program is linked from this build
# of testbed in about a minute, and again by each later build of it.
#
# Environment: TESTBED_BUILD_DIR (the build folder, default build/release), and what these scripts
# take. Needs a built testbed: tools/run.sh builds it.
set -euo pipefail
unset CDPATH
source "$(dirname -- "${BASH_SOURCE[0]}")/setup/own_folder.sh"

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
table=$root/tools/setup/engine_releases
build=${TESTBED_BUILD_DIR:-$root/build/release}

say() { printf 'testbed: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 2
}
releases_of() { awk -v e="$1" '$1 == e {print $2}' "$table" | paste -sd' '; }
engines() { awk '!/^#/ && NF {print $1}' "$table" | sort -u | paste -sd' '; }

remove=
if [[ ${1:-} == --remove ]]; then
  remove=1
  shift
fi
if [[ $# -eq 0 && -z $remove ]]; then
  for engine in $(engines); do echo "$engine: $(releases_of "$engine")"; done
  exit 0
fi
engine=${1:-} release=${2:-}
[[ $# -eq 2 ]] || die "build_engine.sh takes an engine and a release, such as: tools/build_engine.sh rocksdb 10.4.2."
[[ -n $(releases_of "$engine") ]] || die "there are no releases of '$engine'; build_engine.sh builds $(engines)."
[[ $release == latest ]] && release=$(releases_of "$engine" | awk '{print $NF}')
if [[ $release == /* ]]; then
  while [[ $release == /*/ ]]; do release=${release%/}; done
  folder=$engine-$(sha256sum <<<"$release" | cut -c1-8)
else
  folder=$engine-$release
  [[ " $(releases_of "$engine") " == *" $release "* ]] ||
    die "there is no release $release of $engine here; build_engine.sh has $(releases_of "$engine"), and takes the path of an installation."
fi
# The folder releases/ may be changed only in a folder that really is a build.
if ! is_build_folder "$build" || [[ ! -e $build/build.ninja ]]; then
  die "there is no built testbed in $build: run tools/run.sh first, or name its folder in TESTBED_BUILD_DIR."
fi
description=$build/releases/$folder.cmake
if [[ -n $remove ]]; then
  rm -rf -- "$description" "${build:?}/releases/$folder"
  exit 0
fi
# This lock lets one library be built at a time, because each build uses all processors.
exec 8>"$build/.releases.lock"
flock 8

from=$(awk -v e="$engine" -v r="$release" '$1 == e && $2 == r {print $3}' "$table")
if [[ $release == /* ]]; then
  compgen -G "$release/lib*/lib$engine.a" >/dev/null || compgen -G "$release/lib/*/lib$engine.a" >/dev/null ||
    die "there is no lib/lib$engine.a in $release: give the prefix of an installation with a static library."
  # Where the library has no headers beside it, the compiler takes those of the release that the system has.
  [[ -d $release/include/$engine || -f $release/include/$engine.h ]] ||
    die "there are no headers of $engine in $release/include: give the prefix of an installation that has the headers of its library."
  prefix=$release
else
  prefix=$("$root/tools/setup/build_$engine.sh" "$release" 8>&-)
fi

# The lock of the build folder keeps two ninjas out of it, which would spoil each other's files. tools/run.sh
# and tools/test.sh hold it while they build. run.sh hands its descriptor to this script; test.sh may be waiting
# for the lock of the libraries, so this script releases that lock first.
exec 8>&-
lock=$build/.lock
[[ ! $build/.. -ef $root/build ]] || lock=$root/build/.lock
if [[ ! /proc/$$/fd/9 -ef $lock ]]; then
  exec 9>"$lock"
  if ! flock --nonblock 9; then
    say "waiting for another script that builds in ${lock%/.lock}"
    flock 9
  fi
fi
mkdir -p "$build/releases"
printf 'testbed_release(%s "%s" FOLDER %s PREFIX "%s" FROM "%s")\n' \
  "$engine" "$release" "$folder" "$prefix" "$from" >"$description.new"
mv -- "$description.new" "$description"
log=$build/releases/$folder.log
say "linking testbed for $engine@$release"
if ! { cmake "$build" && ninja -C "$build" -j "${TESTBED_JOBS:-$(nproc)}" "testbed_release_$folder" testbed; } >"$log" 2>&1 9>&-; then
  rm -f -- "$description"
  grep -m1 -F -e "$engine@$release is left out" -- "$log" >&2 ||
    grep -m1 -F '#error' -- "$log" >&2 || # of engines/NAME/versions.h; other errors may come before it
    grep -m5 -A2 -E 'error:|Error|undefined reference' -- "$log" >&2 || tail -n 25 -- "$log" >&2
  die "testbed cannot be linked with $engine@$release; the whole output is in $log."
fi
say "ready: testbed --engine $engine@$release ($(cat "$prefix/share/testbed/recipe" 2>/dev/null || echo 'built elsewhere'))"
