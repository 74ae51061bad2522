#!/usr/bin/env bash
# Builds one release of LMDB as a static library, once per machine and user, and prints the folder it
# is installed in, which is the only line on stdout:
#
#   tools/setup/build_lmdb.sh 0.9.70           build it if it is not there yet (a few seconds)
#   tools/setup/build_lmdb.sh --where 0.9.70   print the folder it is or would be in, build nothing
#
# tools/build_engine.sh calls it, and makes a testbed that runs the release. The releases, and the
# packages that hold their sources, are in tools/setup/engine_releases. All are built by one recipe:
# compiler and flags are the same, so that two releases differ in their own source alone. The folder
# holds include/lmdb.h, lib/liblmdb.a, share/licenses/lmdb/ and share/testbed/recipe, one line that says
# how it was built. It is
#
#   ${TESTBED_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/testbed}/lmdb-<release>-<recipe>
#
# and <recipe> is a hash of what decides the library's contents (source, options, compiler version).
#
# Environment: CC (compiler, default cc), TESTBED_CACHE_DIR, TESTBED_LMDB_CRATE (path of an already
# downloaded package, for machines without a network or cargo). Safe to run several times at once (a
# lock) and to kill (the folder appears by one rename).
set -euo pipefail

# shellcheck source=tools/setup/library.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/library.sh"

take_release lmdb LMDB "$@"

cc=${CC:-cc}
# The flags are those of LMDB's own Makefile, except -g1, which keeps function names for backtraces and
# profiles.
flags=(-O2 -g1 -w -pthread)

command -v "$cc" >/dev/null || die "LMDB needs a C compiler, and there is no '$cc' (Debian: apt install gcc)."
recipe=$(recipe_of "$cc" "$release $package_sha256 ${flags[*]}")
prefix=$cache/lmdb-$release-$recipe

if [[ -n $where || -e $prefix/lib/liblmdb.a ]]; then
  echo "$prefix"
  exit 0
fi
log=$cache/lmdb-$release-$recipe.log
enter_cache "lmdb-$release" "LMDB $release" "$prefix" lib/liblmdb.a
work_in_temporary "lmdb-$release"
rm -f -- "$log"

fetch_crate "$work/lmdb.crate" "LMDB $release" "$package" "$version" "$package_sha256" TESTBED_LMDB_CRATE
say "building LMDB $release (once, a few seconds)"
install=$work/install
mkdir -p "$work/source" "$install/lib" "$install/share/testbed"
tar -xzf "$work/lmdb.crate" -C "$work/source" --strip-components=1 --no-same-owner
source=$work/source/lmdb/libraries/liblmdb
for file in mdb midl; do
  step "building LMDB" "$cc" "${flags[@]}" "-ffile-prefix-map=$source=lmdb-$release" -c "$source/$file.c" -o "$work/$file.o"
done
step "building LMDB" ar rcs "$install/lib/liblmdb.a" "$work/mdb.o" "$work/midl.o"
install -D -m 644 -t "$install/include" "$source/lmdb.h"
install -D -m 644 -t "$install/share/licenses/lmdb" "$source/LICENSE" "$source/COPYRIGHT"
printf '%s, %s, static; recipe %s\n' "$("$cc" --version | head -1)" "${flags[*]}" "$recipe" >"$install/share/testbed/recipe"
publish "$install" "$prefix"
