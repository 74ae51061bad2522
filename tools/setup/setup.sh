# shellcheck shell=bash
# What tools/run.sh, tools/test.sh and other scripts share: everything between a bare Debian
# and a built testbed. Source it; it defines
#
#   say TEXT           a line of progress on stderr
#   die TEXT           the same, and the end, with exit code 1
#   add_servers WORD...   adds the packages of the servers that a run of these words starts; before set_up
#   fetch_servers WORD... fetches those of them that no package has; after set_up
#   set_up             installs the Debian packages, WiredTiger and, where cargo is installed, libmdbx; takes the build folder's lock
#   set_up_tests       the same, with the packages of the tests; the builds have tests
#   set_up_originals   as set_up, with the programs that bench/check_originals.py compares with
#   set_up_galera      as set_up, with the programs that bench/cluster_faults.py takes, but Galera's own, which it unpacks
#   set_up_releases    as set_up_tests, with what tools/build_engine.sh fetches sources by
#   set_up_mutants     as set_up_tests, with what makes an environment of Python for tests/mutants/mutants.py
#   build PRESET [TARGET...]   configures (when needed) and builds build/PRESET
#   release_lock       lets another run.sh or test.sh use the build folder
#
# All of it is quiet and takes a fraction of a second when there is nothing to do. What a step
# printed is in build/log/, and its last lines are shown when it fails.
#
# Environment: WIREDTIGER_ROOT, ROCKSDB_ROOT (your own builds), TESTBED_JOBS (parallel compilers,
# default: all CPUs), TESTBED_SKIP_PACKAGES=1 (never call apt), TESTBED_WERROR=1 (warnings are errors), and what tools/setup/build_wiredtiger.sh
# takes.

unset CDPATH
source_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build_dir=$source_dir/build
log_dir=$build_dir/log

mariadbd_package() {
  local ID='' VERSION_ID=''
  # shellcheck source=/dev/null
  [[ -r /etc/os-release ]] && . /etc/os-release
  case $ID:${VERSION_ID%%.*} in
    debian:12 | ubuntu:22) echo libmariadbd19 ;;
    *) echo libmariadbd19t64 ;;
  esac
}

mariadb_server_package() {
  local ID='' VERSION_ID=''
  # shellcheck source=/dev/null
  [[ -r /etc/os-release ]] && . /etc/os-release
  case $ID:${VERSION_ID%%.*} in
    ubuntu:22) echo mariadb-server-core-10.6 ;;
    *) echo mariadb-server-core ;;
  esac
}

# packages_of_wiredtiger are the Debian packages that WiredTiger is fetched and built with.
packages_of_wiredtiger=(
  cmake ninja-build g++ python3 python3-pip python3-setuptools ca-certificates
  libsnappy-dev liblz4-dev libzstd-dev zlib1g-dev
)
# `packages` are those that testbed is built with, and those of programs that it calls (mkfs, losetup, mount).
# Their names are the same in Debian 12 and 13, except for the library that the innodb engine loads.
packages=(
  librocksdb-dev liblmdb-dev libsqlite3-dev libmariadb-dev libpq-dev liburing-dev libfmt-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libmuparser-dev libboost-dev
  libxxhash-dev duktape-dev libgoogle-perftools-dev
  libcivetweb-dev libncurses-dev
  libbpf-dev libfuse3-dev libbson-dev libflatbuffers-dev
  util-linux mount e2fsprogs xfsprogs
  "$(mariadbd_package)"
)
# Packages that only tests and benchmarks need: db_bench to compare with, git and shellcheck for
# tools/lint.sh, pkg-config for programs that embed the libraries without CMake, a Slurm of three nodes
# and GNU parallel for experiments on many hosts (6 MB), and the servers that the engines mysql and
# postgres start (100 MB, the dependencies of PostgreSQL another 150).
packages_of_tests=(libgtest-dev libgmock-dev libbenchmark-dev rocksdb-tools strace shellcheck git pkg-config
  slurmctld slurmd slurm-client parallel "$(mariadb_server_package)" postgresql)
