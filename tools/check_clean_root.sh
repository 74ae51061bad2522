#!/usr/bin/env bash
# Checks that the README's two commands work from nothing: makes a bare Debian in a temporary folder, puts the
# last commit (HEAD) into it, and runs in it, as root and without a terminal,
#
#   tools/run.sh ARGUMENTS     the first result, which must come within 6 minutes (on 2 CPUs)
#   tools/run.sh --version     again: what run.sh itself costs, which must be under a second
#   tools/test.sh              all tests
#
# and prints how long each took. Exit code 0 when all of it worked and was fast enough.
#
#   sudo tools/check_clean_root.sh                       Debian 12
#   sudo tools/check_clean_root.sh trixie                Debian 13
#   sudo tools/check_clean_root.sh --no-tests            without tools/test.sh
#   sudo tools/check_clean_root.sh bookworm -- --engine null
#
# Arguments after -- are those of the first run; without them: --engine rocksdb --cache-pct 20.
# Needs root, debootstrap, git, about 4 GB in ${TMPDIR:-/var/tmp}. This machine's Debian mirror (or
# DEBIAN_MIRROR), apt and pip settings, proxies and certificates are used in there too. The logs are
# left in a folder named at the end.
#
# Everything is mounted in a mount namespace of its own, so that the mounts end with the last
# process in there, whatever happens, and deleting the folder cannot reach through one of them.
set -euo pipefail

say() { printf 'check_clean_root: %s\n' "$*"; }
die() {
  say "$*" >&2
  exit 1
}

mirror_of_this_machine() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
    sed -nE 's/^(URIs:|deb( \[[^]]*\])?) *([^ ]+\/debian)\/?( .*)?$/\3/p' | head -n 1
}

# Copies this machine's network settings into the new root. Certificates of its own become active when the
# package ca-certificates is installed.
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

# inside ROOT LOG COMMAND...: runs a command of the project in there, with a clean environment.
inside() {
  local root=$1 log=$2 name environment=()
  shift 2
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY \
    PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_CERT; do
    [[ -z ${!name:-} ]] || environment+=("$name=${!name}")
  done
  chroot "$root" /usr/bin/env -i HOME=/root CI=true LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${environment[@]}" \
    /bin/bash -c 'cd /root/testbed && exec "$@"' bash "$@" </dev/null >"$log" 2>&1
}

# timed LIMIT NAME COMMAND...: runs `inside` and reports how long it took and how many CPU seconds
# (the latter tell more when something else keeps the CPUs busy). A limit of 0 is none. Sets bad
# when the command failed or was too slow.
timed() {
  local limit=$1 name=$2 code=0 seconds user system verdict=ok TIMEFORMAT='%R %U %S'
  shift 2
  { time inside "$root" "$logs/$name.log" "$@" || code=$?; } 2>"$logs/$name.time"
  read -r seconds user system <"$logs/$name.time"
  if ((code != 0)); then
    verdict="FAILED with exit code $code, see $logs/$name.log"
  elif ((limit > 0 && ${seconds%.*} >= limit)); then
    verdict="TOO SLOW, the limit is $limit s"
  fi
  [[ $verdict == ok ]] || bad=1
  say "$(printf '%-14s %8s s (CPU: %s s user, %s s system)  %s' \
    "$name" "$seconds" "$user" "$system" "$verdict")"
  if ((code != 0)); then
    tail -n 30 "$logs/$name.log"
  fi
}

# Makes the bare Debian and runs the checks, in a mount namespace of its own.
check() {
  root=$1 logs=$2 suite=$3 tests=$4
  shift 4
  bad=0
  mount --make-rprivate /
  local mirror=${DEBIAN_MIRROR:-$(mirror_of_this_machine)}
  [[ -n $mirror ]] || die "no Debian mirror is set up on this machine: give one by DEBIAN_MIRROR="
  say "making a bare Debian $suite from $mirror"
  debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$logs/debootstrap.log" 2>&1 ||
    die "debootstrap failed, see $logs/debootstrap.log"
  copy_network_settings "$root" "$mirror" "$suite"
  # Docker images and the like have no package lists either.
  rm -rf -- "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/archives/*.deb
  mkdir "$root/root/testbed"
  tar -xf "$logs/source.tar" -C "$root/root/testbed"
  # As in a container, "/" in there is the root of a mount; otherwise no process in there could have
  # mounts of its own, which the tests with a scratch device need.
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"

  timed 360 first-result tools/run.sh "$@"
  timed 1 second-call tools/run.sh --version
  if ((tests)); then
    timed 0 tests tools/test.sh
    grep -hE '^[0-9]+% tests passed|^testbed: ' "$logs/tests.log" || true
  fi
  return "$bad"
}

# Ends what still runs in the folder (by its root folder, so nothing else can be hit), then deletes
# it.
clean() {
  local process
  for process in /proc/[0-9]*; do
    if [[ $(readlink "$process/root" 2>/dev/null) == "$root" ]]; then
      kill -KILL "${process#/proc/}" 2>/dev/null || true
    fi
  done
  if grep -qF " $root" /proc/self/mountinfo; then
    say "something is mounted under $root, so it is not deleted" >&2
    return
  fi
  rm -rf --one-file-system -- "$root"
}

# Ends the whole session of `check`; what started a session of its own in there is found by clean.
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
  while (($# > 0)); do
    case $1 in
      --no-tests) tests=0 ;;
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
  root=$(mktemp -d "$base/testbed-clean-root.XXXXXX")
  logs=$(mktemp -d "$base/testbed-clean-root-logs.XXXXXX")
  child=
  trap 'stop; clean' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  chmod 755 "$root"
  git -C "$here" archive --format=tar -o "$logs/source.tar" HEAD

  # `check` runs in the background, because the shell handles a signal only after a command in the foreground
  # has ended; and in a session of its own, so that all of it can be killed.
  setsid unshare --mount -- "${BASH_SOURCE[0]}" --in-namespace "$root" "$logs" "$suite" "$tests" \
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
