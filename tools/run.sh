#!/usr/bin/env bash
# Runs testbed with the arguments given, after doing whatever is still missing for that: Debian
# packages (with sudo when not root), WiredTiger, the build. That takes a few minutes the first
# time, and a fraction of a second afterwards.
#
#   tools/run.sh                                   the default run: insert, settle, point reads
#   tools/run.sh --engine rocksdb --cache-pct 20
#   tools/run.sh --engine mysql --server mariadb   also installs that server (docs/servers.md)
#   tools/run.sh --engine mysql --server mariadb@10.1.23   also fetches that one, by tools/setup/fetch_mariadb.sh
#   tools/run.sh --engine postgres --server postgres@18.6  the same, by tools/setup/fetch_postgres.sh
#   tools/run.sh --engine postgres --server postgres@18    takes an installed PostgreSQL 18, or else fetches the newest release of 18 that testbed knows
#   tools/run.sh --engine rocksdb@latest           a release that is not built is built first, by tools/build_engine.sh; one that an
#                                                  older build of testbed has linked is linked anew
#   tools/run.sh --engine pebble                   also builds that engine's library, where Go is installed
#   tools/run.sh --engine bf-tree --durability none   also builds that engine's library, where cargo is installed
#   tools/run.sh --help
#
# The program runs in the folder that you are in. The exit code is the program's, or 1 when something
# could not be set up.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/setup/setup.sh"

# Prints the engines that the words name, one a line.
named_engines() {
  settings_of_sides "$@" | tr ' ' '\n' | sed -n 's/^engine=//p' | tr , '\n'
}

# build_release NAME@RELEASE: builds the release unless it is built, and brings its program up to date with this
# build of testbed. Other words are left to the program, which says what is wrong with them.
build_release() {
  local engine=${1%%@*} release=${1#*@} known folder
  known=$(awk -v e="$engine" '$1 == e {print $2}' "$source_dir/tools/setup/engine_releases")
  [[ -n $known ]] || return 0
  [[ $release != latest ]] || release=${known##*$'\n'}
  while [[ $release == /*/ ]]; do release=${release%/}; done
  folder=$engine-$release
  [[ $release != /* ]] || folder=$engine-$(sha256sum <<<"$release" | cut -c1-8) # as build_engine.sh names it
  if [[ -x $build_dir/release/releases/$folder/testbed ]] &&
    ninja -C "$build_dir/release" -t query "testbed_release_$folder" >/dev/null 2>&1 9>&-; then
    build release "testbed_release_$folder"
  elif [[ $'\n'$known$'\n' == *$'\n'"$release"$'\n'* ]]; then
    # build_engine.sh inherits the descriptor of the build folder's lock, and so does not wait for it.
    "$source_dir/tools/build_engine.sh" "$engine" "$release" || exit 1
  fi
}

add_servers "$@"
set_up
fetch_servers "$@"
build release testbed
if [[ -z ${TESTBED_RELEASES:-} ]]; then
  while read -r name; do build_release "$name" </dev/null; done < <(named_engines "$@" | grep '.@.')
fi
# The program reports what is missing if this build fails.
if named_engines "$@" | grep -qx pebble; then
  "$source_dir/tools/setup/build_pebble.sh" >/dev/null 9>&- </dev/null || true
fi
if named_engines "$@" | grep -qx bf-tree; then
  "$source_dir/tools/setup/build_bf_tree.sh" >/dev/null 9>&- </dev/null || true
fi
release_lock
exec "$build_dir/release/testbed" "$@"
