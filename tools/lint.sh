#!/usr/bin/env bash
# Checks the rules of the house that a machine can check:
#
#   floors      includes go down only, between floors, rooms and engines; tests/unit mirrors their folders
#   sizes       files with their header, functions, folders, columns of comments
#   names       types are given once, and what is in the unnamed namespaces of a folder; the functions of a
#               class lie in the folder of its header
#   links       what the documents point at is there
#   format      clang-format
#   shell       shellcheck, bash's own syntax check, and that a script with `cd` unsets CDPATH
#   spelling    codespell
#   threads     clang's thread-safety analysis: what a mutex guards is touched only under it
#               (device/os/mutex.h; slow, as tidy)
#   tidy        clang-tidy with the list in .clang-tidy (slow: on its own, or with --changed)
#
#   tools/lint.sh                       all but threads and tidy, on the whole tree
#   tools/lint.sh --changed COMMIT      all, on the files that differ from COMMIT
#   tools/lint.sh --only format,tidy    only these
#   tools/lint.sh --fix                 lets clang-format write what it would rather have
#
# The formatter, the spell checker and clang-tidy come with the versions and hashes of tools/lint/requirements.txt, into
# build/lint/ (TESTBED_LINT_TOOLS: another folder, which is new, empty or lint.sh's own); a rule whose tool cannot be had is
# named as not checked, and fails with --strict. Exit code 0 when no rule is broken, 1 when one is, 2 when the options are wrong.
set -euo pipefail
unset CDPATH
source "$(dirname -- "${BASH_SOURCE[0]}")/setup/own_folder.sh"
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
tool_dir=${TESTBED_LINT_TOOLS:-$here/build/lint}
export PYTHONPATH=$tool_dir/packages
rules=(floors sizes names links format shell spelling threads tidy)

say() { printf 'lint: %s\n' "$*" >&2; }
usage() {
  say "$*"
  exit 2
}

# take_files [--code] [--units] PATTERN...: sets `files` to the files to look at that match; with --code not those in which only
# comments changed, and with --units, in place of each header, to a file that compiles it.
take_files() {
  local list
  list=$(python3 "$here/tools/lint/tree.py" "$here" ${commit:+--changed "$commit"} "$@") || return 1
  files=()
  [[ -z $list ]] || mapfile -t files <<<"$list"
}

# install_tools LIST: installs the pinned tools, in place of those of another list.
install_tools() {
  own_folder "$tool_dir" "$here/build/lint" || return 1
  rm -rf -- "$tool_dir"/{packages,requirements.txt,pip.log}
  python3 -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --target "$tool_dir/packages" \
    --requirement "$1" >"$tool_dir/pip.log" 2>&1 || return 1
  cp -- "$1" "$tool_dir/requirements.txt"
}

