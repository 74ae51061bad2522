#!/usr/bin/env bash
# Runs the tests, after doing whatever is still missing for that: Debian packages (with sudo when
# not root), WiredTiger, the build.
#
#   tools/test.sh             all tests, in the release build
#   tools/test.sh --all       then also under AddressSanitizer and UndefinedBehaviorSanitizer, and our
#                             own engines under ThreadSanitizer; those always without EveryWay/
#   tools/test.sh --asan      only unit and engine tests, under AddressSanitizer and
#                             UndefinedBehaviorSanitizer, without those that mostly wait
#   tools/test.sh -L unit     only the release build's tests, with these arguments for ctest
#   tools/test.sh -R Ledger -V
#
# Tests whose names begin with EveryWay/ are of the nightly run. They are left out, and counted, unless
# TESTBED_EVERY_IO_MODE=1 is set (tests/every_way.h), also where -R or -L names them.
#
# Tests that need root, a loop device or a kernel facility that is not there are skipped, and
# ctest's closing lines name them. Exit code 0 when no test failed, 2 when words were given that it
# would not heed. CTEST_PARALLEL_LEVEL sets how many tests run at once (default: two more than twice
# the processors, since many wait for the device). A test that fails beside others is run once more
# alone, and named if it passes then. No test is run again when a crash test is among those that
# failed, because what it loses once is lost, or when more than 200 failed. Logs of the builds are in
# build/log/.
set -euo pipefail
unset CDPATH
source "$(dirname -- "${BASH_SOURCE[0]}")/setup/setup.sh"

# The sanitizers of older compilers cannot live with the address-space randomisation of newer kernels: they
# need their shadow memory at fixed places. In some places (containers) it cannot be switched off, and in
# others it need not be.
fixed_addresses=()
if setarch --addr-no-randomize true 2>/dev/null; then
  fixed_addresses=(setarch --addr-no-randomize)
fi

export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

# --asan leaves these tests to --all: tests that wait for a clock or for a disk and execute little
# code of their own, and further IO modes of engines whose libraries are not instrumented.
asan_leaves='LazyAge|FailedLazySync|FullDevice|DeviceFullOfLog|TheCacheStays|TheLogNeverGrows|AWriterIsWaitedFor|EveryShipped|Shipped'
asan_leaves+='|HeaderSamples|/(rocksdb|wiredtiger|innodb)_(direct|mmap)|/innodb_buffered_sql|/sqlite_mmap'

# nightly_alone is the regular expression of ctest for tests that only the nightly run has (tests/every_way.h).
nightly_alone='^EveryWay/'

# run_ctest PRESET [ctest arguments]: runs ctest in the source folder.
run_ctest() {
  local preset=$1
  shift
  (cd -- "$source_dir" &&
    ctest --preset "$preset" --output-on-failure --no-tests=error "$@" </dev/null)
}

