# shellcheck shell=bash
# Functions for the scripts that build a library once per machine and user. Source it; it defines
#
#   say TEXT, die TEXT       a line of progress on stderr; the same, and the end, with exit code 1
#   home, cache              the user's home; the folder of built libraries
#   take_release ENGINE NAME [--where] RELEASE
#                            sets $where (1 or empty), $release, and $package, $version and $package_sha256 of its source;
#                            ends with the releases that there are, when it is none of them
#   take_server SERVER NAME PROGRAM [--where | [--remove] RELEASE]
#                            without a word prints the releases that there are, with --where prints the cache's folder, with
#                            --remove removes the release, prints the folder of a release whose PROGRAM is there, and ends. For
#                            any other release it sets $release, $artifact and $sha256 of its jar, $prefix and $log
#   recipe_of COMPILER WORD...  a hash of the words and of the compiler's version
#   enter_cache NAME WHAT PREFIX LIBRARY
#                            takes the lock of the library's builds; prints PREFIX and ends when
#                            another script has built PREFIX/LIBRARY meanwhile
#   work_in_temporary NAME   makes the folder $work, which goes when the script ends
#   step WHAT COMMAND...     runs a command with its output in $log; ends with a sentence if it fails
#   fetch_crate FILE WHAT PACKAGE VERSION SHA256 VARIABLE
#                            downloads a crate, or takes the one that the environment's VARIABLE names
#   fetch_jar FILE WHAT ARTIFACT SIZE SHA256 VARIABLE
#                            downloads a jar by Maven, or takes the one that the environment's VARIABLE names
#   publish INSTALL PREFIX   makes INSTALL the library's folder, by one rename, and prints PREFIX
#
# The folder is ${TESTBED_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/testbed}, outside the project's
# build folder, so that `rm -rf build` costs no library; under sudo it is that of the user who called sudo,
# if there is one. The caller sets $log before the first step. TESTBED_ENGINE_RELEASES names another table of releases
# than tools/setup/engine_releases, which tests do.