# The packages of sysbench and a server for it, of Java and Maven for YCSB, of db_bench, and of
# zstd, which reads traces.
packages_of_originals=(sysbench mariadb-server-core default-jre-headless maven rocksdb-tools zstd)
packages_of_galera=("$(mariadb_server_package)" libmariadb3 iproute2)
packages_of_releases=(cargo)
packages_of_mutants=(python3-venv)
with_tests=
as_root=()

say() { printf 'testbed: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

# logged NAME WHAT COMMAND...: runs a command with its output in build/log/NAME.log; ends with a
# sentence if it fails.
logged() {
  local log=$log_dir/$1.log what=$2
  shift 2
  "$@" >"$log" 2>&1 9>&- </dev/null || failed "$log" "$what"
}

failed() {
  tail -n 40 -- "$1" >&2
  die "$2 failed; the whole output is in $1."
}

# settings_of_words WORD...: prints the settings that the words of a command give, NAME=VALUE, one a line.
# --NAME VALUE, --NAME=VALUE and NAME=VALUE are the same; a setting of the engine (--engine-option NAME=VALUE)
# is printed as NAME=VALUE.
settings_of_words() {
  local word option=''
  for word in "$@"; do
    if [[ $word == --?* && $word != *=* ]]; then
      option=${word#--}
      continue
    fi
    [[ $word == --* || -z $option ]] || word=$option=$word
    option=
    word=${word#--}
    [[ $word != *=* ]] || printf '%s\n' "${word#engine-option=}"
  done
}

# settings_of_sides WORD...: prints the settings of each run that the words ask for, one run a line: several when they
# are those of a comparison (ab --a 'NAME=VALUE ...' --b ...), else one. Those of a side come after those of all sides.
settings_of_sides() {
  local word side sides=() all=()
  while IFS= read -r word; do
    case $word in
      [a-d]=*) sides+=("${word#*=}") ;;
      *) all+=("$word") ;;
    esac
  done < <(settings_of_words "$@")
  ((${#sides[@]} > 0)) || sides=('')
  for side in "${sides[@]}"; do printf '%s\n' "${all[*]} $side"; done
}

# servers_of_words WORD...: prints the servers that a command of these words starts, one a line: mariadb, mariadb@10.1.23,
# postgres, postgres@15, postgres@18, postgres@18.6. --server names them, or else --engine. A run of a server that runs already (--connect), or of programs
# that are given, starts none of these.
servers_of_words() {
  local line word server names settings=()
  while IFS= read -r line; do
    server='' names=''
    read -ra settings <<<"$line"
    while IFS= read -r word; do
      case $word in
        connect=* | program=* | programs=*) continue 2 ;;
        server=*) server=${word#*=} ;;
        engine=*) names=${word#*=} ;;
      esac
    done < <(settings_of_words "${settings[@]}")
    # A sweep gives an option a list. The form of an engine may name a server: mysql:mariadb,
    # postgres:postgres@15.
    while IFS= read -r word; do
      [[ $word == rocksdb && -n $server ]] && word=mariadb # MyRocks is a plugin of MariaDB, which is not installed unasked
      word=${word#postgres:}
      case $word in
        mariadb@* | mysql:mariadb@*) echo "${word#mysql:}" ;;
        mysql | mysql:mariadb | mysql:rocksdb | mariadb) echo mariadb ;;
        postgres | postgres@*) echo "$word" ;;
      esac
    done < <(tr , '\n' <<<"${server:-$names}")
  done < <(settings_of_sides "$@") | sort -u
}

# has_postgres VERSION: whether that major version is installed, where engines/postgres/settings.cc looks for it.
has_postgres() { [[ -x /usr/lib/postgresql/$1/bin/initdb || -x /usr/pgsql-$1/bin/initdb ]]; }

# release_of_server NAME: prints the release that tools/setup/fetch_mariadb.sh or fetch_postgres.sh fetches for a server: 10.1.23
# for mariadb@10.1.23, and 18.6 for postgres@18.6. A major version, which is a release without its last number, is the newest
# release of it that they know: mariadb@10.1, postgres@18. Nothing for another name, for the major version of a PostgreSQL that
# is installed, and, as the programs are for x86-64, for any major version on other machines, whose packages may have it.
release_of_server() {
  local version=${1#*@}
  [[ $1 == *@* ]] || return 0
  if [[ $1 == postgres@* ]] && has_postgres "$version"; then return 0; fi
  awk -v server="${1%%@*}" -v version="$version" -v machine="$(uname -m)" '
    $1 == server {
      major = $2
      sub(/[.][0-9]+$/, "", major)
      if ($2 "" == version "" || (major "" == version "" && machine == "x86_64")) newest = $2
    }
    END { if (newest != "") print newest }' "$source_dir/tools/setup/server_releases"
}

# fetch_servers WORD...: fetches the releases of servers that a run of these words starts; after set_up. What is no release
# is left to the program, which says so.
fetch_servers() {
  local server release
  while read -r server; do
    release=$(release_of_server "$server")
    [[ -z $release ]] || "$source_dir/tools/setup/fetch_${server%%@*}.sh" "$release" >/dev/null 9>&- </dev/null || exit 1
  done < <(servers_of_words "$@")
}

# package_of_server NAME: prints the package of a server of servers_of_words; nothing when its programs are there,
# from wherever.
package_of_server() {
  local version=${1#postgres@} release server=${1%%@*} program=mysqld
  release=$(release_of_server "$1")
  if [[ -n $release ]]; then
    # Maven downloads the jar that the programs are in.
    [[ $server != postgres ]] || program=postgres
    [[ -x $("$source_dir/tools/setup/fetch_$server.sh" --where)/$server-$release/bin/$program || -n $(type -P mvn) ]] || echo maven
    return 0
  fi
  case $1 in
    mariadb) [[ -n $(PATH=$PATH:/usr/sbin:/usr/local/sbin type -P mariadbd) ]] || mariadb_server_package ;;
    postgres) compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || echo postgresql ;;
    postgres@*) has_postgres "$version" || echo "postgresql-$version" ;;
  esac
}

