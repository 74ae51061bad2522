#!/usr/bin/env bash
# Installs the libraries of a build in a prefix of its own, builds examples/ against them as another project
# would, runs the examples, and looks into what they have linked.
#
#   tests/embedding/check.sh BUILD_DIR WORK_DIR [COMPILER_FLAGS]
#
# WORK_DIR is made anew; one that somebody else has made is left alone. The flags are those of a sanitizer that the build
# has: its programs need it, too.
set -euo pipefail
unset CDPATH
source "$(dirname -- "${BASH_SOURCE[0]}")/../../tools/setup/own_folder.sh"
source_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build_dir=$1 work=$2 flags=${3:-}
empty_own_folder "$work"
mkdir -p -- "$work/first"
die() { printf 'embedding: %s\n' "$*" >&2; exit 1; }
# expect WHAT EXPECTED FOUND
expect() { [[ $2 == "$3" ]] || die "$1: expected"$'\n'"$2"$'\n'"and found"$'\n'"$3"; }

# The fields of the Debian package name packages alone: dpkg refuses a package with anything else in them.
name='[a-z0-9][a-z0-9+.-]+'
for field in DEPENDS RECOMMENDS; do
  packages=$(sed -n "s/^set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_$field \"\(.*\)\")\$/\1/p" "$build_dir/CPackConfig.cmake")
  [[ $packages =~ ^$name(, $name)*$ ]] || die "libtestbed-dev: the field $field is \"$packages\""
done

# The prefix is moved after the installation: nothing in it may name its first place.
cmake --install "$build_dir" --prefix "$work/first/prefix" --component development >"$work/install.log"
mv -- "$work/first/prefix" "$work/prefix"
prefix=$work/prefix
[[ -f $prefix/share/doc/libtestbed-dev/LICENSE && -f $prefix/share/doc/libtestbed-dev/LICENSES/GPL-3.0-only.txt ]] || die "the licences are not installed"
cmake -S "$source_dir/examples" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_C_FLAGS="$flags" >"$work/configure.log" 2>&1 || { cat -- "$work/configure.log"; die "examples/ cannot be configured"; }
ninja -C "$work/build" >"$work/build.log" 2>&1 || { cat -- "$work/build.log"; die "examples/ cannot be built"; }
cd -- "$work"
bin=$work/build

# The programs do what they say.
store() { "$bin/key_value_store" "$work/store" "$@"; }
store put ada 1815 grace 1906
store put edsger 1930
expect "get" 1906 "$(store get grace)"
store erase grace
expect "list" $'ada\t1815\nedsger\t1930' "$(store list)"
store backup "$work/copy"
expect "list of the backup" $'ada\t1815\nedsger\t1930' "$("$bin/key_value_store" "$work/copy" list)"
status=0
"$bin/key_value_store" /proc/nothing list 2>sentence || status=$?
((status == 1 || status == 2)) || die "a directory that cannot be made ends with $status, not with an error"
[[ $(wc -l <sentence) == 1 ]] || die "a failure is not one sentence: $(cat sentence)"

