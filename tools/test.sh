#!/usr/bin/env bash
# Runs the tests, after doing whatever is still missing for that: Debian packages (with sudo when
# not root), WiredTiger, the build.
#
#   tools/test.sh             all tests, in the release build
#   tools/test.sh --all       then also under AddressSanitizer and UndefinedBehaviorSanitizer, and our
#                             own engines under ThreadSanitizer
#   tools/test.sh -L unit     only the release build's tests, with these arguments for ctest
#   tools/test.sh -R Ledger -V
#
# Tests that need root, a loop device or a kernel facility that is not there are skipped, and
# ctest's closing lines name them. Exit code 0 when no test failed. CTEST_PARALLEL_LEVEL sets how
# many tests run at once (default one: many of them watch the machine's IO). Logs of the builds are
# in build/log/.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/setup/setup.sh"

# The sanitizers of older compilers cannot live with the address-space randomisation of newer
# kernels: they need their shadow memory at fixed places. Not everywhere (containers) may it be
# switched off, and not everywhere it must.
fixed_addresses=()
if setarch --addr-no-randomize true 2>/dev/null; then
  fixed_addresses=(setarch --addr-no-randomize)
fi

export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

# run_tests PRESET [ctest arguments]
run_tests() {
  local preset=$1
  shift
  say "testing ($preset)"
  (cd -- "$source_dir" &&
    ctest --preset "$preset" --output-on-failure --no-tests=error "$@" </dev/null)
}

# A function, because the shell reads a script while it runs it, and somebody may edit it meanwhile.
main() {
  case ${1:-} in
    -h | --help)
      sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
      exit
      ;;
  esac
  # Under --addr-no-randomize from here on, for the sanitizers: their builds run the test programs
  # too, to list the tests.
  if [[ ${1:-} == --sanitizer-suite ]]; then
    preset=$2
    set_up
    build "$preset"
    release_lock
    run_tests "$preset"
    exit
  fi

  set_up
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
    "${fixed_addresses[@]}" "${BASH_SOURCE[0]}" --sanitizer-suite "$preset" || failed+=("$preset")
  done
  if ((${#failed[@]} > 0)); then
    die "failed: ${failed[*]} (after $SECONDS s)"
  fi
  say "all tests passed: release, asan, tsan (in $SECONDS s)"
}

main "$@"
exit
