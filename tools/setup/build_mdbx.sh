#!/usr/bin/env bash
# Builds the libmdbx release that the engine mdbx links, once per machine and user, and prints the
# folder it is installed in, which is the only line on stdout:
#
#   tools/setup/build_mdbx.sh           build it if it is not there yet (about 15 seconds)
#   tools/setup/build_mdbx.sh --where   print the folder it is or would be in, build nothing
#
# CMake looks into that folder and leaves the engine out when it is not there; -DMDBX_ROOT= takes a
# build of your own. The folder holds include/mdbx.h, lib/libmdbx.a and share/licenses/mdbx/. It is
#
#   ${TESTBED_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/testbed}/mdbx-<version>-<recipe>
#
# and <recipe> is a hash of what decides the library's contents (source, options, compiler version).
# The source is that of the crate mdbx-sys, which cargo downloads.
#
# Environment: CC (compiler, default cc), TESTBED_CACHE_DIR, TESTBED_MDBX_CRATE (path of an already
# downloaded crate, for machines without a network or cargo). Safe to run several times at once (a
# lock) and to kill (the folder appears by one rename).
set -euo pipefail

crate=14.4.0  # of mdbx-sys
version=0.14.4
crate_sha256=1f7c4502adb435d9aee303b3675aafa3f2f70465fff32c64c37859ccf340fd48
# As the crate builds it for release; -g1: backtraces and profiles with function names.
flags=(-O2 -g1 -w -fPIC -std=gnu11 -DNDEBUG=1 -DMDBX_TXN_CHECKOWNER=0 '-DMDBX_BUILD_FLAGS="-O2 -DNDEBUG=1"')

say() { printf 'testbed: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

cc=${CC:-cc}
command -v "$cc" >/dev/null || die "libmdbx needs a C compiler, and there is no '$cc' (Debian: apt install g++)."
home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
cache=${TESTBED_CACHE_DIR:-${XDG_CACHE_HOME:-$home/.cache}/testbed}
[[ $cache == /* ]] || cache=$PWD/$cache
recipe=$({
  echo "$version $crate_sha256 ${flags[*]}"
  "$cc" --version
} | sha256sum | cut -c1-10)
prefix=$cache/mdbx-$version-$recipe

case "${1:-}" in
  '') ;;
  --where)
    echo "$prefix"
    exit 0
    ;;
  *) die "build_mdbx.sh takes --where or nothing, not '$1'." ;;
esac

mkdir -p "$cache" ||
  die "cannot create the cache folder $cache; name another one with TESTBED_CACHE_DIR."
exec 9>"$cache/.mdbx.lock"
flock 9
if [[ -e $prefix/lib/libmdbx.a ]]; then
  echo "$prefix"
  exit 0
fi
# What a killed build left behind: nobody else can be using it, this process holds the lock.
rm -rf -- "$cache"/.mdbx.tmp.*
work=$(mktemp -d "$cache/.mdbx.tmp.XXXXXX")
log=$cache/mdbx-$version-$recipe.log
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

step() {
  local what=$1
  shift
  "$@" >"$log" 2>&1 9>&- </dev/null && return
  tail -n 25 -- "$log" >&2
  die "$what failed; the whole output is in $log."
}

has_crate_hash() { sha256sum --check --status <<<"$crate_sha256  $1"; }

# cargo and not a fixed address, because cargo knows this machine's mirror, proxy and certificates.
# It puts the crate into its own cache; the crate's code is not built.
fetch_crate() {
  local found
  if [[ -n ${TESTBED_MDBX_CRATE:-} ]]; then
    cp -- "$TESTBED_MDBX_CRATE" "$1" || die "cannot read TESTBED_MDBX_CRATE=$TESTBED_MDBX_CRATE."
  else
    command -v cargo >/dev/null ||
      die "downloading libmdbx needs cargo (Debian: apt install cargo), or a TESTBED_MDBX_CRATE."
    say "downloading the crate mdbx-sys $crate"
    mkdir -p "$work/fetch/src"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nmdbx-sys = "=%s"\n' \
      "$crate" >"$work/fetch/Cargo.toml"
    : >"$work/fetch/src/lib.rs"
    step "downloading mdbx-sys $crate with cargo" cargo fetch --manifest-path "$work/fetch/Cargo.toml"
    found=$(find "${CARGO_HOME:-$home/.cargo}/registry/cache" -name "mdbx-sys-$crate.crate" -print -quit)
    [[ -n $found ]] || die "cargo has downloaded mdbx-sys $crate, but not to its cache."
    cp -- "$found" "$1"
  fi
  has_crate_hash "$1" || die "mdbx-sys-$crate.crate has a wrong SHA-256; it should be $crate_sha256."
}

fetch_crate "$work/mdbx.crate"
say "building libmdbx $version (once, about 15 seconds)"
install=$work/install
mkdir -p "$work/source" "$install/lib"
tar -xzf "$work/mdbx.crate" -C "$work/source" --strip-components=1 --no-same-owner
source=$work/source/libmdbx
step "building libmdbx" "$cc" "${flags[@]}" "-ffile-prefix-map=$source=mdbx-$version" -c "$source/mdbx.c" -o "$work/mdbx.o"
step "building libmdbx" ar rcs "$install/lib/libmdbx.a" "$work/mdbx.o"
install -D -m 644 -t "$install/include" "$source/mdbx.h"
install -D -m 644 -t "$install/share/licenses/mdbx" "$source/LICENSE" "$source/NOTICE"
rm -rf -- "$prefix"
mv -T -- "$install" "$prefix"
rm -f -- "$log"
echo "$prefix"
