#!/usr/bin/env bash
# Does `testbed crashtest` find bugs? Plants each of tests/crash/planted/*.patch in a copy of the tree,
# builds it, runs crashtest as the patch says (at most 200 rounds), and prints a table: the bug, the
# engine, the kind of crash, and the round that found it. The unchanged program must then pass as many
# rounds, and at least 10: what fails without the bug as well was not found by it.
#
#   tools/crashtest/planted_bugs.sh                   all of them
#   tools/crashtest/planted_bugs.sh NAME...           these only
#   tools/crashtest/planted_bugs.sh --list            their names
#
# Cutting the power of a disk takes root and FUSE; without, those bugs are skipped, which the table
# says. Needs git. Exit code 0 when each bug that was tried was found, 1 when one was not, 2 when a
# name is unknown. TESTBED_PLANTED_DIR: where the copy is [build/planted], as `tree` and `run`; folders of
# these names that it has not made are left alone. docs/crash-testing.md has the table of the last run.
set -euo pipefail
unset CDPATH
source "$(dirname -- "${BASH_SOURCE[0]}")/../setup/setup.sh"
source "$(dirname -- "${BASH_SOURCE[0]}")/../setup/own_folder.sh"

patches=$source_dir/tests/crash/planted
work=${TESTBED_PLANTED_DIR:-$build_dir/planted}
[[ $work == /* ]] || work=$PWD/$work
tree=$work/tree
run=$work/run
unchanged=$tree/build/release/testbed-unchanged

# Copies the tree as it is, with changes that are not committed. The copies get the current time (tar -m):
# otherwise an object file that a killed call compiled with a planted bug would count as newer than its clean
# source.
copy_tree() {
  find "$tree" -mindepth 1 -maxdepth 1 ! -name build ! -name "$own_mark" -exec rm -rf -- {} +
  tar -C "$source_dir" --exclude=./build --exclude=./.git -cf - . | tar -C "$tree" -xmf -
  # The copy gets a git repository of its own, so that git looks at nothing above it.
  git -C "$tree" init --quiet
}

build_tree() { # NAME
  local log=$work/$1.build.log
  {
    [[ -f $tree/build/release/build.ninja ]] || (cd -- "$tree" && cmake --preset release \
      -DTESTBED_TESTS=OFF -DTESTBED_BENCH=OFF -DWIREDTIGER_ROOT="$("$source_dir/tools/setup/build_wiredtiger.sh")")
    ninja -C "$tree/build/release" testbed
  } >"$log" 2>&1 || die "$1 does not build; see $log"
}

run_crashtest() { # PROGRAM LOG WORD...
  local program=$1 log=$2 code=0
  shift 2
  empty_own_folder "$run" || die "$run cannot be emptied"
  (cd -- "$run" && timeout 1800 "$program" crashtest "$@" --quiet) >"$log" 2>&1 || code=$?
  # crashtest keeps a database in which it found a failure, which is of no use here.
  empty_own_folder "$run" || true
  return "$code"
}

row() { printf '| %-30s | %-7s | %-8s | %s |\n' "$@"; }

# Prints a bug's line; returns 1 when it was not found, or when the unchanged program fails as well.
try_bug() { # NAME
  local name=$1 words engine crash=kill code=0 round rounds
  words=$(sed -n 's/^crashtest: //p' "$patches/$name.patch")
  engine=${words#*--engine }
  engine=${engine%% *}
  [[ $words != *--disk-cuts* ]] || crash="disk cut"
  if [[ $crash == "disk cut" && ($EUID -ne 0 || ! -e /dev/fuse) ]]; then
    row "$name" "$engine" "$crash" "skipped: needs root and FUSE"
    return
  fi
  git -C "$tree" apply "$patches/$name.patch" || die "$name.patch does not apply"
  build_tree "$name"
  # shellcheck disable=SC2086
  run_crashtest "$tree/build/release/testbed" "$work/$name.log" $words || code=$?
  git -C "$tree" apply --reverse "$patches/$name.patch"
  round=$(sed -n 's/^FAILED round \([0-9]*\).*/\1/p' "$work/$name.log")
  if [[ -z $round ]]; then
    row "$name" "$engine" "$crash" "NOT FOUND (exit code $code)"
    return 1
  fi
  rounds=$((round > 10 ? round : 10))
  code=0
  # shellcheck disable=SC2086
  run_crashtest "$unchanged" "$work/$name.unchanged.log" ${words/ 200 / $rounds } || code=$?
  if ((code != 0)); then
    row "$name" "$engine" "$crash" "NOT FOUND: without the bug, too, $rounds rounds fail (exit code $code)"
    return 1
  fi
  row "$name" "$engine" "$crash" "round $round"
}

main() {
  local name bad=0 names=()
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    return
  fi
  for name in "$patches"/*.patch; do names+=("$(basename -- "$name" .patch)"); done
  if [[ ${1:-} == --list ]]; then
    printf '%s\n' "${names[@]}"
    return
  fi
  for name in "$@"; do
    [[ -f $patches/$name.patch ]] || {
      say "there is no planted bug '$name'; see --list"
      exit 2
    }
  done
  (($# == 0)) || names=("$@")
  command -v git >/dev/null || die "git is not installed"
  own_folder "$tree" "$build_dir/planted/tree" && own_folder "$run" "$build_dir/planted/run" || exit
  copy_tree
  build_tree unchanged
  cp -- "$tree/build/release/testbed" "$unchanged"
  row bug engine crash found
  row --- --- --- ---
  for name in "${names[@]}"; do try_bug "$name" || bad=1; done
  return "$bad"
}

main "$@"
