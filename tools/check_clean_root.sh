#!/usr/bin/env bash
# Checks that the README's two commands work from nothing: makes a bare Debian in a temporary folder, puts the
# last commit (HEAD) into it, and runs in it, as root and without a terminal,
#
#   tools/run.sh ARGUMENTS     the first result, which must come within 6 minutes (on 2 CPUs)
#   tools/run.sh --version     again: what run.sh itself costs, which must be under a second
#   tools/test.sh              all tests
#
# and prints how long each took. Exit code 0 when all of it worked and was fast enough. With --packages it also
# makes the Debian packages there, installs them in a second bare Debian and builds a program on libtestbed-dev;
# and makes the container: by podman or docker where one of them works, and else by the steps of the Containerfile
# in a third bare Debian. The command that each of them installs must run btree and rocksdb.
#
#   sudo tools/check_clean_root.sh                       Debian 12
#   sudo tools/check_clean_root.sh trixie                Debian 13
#   sudo tools/check_clean_root.sh --no-tests            without tools/test.sh
#   sudo tools/check_clean_root.sh --packages            also the packages and the container
#   sudo tools/check_clean_root.sh bookworm -- --engine null
#
# Arguments after -- are those of the first run; without them: --engine rocksdb --cache-pct 20.
# Needs root, debootstrap, git, about 4 GB in ${TMPDIR:-/var/tmp}, and 8 with --packages. This machine's Debian
# mirror (or DEBIAN_MIRROR), apt and pip settings, proxies and certificates are used in there too. The logs are
# left in a folder named at the end.
#
# Everything is mounted in a mount namespace of its own, so that the mounts end with the last
# process in there, whatever happens, and deleting the folder cannot reach through one of them.
set -euo pipefail
unset CDPATH
# The locale of the user may have `time` write its seconds with a comma, which `timed` would read wrongly.
export LC_ALL=C

say() { printf 'check_clean_root: %s\n' "$*"; }
die() {
  say "$*" >&2
  exit 1
}

mirror_of_this_machine() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
    sed -nE 's/^(URIs:|deb( \[[^]]*\])?) *([^ ]+\/debian)\/?( .*)?$/\3/p' | head -n 1
}

# Copies this machine's network settings into the new root. The machine's own certificates become active when
# the package ca-certificates is installed.
copy_network_settings() {
  local root=$1 mirror=$2 suite=$3 file
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  apt-config dump 2>/dev/null | grep -E '^Acquire::(Check-|ftp|http|https|Retries|AllowInsecure)' \
    >"$root/etc/apt/apt.conf.d/99this-machine" || true
  cat >"$root/etc/apt/sources.list" <<END
deb $mirror $suite main
deb $mirror $suite-updates main
deb ${mirror}-security $suite-security main
END
  if [[ -d /usr/local/share/ca-certificates ]]; then
    mkdir -p "$root/usr/local/share/ca-certificates"
    cp -rL /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
  fi
  for file in /etc/pip.conf "$HOME/.config/pip/pip.conf"; do
    if [[ -f $file ]]; then
      install -D -m 644 -- "$file" "$root/${file/#$HOME//root}"
    fi
  done
}