# tool NAME: where the pinned tool is; installs all of them once. Of several processes one installs, and the others wait.
tool() {
  local wanted=$here/tools/lint/requirements.txt parent lock
  if ! cmp -s "$wanted" "$tool_dir/requirements.txt"; then
    parent=$(dirname -- "$tool_dir")
    mkdir -p -- "$parent"
    exec {lock}<"$parent"
    flock "$lock"
    cmp -s "$wanted" "$tool_dir/requirements.txt" || install_tools "$wanted" || return 1
    exec {lock}<&-
  fi
  local program=$tool_dir/packages/${1//-/_}/data/bin/$1
  # The clang tools in bin/ are Python programs, which take as long to start the binary above as the binary
  # takes for a file.
  [[ -x $program ]] || program=$tool_dir/packages/bin/$1
  [[ -x $program ]] || return 1
  echo "$program"
}

not_checked() {
  say "$1 is not checked: $2"
  [[ -z $strict ]] || return 1
}

check_python() {
  local script=$1 pattern=$2
  if [[ -z $commit ]]; then
    python3 "$here/tools/lint/$script.py" "$here"
    return
  fi
  take_files "$pattern" "${3:-$pattern}" || return 1
  ((${#files[@]} == 0)) || python3 "$here/tools/lint/$script.py" "$here" "${files[@]}"
}
check_floors() { check_python floors '*.h' '*.cc'; }
check_sizes() { check_python sizes '*.h' '*.cc'; }
check_names() { check_python names '*.h' '*.cc'; }
check_links() { check_python links '*.md'; }

# name_unformatted FORMATTER FILE...: names each file that the formatter would write otherwise.
name_unformatted() {
  local formatter=$1 file bad=0
  shift
  for file; do
    "$formatter" "$file" | cmp -s - "$file" && continue
    echo "$file: is not as clang-format has it; tools/lint.sh --fix --only format"
    bad=1
  done
  return "$bad"
}

check_format() {
  local formatter
  formatter=$(tool clang-format) || { not_checked format "clang-format cannot be installed"; return; }
  take_files '*.h' '*.cc' || return 1
  ((${#files[@]} > 0)) || return 0
  if [[ -n $fix ]]; then
    (cd -- "$here" && printf '%s\0' "${files[@]}" | xargs -0 -n 20 "$formatter" -i)
    return
  fi
  (cd -- "$here" && export -f name_unformatted && printf '%s\0' "${files[@]}" |
    xargs -0 -n 20 -P "$(nproc)" bash -c 'name_unformatted "$@"' name_unformatted "$formatter")
}

# unsets_cdpath FILE: fails with a sentence where a script calls cd before it unsets CDPATH. With CDPATH in the
# environment, cd of a relative folder may go to another one, and prints where it went.
unsets_cdpath() {
  awk '/^unset CDPATH$/ { exit } /^ *([^# a-zA-Z_]|[^# ].*[^a-zA-Z_])?cd / { exit 1 }' "$here/$1" && return
  echo "$1: cd obeys the user's CDPATH; the line 'unset CDPATH' belongs before the first cd"
  return 1
}

check_shell() {
  local file bad=0
  take_files '*.sh' .ci/run || return 1
  for file in "${files[@]}"; do
    bash -n "$here/$file" || bad=1
    unsets_cdpath "$file" || bad=1
  done
  if command -v shellcheck >/dev/null; then
    ((${#files[@]} == 0)) || (cd -- "$here" && printf '%s\0' "${files[@]}" |
      xargs -0 -n 4 -P "$(nproc)" shellcheck --external-sources --source-path=SCRIPTDIR --exclude=SC2317) || bad=1
  else
    not_checked shell "shellcheck is not installed (Debian: shellcheck)" || bad=1
  fi
  return "$bad"
}

check_spelling() {
  local speller
  speller=$(tool codespell) || { not_checked spelling "codespell cannot be installed"; return; }
  take_files '*.h' '*.cc' '*.md' '*.sh' '*.py' '*.toml' '*.txt' '*.cmake' || return 1
  ((${#files[@]} == 0)) || (cd -- "$here" && "$speller" --ignore-words tools/lint/spelling.txt \
    --ignore-regex '\w*[a-z][A-Z]\w*' "${files[@]}")  # names in CamelCase are not words
}

# Sets `commands` to a folder with the compile command of each file. build/release, which must be configured,
# may compile the files of a folder together; then the same settings are configured with TESTBED_BY_ROOM=OFF.
take_commands() {
  local settings=()
  commands=$here/build/release
  [[ -f $commands/compile_commands.json ]] || { not_checked "$1" "build/release is not configured"; return 1; }
  [[ -f $commands/CMakeCache.txt ]] || return 0
  mapfile -t settings < <(sed -nE 's/^((WIREDTIGER|ROCKSDB)_ROOT|CMAKE_(BUILD_TYPE|CXX_COMPILER)|TESTBED_[A-Z_]+):([A-Z]+)=(.*)/-D\1:\4=\5/p' \
    "$commands/CMakeCache.txt")
  commands=$here/build/lint-commands
  cmake -S "$here" -B "$commands" -G Ninja "${settings[@]}" -DTESTBED_BY_ROOM=OFF >"$commands.log" 2>&1 ||
    { not_checked "$1" "the build cannot be configured, see $commands.log"; return 1; }
}

# may_touch_guarded FILE: whether a file may touch what a mutex guards: it names locks or what they guard, or includes a
# header of its own folder that does. The functions of a class lie in files that include its header.
may_touch_guarded() {
  local headers
  mapfile -t headers < <(sed -n "s|^#include \"\(${1%/*}/[^/\"]*\)\".*|\1|p" "$here/$1")
  (cd -- "$here" && grep -qsE 'LockGuard|UniqueLock|GUARDED_BY|REQUIRES' -- "$1" "${headers[@]}")
}

check_threads() {
  local tidy file locking=()
  tidy=$(tool clang-tidy) || { not_checked threads "clang-tidy cannot be installed"; return; }
  take_commands threads || { [[ -z $strict ]]; return; }
  take_files --code --units '*.cc' '*.h' || return 1
  for file in "${files[@]}"; do
    [[ $file != tests/* ]] || continue
    may_touch_guarded "$file" && locking+=("$file")
  done
  ((${#locking[@]} == 0)) || (cd -- "$here" && printf '%s\0' "${locking[@]}" |
    xargs -0 -n 1 -P "$(nproc)" "$tidy" -p "$commands" --quiet --extra-arg=-Wthread-safety --extra-arg=-Wno-unknown-warning-option \
      --checks='-*,bugprone-unused-raii,clang-diagnostic-thread-safety*' --warnings-as-errors='*')
}

check_tidy() {
  local tidy file
  tidy=$(tool clang-tidy) || { not_checked tidy "clang-tidy cannot be installed"; return; }
  take_commands tidy || { [[ -z $strict ]]; return; }
  take_files --code --units '*.cc' '*.h' || return 1
  for file in "${!files[@]}"; do
    [[ ${files[file]} != tests/fuzz/* ]] || unset "files[file]"
  done
  ((${#files[@]} == 0)) || (cd -- "$here" && printf '%s\0' "${files[@]}" |
    xargs -0 -n 1 -P "$(nproc)" "$tidy" -p "$commands" --quiet --extra-arg=-Wno-unknown-warning-option "--extra-arg=-I$here/embed" \
      --warnings-as-errors='*')
}

main() {
  local wanted=(floors sizes names links format shell spelling) rule list bad=0 chosen=''
  commit='' strict='' fix=''
  while (($# > 0)); do
    case $1 in
      --changed)
        (($# > 1)) || usage "--changed takes a commit"
        commit=$(git -C "$here" rev-parse --verify --quiet "$2^{commit}") || usage "--changed: $2 is not a commit"
        [[ -n $chosen ]] || wanted=("${rules[@]}")
        shift
        ;;
      --only)
        (($# > 1)) || usage "--only takes a list of rules: ${rules[*]}"
        chosen=1
        IFS=, read -ra list <<<"$2"
        ((${#list[@]} > 0)) || usage "--only takes a list of rules: ${rules[*]}"
        for rule in "${list[@]}"; do
          [[ " ${rules[*]} " == *" $rule "* ]] || usage "there is no rule '$rule'; there are ${rules[*]}"
        done
        wanted=("${list[@]}")
        shift
        ;;
      --strict) strict=1 ;;
      --fix) fix=1 ;;
      -h | --help)
        sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
        exit
        ;;
      *) usage "unknown option $1; see tools/lint.sh --help" ;;
    esac
    shift
  done
  for rule in "${wanted[@]}"; do
    # The rule runs in a condition, so that errexit does not keep the other rules from running.
    if ! "check_$rule"; then
      say "$rule: broken"
      bad=1
    fi
  done
  ((bad)) || say "ok: ${wanted[*]}"
  return "$bad"
}

main "$@"
exit
