#!/usr/bin/env bash
# Runs the checks that take longer than continuous integration allows, one part after the other, each with a
# log of its own, and prints a summary at the end:
#
#   clean-roots    both README commands, the Debian packages and the container in a bare Debian 12 and 13 (root, debootstrap)
#   tidy           clang-tidy and the thread-safety analysis (tools/lint.sh) on the whole tree, or on the files that changed since
#                  the commit TESTBED_TIDY_SINCE
#   without-engines  the program without each library that an engine needs (the presets without-* and own-engines)
#   extension      the engine of examples/shelf and a workload of tests/extension, joined from outside as CONTRIBUTING.md says
#   tests          tools/test.sh --all: the release build with what only this run has (TESTBED_EVERY_IO_MODE=1),
#                  AddressSanitizer and UBSan, ThreadSanitizer
#   faults         an error at every IO call (tools/crashtest/fault_sweep.sh), and the conformance suite in every IO mode
#                  (TESTBED_EVERY_IO_MODE=1)
#   crashes        crash tests of many rounds (TESTBED_CRASH_ROUNDS, default 200), 200 kills and, as root, 100 power
#                  cuts and 50 rounds of disk errors of each engine of our own, 50 kills and, as root, 20 power cuts of
#                  each server that is installed; with lazy commits 20 kills of seven engines and, as root, 20 power
#                  cuts of each of our own; as root, 40 power cuts of each engine that is a library of others
#   old-servers    the servers of tools/setup/server_releases: their conformance suite, 50 kills, 20 with lazy commits
#                  and, as root, 20 power cuts of each (Maven)
#   pebble         the tests of the engine pebble in every IO mode, 100 kills, 20 with lazy commits and, as root, 20
#                  power cuts (Go)
#   bf-tree        the tests of the engine bf-tree in every IO mode (cargo)
#   myrocks        the tests of the engine mysql on MyRocks, 50 kills and, as root, 20 power cuts; where Debian's plugin is
#                  not installed, its files are fetched (apt-get download)
#   planted-bugs   bugs planted in our engines, each of which crashtest must find (tools/crashtest/planted_bugs.sh)
#   mutants        changes of single lines, each of which a test must notice (tests/mutants/mutants.py): those that
#                  tests/mutants/results.json knows, or TESTBED_MUTANTS (default 3) drawn in each file
#   fuzz           each fuzz target for TESTBED_FUZZ_SECONDS (default 1800) (clang)
#   experiments    every shipped experiment at --scale small, or those that TESTBED_NIGHTLY_EXPERIMENTS names; one that
#                  this machine cannot plan is left out by name. Then the page of them all in a browser (chromium)
#   page           a page of 10,000 cells (bench/page_of_cells.py), and a results file of 200 MB in each form (bench/page_of_long_run.py)
#   statistics     comparisons of simulated sides, whose truth is known (bench/statistics_simulation.cc)
#   originals      the workloads beside sysbench, YCSB and db_bench (bench/check_originals.py, docs/originals.md)
#   traces         a trace of TESTBED_TRACE_OPERATIONS (default 100,000,000) operations, damaged ones, and the blocks of replays (bench/check_traces.py)
#   galera         three nodes of MariaDB with Galera, of which one is killed, paused and, as root, cut off (bench/cluster_faults.py)
#   releases       each release of tools/setup/engine_releases, or those that TESTBED_NIGHTLY_RELEASES names
#                  (such as "wiredtiger@11.0.0 rocksdb@10.4.2"): built, its conformance suite, 100 kills, and a comparison
#                  of the first and the last release of each engine; releases.md has a row for each, and for WiredTiger by
#                  its prefix, as an installation of one's own
#   python         the Python package (python/) as pip installs it, and its notebook, with pinned pandas, polars and others
#
#   tools/nightly.sh                        all parts
#   tools/nightly.sh --only tests,faults    only these
#   tools/nightly.sh --skip experiments     all but these
#   tools/nightly.sh --out DIR              where logs and results go [build/nightly/DATE]
#   tools/nightly.sh --list                 the parts
#
# A part that cannot run here (no root, no clang) is skipped, and the summary says why. Exit code 0
# when no part failed, 1 when one did, 2 when the options are wrong.
set -euo pipefail
unset CDPATH
source "$(dirname -- "${BASH_SOURCE[0]}")/setup/setup.sh"

