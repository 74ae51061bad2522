#!/usr/bin/env bash
# Builds a WiredTiger release, once per machine and user, and prints the folder it is installed in,
# which is the only line on stdout:
#
#   tools/setup/build_wiredtiger.sh           build the release that testbed links, if it is not there yet
#   tools/setup/build_wiredtiger.sh --where   print the folder it is or would be in, build nothing
#   tools/setup/build_wiredtiger.sh 11.2.0    another release (tools/setup/engine_releases), by the same recipe
#
# The folder holds include/wiredtiger.h, include/wiredtiger_ext.h, lib/libwiredtiger.a,
# share/licenses/wiredtiger/ and share/testbed/recipe, one line that says how it was built. It is
#
#   ${TESTBED_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/testbed}/wiredtiger-<version>-<recipe>
#
# outside the project's build folder, so that `rm -rf build` does not cost a minute. <recipe> is
# a hash of what decides the library's contents (source, options, compiler version): whoever changes
# one of them gets a new folder, never a stale library.
#
# Environment: CC (compiler, default cc), TESTBED_CACHE_DIR, TESTBED_WIREDTIGER_SDIST (path of an
# already downloaded source distribution, for machines without a network), TESTBED_JOBS (parallel
# jobs, default: all CPUs).
#
# Safe to run several times at once (a lock) and to kill (the folder appears by one rename, complete
# or not at all). Needs: a C and C++ compiler, cmake, ninja, python3 with pip and setuptools,
# headers of snappy, lz4, zstd and zlib.
set -euo pipefail

# shellcheck source=tools/setup/library.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/library.sh"