# Makes the bare Debian, of which each root is a copy.
make_debian() {
  local bare=$folder/bare mirror=${DEBIAN_MIRROR:-$(mirror_of_this_machine)}
  [[ -n $mirror ]] || die "no Debian mirror is set up on this machine: give one by DEBIAN_MIRROR="
  say "making a bare Debian $suite from $mirror"
  debootstrap --variant=minbase "$suite" "$bare" "$mirror" >"$logs/debootstrap.log" 2>&1 ||
    die "debootstrap failed, see $logs/debootstrap.log"
  copy_network_settings "$bare" "$mirror" "$suite"
  # The package lists are removed, because Docker images have none either.
  rm -rf -- "$bare"/var/lib/apt/lists/* "$bare"/var/cache/apt/archives/*.deb
}

# new_root NAME: makes a root, in which `inside` runs commands from then on.
new_root() {
  root=$folder/$1
  cp -a -- "$folder/bare" "$root"
  # The bind makes "/" inside the root of a mount, as in a container. Otherwise no process inside
  # could have mounts of its own, which the tests with a scratch device need.
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
}

# put_source FOLDER: puts the commit into a folder.
put_source() {
  mkdir -p -- "$1"
  tar -xf "$logs/source.tar" -C "$1"
}

# inside COMMAND...: runs a command in the root, in its folder `at`, with a clean environment.
inside() {
  local name environment=()
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY \
    PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_CERT; do
    [[ -z ${!name:-} ]] || environment+=("$name=${!name}")
  done
  chroot "$root" /usr/bin/env -i --chdir="$at" HOME=/root CI=true LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${environment[@]}" "$@"
}

# timed LIMIT NAME COMMAND...: runs a command and reports how long it took and how many CPU seconds (the latter
# tell more when something else keeps the CPUs busy). A limit of 0 is none. Sets `bad`, and fails, when the
# command failed or was too slow.
timed() {
  local limit=$1 name=$2 code=0 seconds user system verdict=ok TIMEFORMAT='%R %U %S'
  shift 2
  { time "$@" >"$logs/$name.log" 2>&1 </dev/null || code=$?; } 2>"$logs/$name.time"
  read -r seconds user system <"$logs/$name.time"
  if ((code != 0)); then
    verdict="FAILED with exit code $code, see $logs/$name.log"
  elif ((limit > 0 && ${seconds%.*} >= limit)); then
    verdict="TOO SLOW, the limit is $limit s"
  fi
  say "$(printf '%-14s %8s s (CPU: %s s user, %s s system)  %s' \
    "$name" "$seconds" "$user" "$system" "$verdict")"
  if ((code != 0)); then
    tail -n 30 "$logs/$name.log"
  fi
  [[ $verdict == ok ]] || bad=1
  [[ $verdict == ok ]]
}

# check_command NAME COMMAND...: checks the testbed that the command runs.
check_command() {
  local name=$1 engine
  shift
  timed 0 "$name-version" "$@" --version || return 0
  for engine in btree rocksdb; do
    timed 0 "$name-$engine" "$@" --engine "$engine" --ram 256M --rows 1000 --seconds 1 --quiet || true
  done
}

# Makes the Debian packages in the root that has the build, and installs them in a root of their own.
check_packages() {
  local build=/root/testbed/build/release made
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends)
  at=/root/testbed
  timed 0 deb-tools inside "${install[@]}" dpkg-dev file || return 0
  timed 0 deb-targets inside cmake --build "$build" --target testbed testbed_man testbed_development || return 0
  at=$build
  timed 0 deb-cpack inside cpack -G DEB || return 0
  made=$root$build
  new_root package
  cp -- "$made"/*.deb "$root/root/"
  at=/root
  timed 0 deb-lists inside apt-get -q update || return 0
  timed 0 deb-install inside "${install[@]}" "$(package_file testbed)" || return 0
  check_command deb inside testbed
  timed 0 deb-develop inside "${install[@]}" "$(package_file libtestbed-dev)" || return 0
  # A program is built on it with what the package depends on, and a compiler.
  timed 0 deb-compiler inside "${install[@]}" g++ pkg-config || return 0
  put_source "$root/root/source"
  # shellcheck disable=SC2016
  timed 0 deb-program inside /bin/sh -c 'g++ -std=c++20 source/examples/key_value_store.cc -o store $(pkg-config --cflags --libs testbed-btree) &&
    ./store rows put ada 1815 && [ "$(./store rows get ada)" = 1815 ]' || true
}

# package_file NAME: prints the file of a package in the root. apt-get takes a name with a slash for a file.
package_file() { (cd -- "$root/root" && printf '%s\n' "./$1"_*.deb); }

# suite_of RECIPE: prints the Debian that a Containerfile begins with; fails when it is another system.
suite_of() {
  case $(sed -n 's/^FROM //p' "$1") in
    debian:12) echo bookworm ;;
    debian:13) echo trixie ;;
    *) return 1 ;;
  esac
}

# steps_of RECIPE: prints the instructions of a Containerfile, one a line.
steps_of() { sed -e '/^#/d' -e '/^$/d' -e ':more' -e '/\\$/{N;s/\\\n *//;b more' -e '}' "$1"; }

# Prints the program that makes containers here; fails when there is none.
container_tool() {
  local tool
  for tool in podman docker; do
    if "$tool" ps >/dev/null 2>&1; then
      echo "$tool"
      return
    fi
  done
  return 1
}

# follow_recipe RECIPE: carries out a Containerfile in a root, as far as it uses what is known here, and checks the
# command that its container runs.
follow_recipe() {
  local instruction rest
  new_root container
  at=/
  while read -r instruction rest; do
    case "$instruction $rest" in
      'FROM '*) ;;
      'COPY . /'*) put_source "$root${rest#. }" ;;
      'WORKDIR /'*)
        at=$rest
        mkdir -p -- "$root$at"
        ;;
      'RUN '*) timed 0 image-run inside /bin/sh -c "$rest" || return 0 ;;
      'ENTRYPOINT ["testbed"]') check_command image inside testbed ;;
      *)
        say "FAILED: tools/check_clean_root.sh does not know what '$instruction $rest' of the Containerfile does"
        bad=1
        return
        ;;
    esac
  done < <(steps_of "$1")
}