parts=(clean-roots tests tidy without-engines extension faults crashes old-servers pebble bf-tree myrocks planted-bugs mutants fuzz experiments page statistics originals traces galera releases python)
kSkipped=77

usage() {
  say "$*"
  exit 2
}

# Prints why a part cannot run and returns the exit code that says so.
cannot() {
  printf 'cannot run: %s\n' "$*"
  return "$kSkipped"
}

part_clean_roots() {
  ((EUID == 0)) || cannot "making a Debian takes root" || return
  command -v debootstrap >/dev/null || cannot "debootstrap is not installed" || return
  local suite bad=0
  for suite in bookworm trixie; do
    "$source_dir/tools/check_clean_root.sh" --packages "$suite" || bad=1
  done
  return "$bad"
}

part_tests() { TESTBED_EVERY_IO_MODE=1 "$source_dir/tools/test.sh" --all; }

# A commit that git does not know, as the one before a new branch, leaves the whole tree to look at.
part_tidy() {
  local since=()
  if git -C "$source_dir" rev-parse --verify --quiet "${TESTBED_TIDY_SINCE:-}^{commit}" >/dev/null; then
    since=(--changed "$TESTBED_TIDY_SINCE")
  fi
  (set_up_tests && build release testbed) || return
  "$source_dir/tools/lint.sh" --strict "${since[@]}" --only threads,tidy
}

# left_out_by PRESET PRESETS...: prints what the program of the preset must not list, one name a line. Our own engines
# alone are what remains when each engine is left out that has a preset for that.
left_out_by() {
  case $1 in
    without-documents) echo document-load ;;
    without-*) echo "${1#without-}" ;;
    *)
      shift
      printf '%s\n' "$@" | sed -n '/^without-documents$/d;s/^without-//p'
      ;;
  esac
}