add_servers() {
  local server package
  while read -r server; do
    package=$(package_of_server "$server")
    [[ -z $package ]] || packages+=("$package")
  done < <(servers_of_words "$@")
}

# The installation of Debian's PostgreSQL makes a cluster and starts a server, unless this file says otherwise,
# which it then keeps. What the file of an earlier installation says stays.
want_no_cluster_of_debian() {
  local file=/etc/postgresql-common/createcluster.conf
  [[ ! -e $file ]] || return 0
  "${as_root[@]}" install -D -m 644 /dev/stdin "$file" <<'END' || die "cannot write $file"
# testbed wrote this file before it had PostgreSQL installed: it needs the programs, and starts servers of its own.
create_main_cluster = false
END
}

# missing_packages NAME...: prints those that are not installed.
missing_packages() {
  local installed package
  # dpkg-query fails when it does not know one of the names. That name is then missing, which is no error.
  installed=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    [[ $'\n'$installed$'\n' == *$'\n'"installed $package"$'\n'* ]] || echo "$package"
  done
}

# Sets `missing` to the packages to install, all of them, and `apt` to the command that does it.
prepare_packages() {
  as_root=()
  missing=()
  [[ -z ${TESTBED_SKIP_PACKAGES:-} ]] || return 0
  # On a system that is not Debian or derived from it, CMake says what is missing.
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || return 0
  mapfile -t missing < <(missing_packages "${packages_of_wiredtiger[@]}" "${packages[@]}")
  ((${#missing[@]} > 0)) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "some packages are missing, and installing them takes root or sudo. As root:" \
        "apt-get install ${missing[*]}"
    as_root=(sudo)
    if [[ -t 0 ]]; then
      say "sudo is needed to install ${#missing[@]} packages: ${missing[*]}"
      sudo -v || die "sudo was refused. Have an administrator run: apt-get install ${missing[*]}"
    elif ! sudo -n true 2>/dev/null; then
      die "sudo wants a password and there is no terminal. As root: apt-get install ${missing[*]}"
    fi
  fi
  say "installing ${#missing[@]} Debian packages (once)"
  apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y
    -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -o Acquire::Retries=3)
  # A stale package list is worth a try, so only the installation has to succeed.
  "${apt[@]}" update >"$log_dir/apt-update.log" 2>&1 9>&- </dev/null ||
    say "apt-get update failed (see $log_dir/apt-update.log); trying with the lists that are there"
}

# install_packages LOG NAME...: installs those of them that are missing. Needs prepare_packages.
install_packages() {
  local log=$1 wanted
  shift
  ((${#missing[@]} > 0)) || return 0
  mapfile -t wanted < <(missing_packages "$@")
  ((${#wanted[@]} > 0)) || return 0
  [[ " ${wanted[*]}" != *' postgresql'* ]] || want_no_cluster_of_debian
  # The installation stops with a sentence where a package conflicts with a server that the machine has, which
  # must stay.
  logged "$log" "installing the Debian packages" \
    "${apt[@]}" install --no-install-recommends --no-remove "${wanted[@]}"
}

# Installs the packages and sets wiredtiger_root. WiredTiger is built while the packages are installed that
# it does not need: a compiler keeps all processors busy, apt-get one at most.
provide_packages_and_wiredtiger() {
  local building='' packages_failed=''
  wiredtiger_root=${WIREDTIGER_ROOT:-}
  prepare_packages
  install_packages apt-install-first "${packages_of_wiredtiger[@]}"
  if [[ -z $wiredtiger_root ]]; then
    "$source_dir/tools/setup/build_wiredtiger.sh" >"$log_dir/wiredtiger-root" 9>&- </dev/null &
    building=$!
  fi
  # The packages are installed in a subshell, so that the build is awaited even if they fail.
  (install_packages apt-install "${packages[@]}") || packages_failed=1
  if [[ -n $building ]]; then
    wait "$building" || exit 1
    wiredtiger_root=$(<"$log_dir/wiredtiger-root")
  fi
  [[ -z $packages_failed ]] || exit 1
}

# Builds libmdbx if cargo, which downloads its source, is installed. Otherwise the engine mdbx is left out.
provide_mdbx() {
  command -v cargo >/dev/null || return 0
  "$source_dir/tools/setup/build_mdbx.sh" >"$log_dir/mdbx.log" 2>&1 9>&- </dev/null ||
    say "the engine mdbx is left out: its library could not be built (see $log_dir/mdbx.log)"
}

set_up() {
  { mkdir -p "$log_dir" 2>/dev/null && [[ -w $build_dir && -w $log_dir ]]; } ||
    die "the build folder $build_dir is not writable; has another user built there?"
  # The lock keeps two ninjas out of one build folder, where they would spoil each other's files.
  exec 9>"$build_dir/.lock"
  if ! flock --nonblock 9; then
    say "waiting for another tools/run.sh or tools/test.sh that uses $build_dir"
    flock 9
  fi
  provide_packages_and_wiredtiger
  provide_mdbx
}

set_up_tests() {
  with_tests=1
  packages+=("${packages_of_tests[@]}")
  set_up
}

set_up_originals() {
  packages+=("${packages_of_originals[@]}")
  set_up
}

set_up_galera() {
  packages+=("${packages_of_galera[@]}")
  set_up
}

set_up_releases() {
  # cargo is not installed where it exists already, such as from rustup.
  command -v cargo >/dev/null || packages+=("${packages_of_releases[@]}")
  set_up_tests
}

set_up_mutants() {
  packages+=("${packages_of_mutants[@]}")
  set_up_tests
}

release_lock() { exec 9>&-; }

# cached PRESET VARIABLE: prints the value of a CMake variable in a build folder; nothing where it
# has none.
cached() { sed -n "s/^$2:[^=]*=//p" "$build_dir/$1/CMakeCache.txt" 2>/dev/null || true; }

# has_mdbx PRESET: fails when the library of the engine mdbx is in the cache folder and the build
# lacks it. It succeeds, too, where somebody has switched the engine off or given cmake a library
# (MDBX_ROOT).
has_mdbx() {
  local prefix
  [[ $(cached "$1" TESTBED_MDBX) != OFF && -z $(cached "$1" MDBX_ROOT) ]] || return 0
  prefix=$("$source_dir/tools/setup/build_mdbx.sh" --where 2>/dev/null) || return 0
  [[ ! -f $prefix/lib/libmdbx.a ]] || grep -qF -- "$prefix/lib/libmdbx.a" "$build_dir/$1/build.ninja"
}

# is_configured PRESET: whether the build folder is configured with the libraries that are wanted now. A
# WiredTiger that somebody gave to cmake by hand is accepted. A WiredTiger in the cache folder must have been
# built by the present recipe.
is_configured() {
  local wiredtiger
  [[ -f $build_dir/$1/build.ninja ]] || return 1
  [[ -z $with_tests || $(cached "$1" TESTBED_TESTS) != OFF ]] || return 1
  [[ -z ${ROCKSDB_ROOT:-} || $(cached "$1" ROCKSDB_ROOT) == "$ROCKSDB_ROOT" ]] || return 1
  [[ -z ${TESTBED_WERROR:-} || $(cached "$1" TESTBED_WERROR) == ON ]] || return 1
  has_mdbx "$1" || return 1
  wiredtiger=$(cached "$1" WIREDTIGER_ROOT)
  [[ $wiredtiger == "$wiredtiger_root" ]] && return
  [[ -z ${WIREDTIGER_ROOT:-} && -d $wiredtiger && $wiredtiger != */wiredtiger-*-* ]]
}

configure() {
  local options=("-DWIREDTIGER_ROOT=$wiredtiger_root")
  [[ -n ${ROCKSDB_ROOT:-} ]] && options+=("-DROCKSDB_ROOT=$ROCKSDB_ROOT")
  [[ -n ${TESTBED_WERROR:-} ]] && options+=("-DTESTBED_WERROR=ON")
  # A build that only runs the program needs no library of the tests. A folder that was configured
  # with the tests keeps them.
  if [[ -n $with_tests ]]; then
    options+=(-UTESTBED_TESTS -UTESTBED_BENCH)
  elif [[ $(cached "$1" TESTBED_TESTS) != ON ]]; then
    options+=(-DTESTBED_TESTS=OFF -DTESTBED_BENCH=OFF)
  fi
  command -v cmake >/dev/null || die "cmake (3.25 or newer) is missing."
  command -v ninja >/dev/null || die "ninja is missing."
  (cd -- "$source_dir" && logged "configure-$1" "configuring the $1 build" \
    cmake --preset "$1" "${options[@]}") || exit 1
}

# Copies ninja's output to a log, and says after the first step that something is being built. Only
# then does ninja know that there is something to do; the step that asks for the commit runs each
# time and is not counted. On a terminal the line counts the steps; elsewhere a line each minute
# does.
follow_ninja() {
  local preset=$1 log=$2 line said="" at=$SECONDS
  while IFS= read -r line; do
    printf '%s\n' "$line"
    [[ $line == '['*'] '* && $line != *Re-checking* && $line != *Re-running* && $line != *BuildInfo.cmake* ]] || continue
    if [[ -t 2 ]]; then
      printf '\rtestbed: building (%s) %s ' "$preset" "${line%%]*}]" >&2
    elif [[ -z $said ]]; then
      say "building ($preset)"
    elif ((SECONDS - at >= 60)); then
      say "building ($preset) ${line%%]*}]"
    else
      continue
    fi
    at=$SECONDS
    said=1
  done >"$log"
  [[ -z $said || ! -t 2 ]] || echo >&2
}

build() {
  local preset=$1 log=$log_dir/build-$1.log ninja=(ninja -C "$build_dir/$1")
  shift
  [[ -z ${TESTBED_JOBS:-} ]] || ninja+=(-j "$TESTBED_JOBS")
  is_configured "$preset" || configure "$preset"
  "${ninja[@]}" "$@" 2>&1 9>&- </dev/null | follow_ninja "$preset" "$log" ||
    failed "$log" "the $preset build"
}