# Makes the container of the Containerfile, unless it is of another Debian, and checks its command.
check_container() {
  local wanted tool context=$folder/context image=localhost/testbed-clean-root-$$
  put_source "$context"
  if ! wanted=$(suite_of "$context/Containerfile"); then
    say "FAILED: the Containerfile begins with a system that tools/check_clean_root.sh does not know"
    bad=1
  elif [[ $wanted != "$suite" ]]; then
    say "the container is one of $wanted, and is not made here"
  elif tool=$(container_tool); then
    timed 0 image-build "$tool" build -t "$image" -f "$context/Containerfile" "$context" || return 0
    check_command image "$tool" run --rm "$image"
    "$tool" rmi "$image" >/dev/null || true
  else
    follow_recipe "$context/Containerfile"
  fi
}

# Makes the bare Debian and runs the checks, in a mount namespace of its own.
check() {
  folder=$1 logs=$2 suite=$3 tests=$4 packages=$5
  shift 5
  bad=0
  mount --make-rprivate /
  make_debian
  new_root source
  put_source "$root/root/testbed"
  at=/root/testbed

  timed 360 first-result inside tools/run.sh "$@" || true
  timed 1 second-call inside tools/run.sh --version || true
  if ((tests)); then
    timed 0 tests inside tools/test.sh || true
    grep -hE '^[0-9]+% tests passed|^testbed: ' "$logs/tests.log" || true
  fi
  if ((packages)); then
    check_packages
    check_container
  fi
  return "$bad"
}

# Ends the processes that still run in the roots of the folder, which their root directories tell, and then
# deletes the folder.
clean() {
  local process
  for process in /proc/[0-9]*; do
    if [[ $(readlink "$process/root" 2>/dev/null) == "$folder"/* ]]; then
      kill -KILL "${process#/proc/}" 2>/dev/null || true
    fi
  done
  if grep -qF " $folder" /proc/self/mountinfo; then
    say "something is mounted under $folder, so it is not deleted" >&2
    return
  fi
  rm -rf --one-file-system -- "$folder"
}

# Kills the whole session of `check`. `clean` finds the processes that began a session of their own.
stop() { [[ -z $child ]] || kill -KILL -- "-$child" 2>/dev/null || true; }

# The script ends in a function because the shell reads a script while it runs, and somebody may edit it
# meanwhile.
main() {
  if [[ ${1:-} == --in-namespace ]]; then
    shift
    check "$@"
    exit
  fi

  suite=bookworm
  tests=1
  packages=0
  while (($# > 0)); do
    case $1 in
      --no-tests) tests=0 ;;
      --packages) packages=1 ;;
      --)
        shift
        break
        ;;
      -*) die "unknown option $1; options for testbed come after --" ;;
      *) suite=$1 ;;
    esac
    shift
  done
  arguments=("$@")
  ((${#arguments[@]} > 0)) || arguments=(--engine rocksdb --cache-pct 20)

  ((EUID == 0)) || die "making a Debian takes root; run it with sudo"
  for tool in debootstrap git unshare chroot; do
    command -v "$tool" >/dev/null || die "$tool is missing (Debian: apt install $tool)"
  done
  here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
  [[ -z $(git -C "$here" status --porcelain) ]] || say "note: what is not committed is not checked"

  base=$(cd -- "${TMPDIR:-/var/tmp}" && pwd -P)
  folder=$(mktemp -d "$base/testbed-clean-root.XXXXXX")
  logs=$(mktemp -d "$base/testbed-clean-root-logs.XXXXXX")
  child=
  trap 'stop; clean' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  chmod 755 "$folder"
  git -C "$here" archive --format=tar -o "$logs/source.tar" HEAD

  # `check` runs in the background, because the shell handles a signal only after a command in the foreground
  # has ended; and in a session of its own, so that all of it can be killed.
  setsid unshare --mount -- "${BASH_SOURCE[0]}" --in-namespace "$folder" "$logs" "$suite" "$tests" "$packages" \
    "${arguments[@]}" &
  child=$!
  code=0
  wait "$child" || code=$?
  child=
  rm -f -- "$logs/source.tar"
  say "the logs are in $logs"
  exit "$code"
}

main "$@"
exit