# Builds the program by each preset that leaves something out, and asks it for its engines.
part_without_engines() {
  local preset presets list name bad=0
  set_up || return
  mapfile -t presets < <(sed -n 's/.*"name": "\(without-[a-z-]*\|own-engines\)", "inherits".*/\1/p' "$source_dir/CMakePresets.json")
  ((${#presets[@]} > 0)) || { say "CMakePresets.json has no preset that leaves something out"; return 1; }
  for preset in "${presets[@]}"; do
    (build "$preset" testbed) || { bad=1; continue; }
    list=$("$build_dir/$preset/testbed" list) || bad=1
    printf '%s\n' "$list"
    while read -r name; do
      if grep -q "^ *$name " <<<"$list"; then
        say "$preset has $name, which it was built without"
        bad=1
      fi
    done < <(left_out_by "$preset" "${presets[@]}")
    (cd -- "$out" && "$build_dir/$preset/testbed" --engine btree --ram 64M --rows 1000 --seconds 1 --quiet) || bad=1
  done
  return "$bad"
}

# has_engine NAME: whether the release build has the engine. `list | grep -q` would fail with pipefail: grep
# ends at the first match, and `list` gets SIGPIPE when it writes on.
has_engine() { grep -q "^ *$1 " <<<"$("$build_dir/release/testbed" list)"; }

# set_up runs in a subshell, so that it gives its lock back: the script builds in a folder of its own.
part_extension() {
  (set_up) || return
  "$source_dir/tests/extension/check.sh"
}

part_faults() {
  local bad=0
  export TESTBED_FAULT_STRIDE=1 TESTBED_EVERY_IO_MODE=1
  "$source_dir/tools/crashtest/fault_sweep.sh" || bad=1
  "$source_dir/tools/test.sh" -L engine || bad=1
  return "$bad"
}

# The power cuts need a scratch device, which only root may make.
part_crashes() {
  local engine bad=0 cuts=()
  TESTBED_CRASH_ROUNDS=${TESTBED_CRASH_ROUNDS:-200} TESTBED_EVERY_IO_MODE=1 "$source_dir/tools/test.sh" -L crash || bad=1
  ((EUID != 0)) || cuts=(--power-cuts 50 --disk-cuts 50 --disk-errors 50)
  for engine in btree fractal mmapv1; do
    (cd -- "$out" && "$build_dir/release/testbed" crashtest --engine "$engine" --kills 200 --quiet \
      "${cuts[@]}") || bad=1
  done
  crash_servers || bad=1
  for engine in btree fractal mmapv1 lmdb innodb sqlite mdbx; do
    has_engine "$engine" || continue
    (cd -- "$out" && "$build_dir/release/testbed" crashtest --engine "$engine" --kills 20 --quiet \
      --durability lazy --lazy-interval 300) || bad=1
  done
  ((EUID == 0)) || return "$bad"
  for engine in btree fractal mmapv1; do
    (cd -- "$out" && "$build_dir/release/testbed" crashtest --engine "$engine" --kills 0 --disk-cuts 20 --quiet \
      --durability lazy --lazy-interval 300) || bad=1
  done
  # Kills find no sync that an adapter leaves out.
  for engine in rocksdb wiredtiger lmdb mdbx sqlite innodb; do
    has_engine "$engine" || continue
    (cd -- "$out" && "$build_dir/release/testbed" crashtest --engine "$engine" --kills 0 --power-cuts 20 \
      --disk-cuts 20 --quiet) || bad=1
  done
  return "$bad"
}

# Kills servers with their run, and as root cuts their power. A server that is not installed, or whose client
# library the build lacks, is left out.
crash_servers() {
  local engine bad=0 cuts=()
  ((EUID != 0)) || cuts=(--power-cuts 20)
  for engine in mysql postgres; do
    if ! has_engine "$engine"; then
      say "this build has no $engine"
    elif [[ -n $(package_of_server "${engine/mysql/mariadb}") ]]; then
      say "no server for $engine is installed"
    else
      (cd -- "$out" && "$build_dir/release/testbed" crashtest --engine "$engine" --kills 50 --quiet \
        "${cuts[@]}") || bad=1
    fi
  done
  return "$bad"
}

# Tests servers of releases other than the distribution's, which continuous integration leaves out.
part_old_servers() {
  [[ $(uname -m) == x86_64 ]] || cannot "their programs are for x86-64" || return
  local server servers which=() bad=0 cuts=()
  ((EUID != 0)) || cuts=(--power-cuts 20)
  command -v mvn >/dev/null || (packages+=(maven) && set_up) || return
  mapfile -t servers < <(awk '!/^#/ {print $1 "@" $2}' "$source_dir/tools/setup/server_releases")
  for server in "${servers[@]}"; do
    "$source_dir/tools/setup/fetch_${server%@*}.sh" "${server#*@}" >/dev/null || return
  done
  TESTBED_EVERY_IO_MODE=1 "$source_dir/tools/test.sh" -R 'mysql_buffered_mariadb_|OldServerTest|postgres_buffered_postgres_' || bad=1
  for server in "${servers[@]}"; do
    which=(--engine mysql --server "$server")
    [[ $server != postgres@* ]] || which=(--engine postgres --server "$server")
    (cd -- "$out" && "$build_dir/release/testbed" crashtest "${which[@]}" --kills 50 --quiet "${cuts[@]}") || bad=1
    (cd -- "$out" && "$build_dir/release/testbed" crashtest "${which[@]}" --kills 20 --quiet --durability lazy \
      --lazy-interval 300) || bad=1
  done
  return "$bad"
}

# Tests the engine pebble, whose library needs Go. Continuous integration leaves it out.
part_pebble() {
  command -v go >/dev/null || cannot "Go is not installed" || return
  local bad=0 cuts=()
  ((EUID != 0)) || cuts=(--power-cuts 20)
  "$source_dir/tools/setup/build_pebble.sh" >/dev/null || return
  # The last two names are of tests that run every engine and have no engine in their name.
  TESTBED_EVERY_IO_MODE=1 "$source_dir/tools/test.sh" -R 'pebble|ScansReadTheRowsTheyReturn|EveryEngineKeepsEveryRow' || bad=1
  (cd -- "$out" && "$build_dir/release/testbed" crashtest --engine pebble --kills 100 --quiet "${cuts[@]}") || bad=1
  (cd -- "$out" && "$build_dir/release/testbed" crashtest --engine pebble --kills 20 --quiet \
    --durability lazy --lazy-interval 300) || bad=1
  return "$bad"
}

# Tests the engine bf-tree, whose library needs cargo. Continuous integration leaves it out. No crash test runs,
# because the engine promises to keep nothing over a crash.
part_bf_tree() {
  command -v cargo >/dev/null || cannot "cargo is not installed" || return
  "$source_dir/tools/setup/build_bf_tree.sh" >/dev/null || return
  # The last two names are of tests that run every engine and have no engine in their name.
  TESTBED_EVERY_IO_MODE=1 "$source_dir/tools/test.sh" -R 'bf_tree|BfTree|FindBefore|ScansReadTheRowsTheyReturn|EveryEngineKeepsEveryRow'
}

# Prints the folder of a mariadbd that has MyRocks beside it. Installing Debian's plugin would bring a server of the
# machine's own, so the plugin and a copy of the program are laid into a folder of this run.
programs_of_myrocks() {
  local server version folder=$out/myrocks
  server=$(PATH=$PATH:/usr/sbin:/usr/local/sbin type -P mariadbd) || return
  if [[ -e ${server%/*/*}/lib/mysql/plugin/ha_rocksdb.so ]]; then
    echo "${server%/*}"
    return
  fi
  [[ -z ${TESTBED_SKIP_PACKAGES:-} ]] || return 1
  # The server refuses a plugin of another release.
  version=$(dpkg-query --show --showformat='${Version}' "$(mariadb_server_package)") || return
  mkdir -p -- "$folder/usr/sbin" || return
  (cd -- "$folder" && apt-get download --quiet "mariadb-plugin-rocksdb=$version") >&2 || return
  dpkg-deb --extract "$folder"/mariadb-plugin-rocksdb_*.deb "$folder" || return
  cp -- "$server" "$folder/usr/sbin/mariadbd" || return
  echo "$folder/usr/sbin"
}

part_myrocks() {
  (set_up_tests && build release testbed) || return
  local programs bad=0 cuts=()
  has_engine mysql || cannot "this build has no mysql" || return
  programs=$(programs_of_myrocks) || cannot "there is no MyRocks (Debian: mariadb-plugin-rocksdb)" || return
  export PATH=$programs:$PATH
  # The tests are skipped where the server does not start, so the part fails here first.
  (cd -- "$out" && "$build_dir/release/testbed" --engine mysql:rocksdb --ram 256M --rows 1000 --seconds 1 --quiet) || return
  TESTBED_EVERY_IO_MODE=1 "$source_dir/tools/test.sh" -R mysql_buffered_rocksdb || bad=1
  ((EUID != 0)) || cuts=(--power-cuts 20)
  (cd -- "$out" && "$build_dir/release/testbed" crashtest --engine mysql:rocksdb --kills 50 --quiet "${cuts[@]}") || bad=1
  return "$bad"
}

part_planted_bugs() {
  command -v git >/dev/null || cannot "git is not installed" || return
  (set_up) || return
  "$source_dir/tools/crashtest/planted_bugs.sh"
}

part_mutants() {
  command -v git >/dev/null || cannot "git is not installed" || return
  local python=$out/mutants-python/bin/python tree=$out/mutated
  (set_up_mutants) || return
  python3 -m venv "$out/mutants-python" ||
    cannot "Python makes no environment of its own (Debian: python3-venv), see the log" || return
  "$python" -m pip install --quiet --no-deps --require-hashes -r "$source_dir/tests/mutants/requirements.txt" ||
    cannot "the package of tests/mutants/requirements.txt cannot be installed, see the log" || return
  rm -rf -- "$tree"  # an earlier run with this --out left it
  (git clone --quiet "$source_dir" "$tree" && cd -- "$tree" &&
    cmake --preset release -DTESTBED_TESTS=ON -DTESTBED_BY_ROOM=OFF \
      -DWIREDTIGER_ROOT="$("$source_dir/tools/setup/build_wiredtiger.sh" --where)") || return
  local ask=(--each "${TESTBED_MUTANTS:-3}") known=$source_dir/tests/mutants/results.json
  if [[ -f $known ]]; then
    cp -- "$known" "$out/mutants.json"
    ask=(--again)
  fi
  "$python" "$source_dir/tests/mutants/mutants.py" --tree "$tree" --results "$out/mutants.json" "${ask[@]}"
}

part_fuzz() {
  command -v clang++ >/dev/null || cannot "clang is not installed" || return
  local target targets=() bad=0 seconds=${TESTBED_FUZZ_SECONDS:-1800}
  for target in "$source_dir"/tests/fuzz/corpus/*/; do targets+=("$(basename "$target")"); done
  (set_up_tests && build fuzz "${targets[@]/#/testbed_fuzz_}") || return
  for target in "${targets[@]}"; do
    mkdir -p "$out/corpus-$target"
    # Found inputs go to the first folder; the second has the seeds.
    "$build_dir/fuzz/tests/testbed_fuzz_$target" -max_total_time="$seconds" \
      -artifact_prefix="$out/$target-" "$out/corpus-$target" "$source_dir/tests/fuzz/corpus/$target" || bad=1
  done
  return "$bad"
}

part_experiments() {
  (set_up && build release testbed) || return
  local name names bad=0 program=$build_dir/release/testbed
  names=$(wanted_experiments) || return
  [[ -n $names ]] || { say "there is no experiment to run"; return 1; }
  while read -r name; do
    can_be_planned "$name" || continue
    (cd -- "$out" && "$program" experiment "$name" --scale small --quiet) || bad=1
  done <<<"$names"
  page_of_experiments || bad=1
  return "$bad"
}

part_page() {
  (set_up && build release testbed) || return
  local bad=0
  python3 "$source_dir/bench/page_of_cells.py" --testbed "$build_dir/release/testbed" || bad=1
  python3 "$source_dir/bench/page_of_long_run.py" --testbed "$build_dir/release/testbed" || bad=1
  return "$bad"
}

part_statistics() {
  (set_up_tests && build release statistics_simulation) || return
  "$build_dir/release/bench/statistics_simulation"
}

# Makes a page of all the experiments' results, and opens it in a browser where there is one.
page_of_experiments() {
  local code=0
  compgen -G "$out/testbed-*-small" >/dev/null || return 0
  (cd -- "$out" && "$build_dir/release/testbed" report testbed-*-small --html all.html) || return
  "$source_dir/tests/browser/run.sh" --page "$out/all.html" "$build_dir/release/browser" || code=$?
  ((code != kSkipped)) || return 0
  return "$code"
}

# Prints the names of the experiments to run.
wanted_experiments() {
  if [[ -n ${TESTBED_NIGHTLY_EXPERIMENTS:-} ]]; then
    tr -s ', ' '\n' <<<"$TESTBED_NIGHTLY_EXPERIMENTS"
  else
    "$build_dir/release/testbed" experiment list | experiment_names
  fi
}

# can_be_planned NAME: fails, with a sentence that the summary repeats, when no cell of the experiment can run
# here, such as one of releases of which none is built. Any other error is the experiment's own to tell.
can_be_planned() {
  local said
  said=$("$build_dir/release/testbed" experiment plan "$1" --scale small 2>&1 >/dev/null) && return
  [[ $said == *"experiment $1 cannot run: "* ]] || return 0
  printf 'left out: %s, %s\n' "$1" "${said#*cannot run: }"
  return 1
}

part_originals() {
  (set_up_originals && build release testbed) || return
  local code=0
  python3 "$source_dir/bench/check_originals.py" --testbed "$build_dir/release/testbed" --markdown "$out/originals.md" || code=$?
  ((code != kSkipped)) || cannot "none of the originals is installed, see the log" || return
  return "$code"
}

# The checks `schedule` and `cost` of bench/check_traces.py are left out: their times hold only on a
# machine that does nothing else.
part_traces() {
  (set_up && build release testbed) || return
  python3 "$source_dir/bench/check_traces.py" --testbed "$build_dir/release/testbed" --directory "$out" \
    --only long,damaged,blocks --operations "${TESTBED_TRACE_OPERATIONS:-100000000}"
}

# Galera's packages are unpacked where the user that the servers run as may read them.
part_galera() {
  (set_up_galera && build release testbed) || return
  local files bad=0 code=0 program=$build_dir/release/testbed faults=kill,pause
  ((EUID != 0)) || faults+=,partition
  files=$(mktemp -d) || return
  if ! "$source_dir/bench/cluster_faults.py" --fetch "$files"; then
    rm -rf -- "$files"
    cannot "Galera's packages cannot be fetched, see the log" || return
  fi
  TESTBED_GALERA=$files python3 "$source_dir/tests/python/cluster_faults_test.py" "$program" "$out/galera" || bad=1
  "$source_dir/bench/cluster_faults.py" --files "$files" --fault "$faults" --testbed "$program" --json "$out/galera.json" || code=$?
  rm -rf -- "$files"
  ((code != kSkipped || bad)) || cannot "a program of a cluster is missing, see the log" || return
  return "$((bad || code))"
}

part_releases() {
  (set_up_releases && build release testbed) || return
  local name row bad=0 built=()
  printf '| release | build | conformance suite | 100 kills |\n|---|---|---|---|\n' >"$out/releases.md"
  while read -r name; do
    row=$(release_row "${name%%@*}" "${name#*@}") || bad=1
    printf '%s\n' "$row" | tee -a "$out/releases.md"
    [[ $row == *"| FAILED | - |"* ]] || built+=("$name")
  done < <(wanted_releases)
  compare_releases "${built[@]}" || bad=1
  return "$bad"
}

# Prints the releases to test, NAME@RELEASE. The last one tests that a user's own installation works: it is the
# library that testbed itself is linked with, named by its prefix.
wanted_releases() {
  if [[ -n ${TESTBED_NIGHTLY_RELEASES:-} ]]; then
    tr -s ', ' '\n' <<<"$TESTBED_NIGHTLY_RELEASES"
  else
    awk '!/^#/ && NF {print $1 "@" $2}' "$source_dir/tools/setup/engine_releases"
    printf 'wiredtiger@%s\n' "${WIREDTIGER_ROOT:-$("$source_dir/tools/setup/build_wiredtiger.sh" --where)}"
  fi
}

# release_row ENGINE RELEASE: builds the release, runs its conformance suite and kills it, prints a row of
# Markdown, and fails when something did. What the steps print goes to standard error.
release_row() {
  local engine=$1 release=$2 folder=$1-$2 suite log tests kills=ok
  while [[ $release == /*/ ]]; do release=${release%/}; done
  [[ $release != /* ]] || folder=$engine-$(sha256sum <<<"$release" | cut -c1-8)  # as build_engine.sh names it
  suite=testbed_release_${folder}_tests log=$out/$folder.conformance.log
  if ! "$source_dir/tools/build_engine.sh" "$engine" "$release" >&2 ||
    ! ninja -C "$build_dir/release" "$suite" >&2; then
    echo "| $engine@$release | FAILED | - | - |"
    return 1
  fi
  (cd -- "$out" && "$build_dir/release/releases/$folder/$suite" --gtest_brief=1 \
    --gtest_filter="*$engine*") >"$log" 2>&1 || true
  # A suite that ran to its end says how many passed, whatever failed.
  tests=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\{0,1\}\..*/\1 passed/p' "$log")
  if [[ -z $tests || $tests == '0 passed' ]] || grep -q '^\[  FAILED  \]' "$log"; then
    tests="FAILED${tests:+, $tests}"
    tail -n 40 -- "$log" >&2
  fi
  (cd -- "$out" && "$build_dir/release/testbed" crashtest --engine "$engine@$release" --kills 100 --quiet) >&2 ||
    kills=FAILED
  echo "| $engine@$release | ok | $tests | $kills |"
  [[ $tests != FAILED* && $kills == ok ]]
}

# compare_releases NAME@RELEASE...: compares the first and the last release of each engine that has two.
compare_releases() {
  local name engine bad=0 of_engine compared=0
  for engine in $(printf '%s\n' "${@%%@*}" | sort -u); do
    of_engine=()
    for name in "$@"; do [[ $name != "$engine@"[0-9]* ]] || of_engine+=("$name"); done
    ((${#of_engine[@]} > 1)) || continue
    compared=1
    (cd -- "$out" && "$build_dir/release/testbed" ab --a "engine=${of_engine[0]}" --b "engine=${of_engine[-1]}" \
      --workload point-read --ram 256M --time 5m --quiet --json "$engine.ab.json") || bad=1
  done
  ((compared)) || echo "no two releases of one engine are built, so none are compared"
  return "$bad"
}

part_python() {
  (set_up && build release testbed) || return
  local code=0
  "$source_dir/tests/python/run.sh" "$build_dir/release/testbed" "$out/python" --install || code=$?
  ((code != kSkipped)) || cannot "the packages of tests/python/requirements.txt cannot be installed" || return
  return "$code"
}

# Prints the first word of each line that names an experiment of the tree.
experiment_names() {
  local name rest
  while read -r name rest; do
    [[ ! -f $source_dir/tools/experiments/$name.toml ]] || echo "$name"
  done
}

# is_part NAME: ends the script with a sentence unless NAME is a part.
is_part() {
  local part
  for part in "${parts[@]}"; do [[ $part != "$1" ]] || return 0; done
  usage "there is no part '$1'; there are ${parts[*]}"
}

# Runs one part with its output in its log; its exit code is the part's.
run_part() {
  local part=$1 code=0
  # The part runs in a shell of its own without errexit, so that its exit code is kept.
  (
    set +e
    "part_${part//-/_}"
  ) >"$out/$part.log" 2>&1 </dev/null || code=$?
  return "$code"
}

main() {
  local wanted=("${parts[@]}") part list name code started verdict bad=0 summary=()
  out=$build_dir/nightly/$(date +%Y-%m-%d-%H%M%S)
  while (($# > 0)); do
    case $1 in
      --only | --skip)
        (($# > 1)) || usage "$1 takes a list of parts: ${parts[*]}"
        IFS=, read -ra list <<<"$2"
        ((${#list[@]} > 0)) || usage "$1 takes a list of parts: ${parts[*]}"
        for name in "${list[@]}"; do is_part "$name"; done
        if [[ $1 == --only ]]; then
          wanted=("${list[@]}")
        else
          for name in "${list[@]}"; do wanted=("${wanted[@]/#$name/}"); done
        fi
        shift
        ;;
      --out)
        (($# > 1)) || usage "--out takes a directory"
        out=$2
        shift
        ;;
      --list)
        printf '%s\n' "${parts[@]}"
        exit
        ;;
      -h | --help)
        sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
        exit
        ;;
      *) usage "unknown option $1; see tools/nightly.sh --help" ;;
    esac
    shift
  done
  mkdir -p -- "$out" || die "cannot make $out"
  out=$(cd -- "$out" && pwd)
  for part in "${wanted[@]}"; do
    [[ -n $part ]] || continue
    say "$part: log in $out/$part.log"
    started=$SECONDS code=0
    run_part "$part" || code=$?
    case $code in
      0)
        verdict=ok
        while read -r name; do verdict+="; $name"; done < <(grep '^left out: ' "$out/$part.log" || true)
        ;;
      "$kSkipped") verdict="skipped, $(grep -m 1 '^cannot run' "$out/$part.log" || true)" ;;
      *) verdict="FAILED with exit code $code" bad=1 ;;
    esac
    summary+=("$(printf '%-12s %6d s  %s' "$part" "$((SECONDS - started))" "$verdict")")
    say "${summary[-1]}"
  done
  printf '%s\n' "${summary[@]}" | tee "$out/summary.txt"
  return "$bad"
}

main "$@"
exit