# 11.3.1 is the last release that has direct_io.
[[ $# -ne 0 && $* != --where ]] || set -- "$@" 11.3.1
take_release wiredtiger WiredTiger "$@"
c_flags='-w'
options=(
  -DCMAKE_BUILD_TYPE=Release -DCC_OPTIMIZE_LEVEL=-O2 -DENABLE_STATIC=1 -DENABLE_SHARED=0
  -DWITH_PIC=1 -DENABLE_STRICT=0 -DENABLE_PYTHON=0 -DHAVE_DIAGNOSTIC=0 -DHAVE_UNITTEST=0
  -DENABLE_COLORIZE_OUTPUT=0
  -DHAVE_BUILTIN_EXTENSION_SNAPPY=1 -DHAVE_BUILTIN_EXTENSION_LZ4=1
  -DHAVE_BUILTIN_EXTENSION_ZSTD=1 -DHAVE_BUILTIN_EXTENSION_ZLIB=1
  -DENABLE_SNAPPY=0 -DENABLE_LZ4=0 -DENABLE_ZSTD=0 -DENABLE_ZLIB=0
)

cc=${CC:-cc}
command -v "$cc" >/dev/null ||
  die "WiredTiger needs a C compiler, and there is no '$cc' (Debian: apt install g++)."
recipe=$(recipe_of "$cc" "$version $package_sha256 $c_flags ${options[*]}")
prefix=$cache/wiredtiger-$version-$recipe

# write_recipe PREFIX: says there how the library was built.
write_recipe() {
  mkdir -p "$1/share/testbed"
  printf '%s, -O2 %s, static; snappy lz4 zstd zlib built in; recipe %s\n' "$("$cc" --version | head -1)" \
    "$c_flags" "$recipe" >"$1/share/testbed/recipe"
}

if [[ -n $where || -e $prefix/lib/libwiredtiger.a ]]; then
  # A library that an earlier version of this script built has no file `recipe` yet, and gets one.
  [[ -n $where || -e $prefix/share/testbed/recipe ]] || write_recipe "$prefix"
  echo "$prefix"
  exit 0
fi

enter_cache wiredtiger WiredTiger "$prefix" lib/libwiredtiger.a

for tool in cmake ninja; do
  command -v "$tool" >/dev/null ||
    die "WiredTiger's build needs $tool (Debian: apt install cmake ninja-build)."
done

work_in_temporary wiredtiger
log=$cache/wiredtiger-$version-$recipe.log
rm -f -- "$log"

# Prints a Python whose pip and setuptools work. Debian's own is tried first, because another one in
# PATH often lacks setuptools.
find_python() {
  local python
  for python in /usr/bin/python3 python3; do
    if "$python" -c 'import setuptools, pip' >/dev/null 2>&1 9>&-; then
      echo "$python"
      return
    fi
  done
  die "downloading WiredTiger needs python3 with pip and setuptools" \
    "(Debian: apt install python3-pip python3-setuptools)."
}

# pip downloads the source, because it knows this machine's mirror, proxy and certificates. It runs
# the package's setup.py to learn its metadata. So pip checks the hash before, and the script
# afterwards.
fetch_sdist() {
  local file=$1 python
  if [[ -n ${TESTBED_WIREDTIGER_SDIST:-} ]]; then
    has_hash "$TESTBED_WIREDTIGER_SDIST" "$package_sha256" ||
      die "TESTBED_WIREDTIGER_SDIST=$TESTBED_WIREDTIGER_SDIST is not PyPI's" \
        "wiredtiger-$version.tar.gz, whose SHA-256 is $package_sha256."
    cp -- "$TESTBED_WIREDTIGER_SDIST" "$file"
    return
  fi
  python=$(find_python)
  say "downloading WiredTiger $version"
  echo "wiredtiger==$version --hash=sha256:$package_sha256" >"$work/requirements.txt"
  step "downloading WiredTiger $version with pip" \
    "$python" -m pip --disable-pip-version-check --no-input download --no-deps \
    --no-build-isolation --no-binary wiredtiger --require-hashes \
    --requirement "$work/requirements.txt" --dest "$work/sdist"
  mv -- "$work/sdist/wiredtiger-$version.tar.gz" "$file"
  has_hash "$file" "$package_sha256" ||
    die "the downloaded WiredTiger has a wrong SHA-256; it should be $package_sha256."
}

fetch_sdist "$work/wiredtiger.tar.gz"
say "building WiredTiger $version (once, about a minute)"
source=$work/source
build=$work/build
install=$work/install
mkdir "$source" "$work/modules"
step "unpacking WiredTiger" \
  tar -xzf "$work/wiredtiger.tar.gz" -C "$source" --strip-components=1 --no-same-owner

# WiredTiger's CMakeLists.txt insists on the Python development package even when its Python binding
# is off. This file answers in its place, so that nobody has to install that package.
cat >"$work/modules/FindPython3.cmake" <<'END'
set(Python3_FOUND TRUE)
set(Python3_VERSION "0")
END

# Compiles the header that every source file begins with once instead of two hundred times: less
# than half the time, the same machine code. GCC takes it only if its own options are the same, and
# a compiler that does not know such headers ignores it, so nothing depends on it.
precompile_header() {
  local compile
  # `compile` is the command for any source file, without its dependency file, output and input.
  compile=$(ninja -C "$build" -t commands libwiredtiger.a 9>&- |
    sed -nE 's/ -MD .*block_write\.c\.o .*//p')
  [[ -n $compile ]] || return 0
  sh -c "$compile -x c-header -c '$source/src/include/wt_internal.h' \
    -o '$source/src/include/wt_internal.h.gch'" >>"$log" 2>&1 9>&- </dev/null || true
}

step "configuring WiredTiger" env CC="$cc" cmake -S "$source" -B "$build" -G Ninja \
  -DCMAKE_MODULE_PATH="$work/modules" "${options[@]}" \
  -DCMAKE_C_FLAGS="$c_flags \"-ffile-prefix-map=$source=wiredtiger-$version\""
# ccache cannot use a precompiled header, and the cache folder keeps the library already.
export CCACHE_DISABLE=1
precompile_header
step "building WiredTiger" ninja -C "$build" -j "${TESTBED_JOBS:-$(nproc)}" libwiredtiger.a

install -D -m 644 -t "$install/include" \
  "$build/include/wiredtiger.h" "$source/src/include/wiredtiger_ext.h"
install -D -m 644 -t "$install/lib" "$build/libwiredtiger.a"
install -D -m 644 -t "$install/share/licenses/wiredtiger" "$source/LICENSE" "$source/README"
write_recipe "$install"
publish "$install" "$prefix"