# take_words [ctest arguments]: sets `words` to the arguments, by which ctest also leaves out what only the
# nightly run has. ctest uses only the last -E, so an -E among the arguments is merged into this one.
take_words() {
  local leaves=$nightly_alone
  words=()
  while (($# > 0)); do
    case $1 in
      -E | --exclude-regex)
        if (($# == 1)); then
          words+=("$1")  # ctest says what is missing
        else
          leaves+="|$2"
          shift
        fi
        ;;
      *) words+=("$1") ;;
    esac
    shift
  done
  words=(-E "$leaves" "${words[@]}")
}

# Prints how many of the tests that the arguments name are left out for the nightly run.
say_left_out() {
  local preset=$1 count
  shift
  count=$(cd -- "$source_dir" && ctest --preset "$preset" -N "$@" </dev/null | grep -c '^ *Test *#[0-9]*: EveryWay/') || return 0
  say "left out: $count tests of the nightly run (TESTBED_EVERY_IO_MODE=1 runs them, too)"
}

# crash_tests PRESET: prints the names of the crash tests, one a line.
crash_tests() {
  (cd -- "$source_dir" && ctest --preset "$1" -N -L crash) | sed -n 's/^ *Test *#[0-9]*: //p'
}

# exactly NAME ...: prints the regular expression of ctest that matches just these names.
exactly() {
  printf '%s\n' "$@" | sed 's/[][\.*^$+?(){}|]/\\&/g' | paste -sd'|' | sed 's/^/^(/; s/$/)$/'
}

# run_tests PRESET [ctest arguments]: runs the tests, and those that failed once more alone.
run_tests() {
  local preset=$1 jobs=${CTEST_PARALLEL_LEVEL:-$(($(nproc) * 2 + 2))} failed=()
  local failures=$build_dir/$preset/Testing/Temporary/LastTestsFailed.log begun=$log_dir/testing.begun
  local words=("${@:2}")
  if [[ -z ${TESTBED_EVERY_IO_MODE+set} ]]; then
    say_left_out "$@"
    take_words "${@:2}"
  fi
  : >"$begun"
  say "testing ($preset, $jobs at a time)"
  run_ctest "$preset" --parallel "$jobs" "${words[@]}" && return
  ((jobs > 1)) || return
  # LastTestsFailed.log counts only when it is newer than this call: ctest leaves the file of an earlier call
  # when it runs no test.
  [[ ! $failures -ot $begun ]] || return
  mapfile -t failed < <(sed 's/^[0-9]*://' "$failures")
  ((${#failed[@]} > 0)) || return
  # grep -q is not used: it ends at the first match, and the writer's SIGPIPE would count as a failure under
  # pipefail.
  if crash_tests "$preset" | grep -xF -f <(printf '%s\n' "${failed[@]}") >/dev/null; then return 1; fi
  # More than 200 tests do not fail because they ran beside others. ctest also refuses a regular expression of
  # 64 KiB.
  if ((${#failed[@]} > 200)); then
    say "${#failed[@]} tests failed, more than are run once more alone"
    return 1
  fi
  say "running alone what failed beside other tests:"
  printf '    %s\n' "${failed[@]}" >&2
  # ctest --rerun-failed is not used: it selects tests by number, and -E changes the numbers.
  run_ctest "$preset" -R "$(exactly "${failed[@]}")" --parallel 1 || return
  say "these passed alone; each should bear company, or be marked RUN_SERIAL:"
  printf '    %s\n' "${failed[@]}" >&2
}

# The script ends in a function because the shell reads a script while it runs, and somebody may edit it
# meanwhile.
main() {
  case ${1:-} in
    -h | --help)
      sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
      exit
      ;;
    --all | --asan)
      (($# == 1)) || {
        say "$1 takes no further words, not '$2'; without it, they are those of ctest"
        exit 2
      }
      ;;
  esac
  # The script runs under --addr-no-randomize from here on: the builds with sanitizers run the test programs,
  # too, to list the tests.
  if [[ ${1:-} == --sanitizer-suite ]]; then
    preset=$2
    shift 2
    set_up_tests
    if (($# > 0)); then
      build "$preset" testbed_unit_tests testbed_engine_tests
    else
      build "$preset"
    fi
    release_lock
    run_tests "$preset" "$@"
    exit
  fi
  if [[ ${1:-} == --asan ]]; then
    exec "${fixed_addresses[@]}" "${BASH_SOURCE[0]}" --sanitizer-suite asan \
      -L '^(unit|engine)$' -E "$asan_leaves"
  fi

  set_up_tests
  build release
  release_lock
  if [[ ${1:-} != --all ]]; then
    run_tests release "$@"
    exit
  fi

  failed=()
  SECONDS=0
  run_tests release || failed+=(release)
  for preset in asan tsan; do
    env -u TESTBED_EVERY_IO_MODE "${fixed_addresses[@]}" "${BASH_SOURCE[0]}" --sanitizer-suite "$preset" || failed+=("$preset")
  done
  if ((${#failed[@]} > 0)); then
    die "failed: ${failed[*]} (after $SECONDS s)"
  fi
  say "all tests passed: release, asan, tsan (in $SECONDS s)"
}

main "$@"
exit
