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
# The flags are those of the crate for a release build, and -g1, which keeps function names for backtraces and
# profiles.
flags=(-O2 -g1 -w -fPIC -std=gnu11 -DNDEBUG=1 -DMDBX_TXN_CHECKOWNER=0 '-DMDBX_BUILD_FLAGS="-O2 -DNDEBUG=1"')

# shellcheck source=tools/setup/library.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/library.sh"

cc=${CC:-cc}
command -v "$cc" >/dev/null || die "libmdbx needs a C compiler, and there is no '$cc' (Debian: apt install g++)."
recipe=$(recipe_of "$cc" "$version $crate_sha256 ${flags[*]}")
prefix=$cache/mdbx-$version-$recipe

case "${1:-}" in
  '') ;;
  --where)
    echo "$prefix"
    exit 0
    ;;
  *) die "build_mdbx.sh takes --where or nothing, not '$1'." ;;
esac

if [[ -e $prefix/lib/libmdbx.a ]]; then
  echo "$prefix"
  exit 0
fi
log=$cache/mdbx-$version-$recipe.log
enter_cache mdbx libmdbx "$prefix" lib/libmdbx.a
work_in_temporary mdbx
rm -f -- "$log"

fetch_crate "$work/mdbx.crate" "libmdbx $version" mdbx-sys "$crate" "$crate_sha256" TESTBED_MDBX_CRATE
say "building libmdbx $version (once, about 15 seconds)"
install=$work/install
mkdir -p "$work/source" "$install/lib"
tar -xzf "$work/mdbx.crate" -C "$work/source" --strip-components=1 --no-same-owner
source=$work/source/libmdbx
step "building libmdbx" "$cc" "${flags[@]}" "-ffile-prefix-map=$source=mdbx-$version" -c "$source/mdbx.c" -o "$work/mdbx.o"
step "building libmdbx" ar rcs "$install/lib/libmdbx.a" "$work/mdbx.o"
install -D -m 644 -t "$install/include" "$source/mdbx.h"
install -D -m 644 -t "$install/share/licenses/mdbx" "$source/LICENSE" "$source/NOTICE"
publish "$install" "$prefix"