# The databases of earlier releases open: of each archive one that was closed, and one whose process was killed
# after its last commits. A format that changes gets a further archive; the old ones stay. btree-format-1 is as
# the first program left it. btree-checkpoint-2 has checkpoint files with witness pages, and its killed database was
# killed a second time after a recovery. btree-options was made with compressed pages (LZ4), with page images in the
# log, and with a change buffer, in which rows wait for their leaves. The sums are those of all rows.
declare -A rows=(
  [btree-format-1/closed]=a3ec43beac6becf3409bc4e8a1efc7c00aec4b6768b91571c51c054f884432ae
  [btree-format-1/killed]=a3ec43beac6becf3409bc4e8a1efc7c00aec4b6768b91571c51c054f884432ae
  [btree-checkpoint-2/closed]=28801be98dc0eb48b547e07d736a4ab21b096d6cce9b116b40d33e27698468df
  [btree-checkpoint-2/killed]=3968adcee9f125e8ea5575fabb07ab4b752dc121a623c34f47f9c4b007a1292a
  [btree-options/closed]=4ca83e79d00175df2ceb8d5816b750305258c39570cb3f1862dae766843f1865
  [btree-options/killed]=a6bf3f0f204d39a16a4dfdd71f4ba2f7f2688bdf9ec901b87b41569c05d2420b
)
archives=("$source_dir"/tests/embedding/databases/*.tar.xz)
((2 * ${#archives[@]} == ${#rows[@]})) || die "the sums are not those of the archives: ${archives[*]}"
for archive in "${archives[@]}"; do
  rm -rf -- "$work/old"
  python3 -m tarfile -e "$archive" "$work/old"
  for end in closed killed; do
    database=$(basename -- "$archive" .tar.xz)/$end
    expect "rows of the database $database" "${rows[$database]:-a sum in this script}  -" \
      "$("$bin/key_value_store" "$work/old/$end" list | sha256sum)"
  done
done

for engine in btree fractal; do
  expect "any_engine $engine" $'ada\t1815\nedsger\t1930\ngrace\t1906' "$("$bin/any_engine" "$engine" "$work/any-$engine")"
done
# A benchmark of one's own has the ledger's counts of an operation, and leaves no database behind.
if [[ -x $bin/own_benchmark ]]; then
  "$bin/own_benchmark" --benchmark_filter='btree|fractal|leveldb' --benchmark_min_time=0.01 --benchmark_format=json >benchmark.json 2>benchmark.errors ||
    { cat benchmark.errors; die "own_benchmark failed"; }
  python3 - <<'END' || die "own_benchmark: $(cat benchmark.json)"
import json
lines = {b["name"]: b for b in json.load(open("benchmark.json"))["benchmarks"]}
assert lines["ReadBalance/fractal/real_time"]["file_reads"] == 0, "all rows are in the cache"
assert lines["ReadBalance/btree/real_time/threads:2"]["threads"] == 2
changed = lines["ChangeBalance/btree/iterations:100/real_time"]
assert changed["iterations"] == 100 and changed["syncs"] == 1 and changed["file_write_bytes"] > 100, changed
assert "leveldb is not known" in lines["ChangeBalance/leveldb/real_time"]["error_message"]
END
  [[ -z $(find . -maxdepth 1 -name 'testbed_benchmark_*') ]] || die "own_benchmark leaves a database behind"
fi
expect "own_engine" "shelf: 1815" "$("$bin/own_engine")"
"$bin/own_operations" "$work/records" >costs 2>costs.errors || { cat costs.errors; die "own_operations failed"; }
grep -qx 'import: 64 operations, 0 reads of 0 bytes, 64 writes of 2097152 bytes, 64 syncs' costs || die "own_operations: $(cat costs)"
grep -qx 'look-up: 100 operations, 100 reads of 51200 bytes, 0 writes of 0 bytes, 0 syncs' costs || die "own_operations: $(cat costs)"
expect "key_value_store_c" $'ada: 1815\nada\t1815\ngrace\t1906\nrefused: the database has sessions that are open: close them first' \
  "$("$bin/key_value_store_c" btree "$work/c")"

# The b-tree is the engine alone: what its program links has no symbol that the harness or another engine defines.
mapfile -t archives < <(ninja -C "$bin" -t commands key_value_store | grep -o "$prefix/[^ ]*\.a" | sort -u)
((${#archives[@]} >= 3)) || die "the archives of key_value_store are not found: ${archives[*]}"
defined() { nm --defined-only --extern-only --quiet "$@" 2>/dev/null | awk 'NF == 3 && $2 ~ /[TDBR]/ { print $3 }' | sort -u; }
symbols() { nm --extern-only --quiet "$@" 2>/dev/null | awk 'NF >= 2 { print $NF }' | sort -u; }
harness=()
for archive in "$build_dir"/tools/libtestbed_tools.a "$build_dir"/workloads/libtestbed_workloads.a; do
  [[ -f $archive ]] && harness+=("$archive")
done
((${#harness[@]} == 2)) || die "the harness's libraries are not built"
defined "${harness[@]}" >harness.symbols
symbols "${archives[@]}" >closure.symbols
[[ $(wc -l <harness.symbols) -gt 1000 && $(wc -l <closure.symbols) -gt 1000 ]] || die "nm finds next to nothing"
expect "symbols of the harness in testbed::btree" "" "$(comm -12 harness.symbols closure.symbols)"
expect "symbols of other engines in testbed::btree" "" "$(grep -iE 'rocksdb|wiredtiger|lmdb|mdb_|sqlite|fractal|mmapv1' closure.symbols || true)"
needed=$(readelf --dynamic "$bin/key_value_store" | grep NEEDED)
if grep -E 'tcmalloc|rocksdb|wiredtiger|fuse|sqlite|lmdb' <<<"$needed"; then die "key_value_store needs libraries that the b-tree does not"; fi

# The same program without CMake.
command -v pkg-config >/dev/null || die "pkg-config is not installed (Debian: pkg-config)"
PKG_CONFIG_PATH=$(dirname -- "$(find "$prefix" -name testbed-btree.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046,SC2086
"${CXX:-g++}" -std=c++20 $flags "$source_dir/examples/key_value_store.cc" -o by_pkg_config $(pkg-config --cflags --libs testbed-btree)
expect "the program built by pkg-config" 1815 "$(./by_pkg_config "$work/store" get ada)"
# A program may rely on what the headers call public, and the examples use nothing else.
public=$(sed -n '/^\/\/ Public here/,/^#ifndef/p' "$prefix"/include/testbed/{account,btree,engines,benchmark}.h)
while read -r name; do
  [[ $name == testbed::ShelfEngineInfo ]] || grep -qw -- "${name#testbed::}" <<<"$public" || die "no header calls $name public"
done < <(grep -oh 'testbed::[A-Z][A-Za-z]*' "$source_dir"/examples/*.cc | sort -u)
# The marks of device/os/mutex.h stay within the public headers, and a program's own macros of these names are left alone.
marks=$(sed -n 's/^#define \([A-Z_]*\)[( ].*/\1/p' "$prefix/include/testbed/tree/device/os/mutex.h" | grep -v '^TESTBED_' | sort -u)
[[ $(wc -l <<<"$marks") -gt 8 ]] || die "the marks of mutex.h are not found: $marks"
headers=(account btree engines)
[[ ! -x $bin/own_benchmark ]] || headers+=(benchmark)
for header in "${headers[@]}"; do
  printf '#define GUARDED_BY(x) mine\n#include <testbed/%s.h>\n' "$header" >marks.cc
  # shellcheck disable=SC2046
  "${CXX:-g++}" -std=c++20 -E -dM $(pkg-config --cflags testbed-account) marks.cc >macros
  grep -qx '#define GUARDED_BY(x) mine' macros || die "$header.h takes a macro of the program away"
  expect "macros that $header.h leaves behind" "" "$(sed -n 's/^#define \([A-Za-z_]*\).*/\1/p' macros | grep -xF -- "$marks" | grep -vx GUARDED_BY || true)"
done
# A build with a sanitizer has no shared library.
if [[ -f $PKG_CONFIG_PATH/testbed-engine.pc ]]; then
  # shellcheck disable=SC2046
  "${CC:-gcc}" "$source_dir/examples/key_value_store.c" -o c_by_pkg_config $(pkg-config --cflags --libs testbed-engine)
  shared=$(dirname -- "$(find "$prefix" -name libtestbed_engine.so)")
  grep -qx 'ada: 1815' <<<"$(LD_LIBRARY_PATH=$shared ./c_by_pkg_config btree "$work/shared")" || die "the C program with the shared library fails"
  PYTHONPATH=$prefix/share/testbed/python TESTBED_ENGINE_LIBRARY=$shared/libtestbed_engine.so python3 - "$work/shared" >python.out 2>&1 <<'END' ||
import sys
import testbed_engine
with testbed_engine.open("btree", sys.argv[1], create=False) as engine, engine.session() as session:
    assert session.get(engine.table("people"), b"ada") == b"1815"
END
    die "the Python module of the installation fails: $(cat python.out)"
fi
echo "embedding: ok"