say() { printf 'testbed: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
cache=${TESTBED_CACHE_DIR:-${XDG_CACHE_HOME:-$home/.cache}/testbed}
# sudo makes root's home the home. Root takes the libraries of the user who called it, where there are some: both use one
# build folder, which another path of WiredTiger would have configured and compiled anew at each change of the user.
cache_owner=
if ((EUID == 0)) && [[ -z ${TESTBED_CACHE_DIR:-} && -z ${XDG_CACHE_HOME:-} && -n ${SUDO_USER:-} ]]; then
  home_of_user=$(getent passwd "$SUDO_USER" | cut -d: -f6) || home_of_user=
  if [[ -n $home_of_user && -d $home_of_user/.cache/testbed ]]; then
    cache=$home_of_user/.cache/testbed
    cache_owner=$SUDO_USER
  fi
fi
[[ $cache == /* ]] || cache=$PWD/$cache
log=/dev/null # the caller names a file before the first step
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# shellcheck disable=SC2034  # its caller uses what it sets
take_release() {
  local engine=$1 name=$2 row table
  shift 2
  where=
  if [[ ${1:-} == --where ]]; then
    where=1
    shift
  fi
  release=${1:-}
  table=${TESTBED_ENGINE_RELEASES:-$(dirname -- "${BASH_SOURCE[0]}")/engine_releases}
  row=$(awk -v e="$engine" -v r="$release" '$1 == e && $2 == r' "$table")
  if [[ $# -ne 1 || -z $row ]]; then
    die "build_$engine.sh takes a release of $name: $(awk -v e="$engine" '$1 == e {print $2}' "$table" | paste -sd' ')."
  fi
  read -r _ _ _ _ package version package_sha256 <<<"$row"
}

# shellcheck disable=SC2034  # its caller uses what it sets
take_server() {
  local server=$1 product=$2 program=$3 table releases remove=
  shift 3
  table=$(dirname -- "${BASH_SOURCE[0]}")/server_releases
  releases=$(awk -v s="$server" '$1 == s {print $2}' "$table")
  case "${1:-}" in
    '')
      echo "$releases"
      exit 0
      ;;
    --where)
      echo "$cache"
      exit 0
      ;;
    --remove)
      remove=1
      shift
      ;;
  esac
  release=${1:-}
  read -r artifact sha256 < <(awk -v s="$server" -v r="$release" '$1 == s && $2 "" == r "" {print $4, $5}' "$table") || true
  [[ $# -eq 1 && -n ${sha256:-} ]] ||
    die "fetch_$server.sh takes a release of $product: $(paste -sd' ' <<<"$releases")."
  prefix=$cache/$server-$release
  if [[ -n $remove ]]; then
    rm -rf -- "$prefix"
    exit 0
  fi
  if [[ -x $prefix/$program ]]; then
    echo "$prefix"
    exit 0
  fi
  [[ $(uname -m) == x86_64 ]] || die "the programs of $product $release are for x86-64, and this machine is $(uname -m)."
  log=$cache/$server-$release.log
}

recipe_of() {
  local compiler=$1
  shift
  {
    echo "$*"
    "$compiler" --version
  } | sha256sum | cut -c1-10
}

enter_cache() {
  local name=$1 what=$2 prefix=$3 library=$4
  mkdir -p "$cache" ||
    die "cannot create the cache folder $cache; name another one with TESTBED_CACHE_DIR."
  exec 9>"$cache/.$name.lock"
  # When root makes the lock file, it gives the file to the owner of the folder, who could not open it
  # otherwise.
  [[ -z $cache_owner ]] || chown -h -- "$cache_owner" "$cache/.$name.lock"
  if ! flock --nonblock 9; then
    say "waiting for another build of $what in $cache"
    flock 9
  fi
  if [[ -e $prefix/$library ]]; then
    echo "$prefix"
    exit 0
  fi
}

work_in_temporary() {
  # A killed build left these folders. No other process uses them, because this one holds the lock. A user may not
  # remove those of a build by root, which stay.
  rm -rf -- "$cache/.$1.tmp".* 2>/dev/null || true
  work=$(mktemp -d "$cache/.$1.tmp.XXXXXX")
  trap 'rm -rf -- "$work"' EXIT
}

step() {
  local what=$1
  shift
  printf '\n== %s\n' "$*" >>"$log"
  # The lock's descriptor is closed for the command, because a process that it leaves running must not hold
  # the lock.
  "$@" >>"$log" 2>&1 9>&- </dev/null && return
  tail -n 25 -- "$log" >&2
  die "$what failed; the whole output is in $log."
}

# has_hash FILE SHA256: whether the file exists and has the hash.
has_hash() { [[ -f $1 ]] && sha256sum --check --status <<<"$2  $1"; }

# cargo downloads the crate, because it knows this machine's mirror, proxy and certificates. It puts
# the crate into its own cache and does not build it.
fetch_crate() {
  local file=$1 what=$2 package=$3 version=$4 sha256=$5 variable=$6 found
  if [[ -n ${!variable:-} ]]; then
    cp -- "${!variable}" "$file" || die "cannot read $variable=${!variable}."
  else
    command -v cargo >/dev/null ||
      die "downloading $what needs cargo (Debian: apt install cargo), or a $variable."
    say "downloading $what (the crate $package $version)"
    mkdir -p "$work/fetch/src"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2018"\n[dependencies]\n%s = { version = "=%s", default-features = false }\n' \
      "$package" "${version%%+*}" >"$work/fetch/Cargo.toml"
    : >"$work/fetch/src/lib.rs"
    step "downloading $package $version with cargo" cargo fetch --manifest-path "$work/fetch/Cargo.toml"
    found=$(find "${CARGO_HOME:-$home/.cargo}/registry/cache" -name "$package-$version.crate" -print -quit)
    [[ -n $found ]] || die "cargo has downloaded $package $version, but not to its cache."
    cp -- "$found" "$file"
  fi
  has_hash "$file" "$sha256" || die "$package-$version.crate has a wrong SHA-256; it should be $sha256."
}

# mvn downloads the jar, because it knows this machine's mirror, proxy and certificates.
fetch_jar() {
  local file=$1 what=$2 artifact=$3 size=$4 sha256=$5 variable=$6
  local plugin=org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy
  if [[ -n ${!variable:-} ]]; then
    cp -- "${!variable}" "$file" || die "cannot read $variable=${!variable}."
  else
    command -v mvn >/dev/null ||
      die "downloading $what needs Maven (Debian: apt install maven), or a $variable."
    say "downloading $what (${artifact%:*}, about $size)"
    step "downloading $artifact with mvn" mvn --batch-mode --quiet "$plugin" "-Dartifact=$artifact" "-DoutputDirectory=$work/jar"
    mv -- "$work/jar"/*.jar "$file"
  fi
  has_hash "$file" "$sha256" || die "the jar of $what has a wrong SHA-256; it should be $sha256."
}

publish() {
  # A folder without the library is left from some accident, and would make the rename fail.
  rm -rf -- "$2"
  [[ -z $cache_owner ]] || chown -hR -- "$cache_owner" "$1"
  mv -T -- "$1" "$2"
  rm -f -- "$log"
  echo "$2"
}
