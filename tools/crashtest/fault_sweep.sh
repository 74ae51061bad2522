#!/usr/bin/env bash
# Lets each call to the disk of our engines fail once and for good (TESTBED_FAULT_STRIDE=1), in all
# unit tests of faults, and prints how many tests passed, failed and were skipped.
#
#   tools/crashtest/fault_sweep.sh               all of them
#   tools/crashtest/fault_sweep.sh 'fractal_*'   those whose names match, as --gtest_filter has it
#
# The tests make the failures themselves, so the disk below them need not be one: each try syncs a database
# some hundred times, which takes days on a disk. As root they run on ext4 in memory (zram, or a loop device
# over tmpfs), in a mount namespace of their own; otherwise in the build folder. It starts one process for
# each processor. Exit code 0 when no test failed, 1 when one did or none was run, 2 for an unknown option.
set -euo pipefail
unset CDPATH
source "$(dirname -- "${BASH_SOURCE[0]}")/../setup/setup.sh"

faults='*Fault*:*LogReopening*:*FailingDisk*:*FailingResize*:*FractalIdle*:*JournalSlot*:*RecoveryLeftover*:*Backup*:*CompactTest*'
label=testbed-faults  # label of the file system in memory
device=  # the zram device, if any
place=  # the folder that the tests run in
pids=()  # processes that run tests

# Resets the zram devices that killed sweeps left. zramctl refuses one that is in use.
reset_leftovers() {
  local left
  for left in /dev/zram*; do
    [[ $(blkid -p -s LABEL -o value "$left" 2>/dev/null) != "$label" ]] || zramctl --reset "$left" 2>/dev/null || true
  done
}

# mount_on_disk FILE [OPTION]: makes the file system in a file or a device, and mounts it.
mount_on_disk() {
  mkfs.ext4 -q -F -L "$label" -O ^has_journal "$1" && mount -t ext4 -o "noatime,nobarrier${2:+,$2}" "$1" "$place/disk"
}

# Mounts the file system in memory. The loop device is made by mount itself, so that it is removed with the
# mount, which ends with this namespace however this script ends; then the memory is free as well.
mount_memory() {
  ((EUID == 0)) || return
  reset_leftovers
  mkdir -- "$place/disk" "$place/memory" || return
  if device=$(zramctl --find --size 4G 2>/dev/null); then
    mount_on_disk "$device"
    return
  fi
  device=
  mount -t tmpfs -o size=4608m none "$place/memory" && truncate --size 4G "$place/memory/image" &&
    mount_on_disk "$place/memory/image" loop
}

give_back() {
  [[ -n $place ]] || return 0
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
  wait
  mountpoint -q "$place/disk" && umount -- "$place/disk"
  [[ -z $device ]] || zramctl --reset "$device"
  # A loop device over the file may take a moment to be freed, so the unmount is lazy.
  mountpoint -q "$place/memory" && umount --lazy -- "$place/memory"
  rm -rf --one-file-system -- "$place"
}

# start_shard FOLDER SHARD SHARDS FILTER: starts a shard of the tests in the background. It is killed when
# this script ends, however that happens.
start_shard() {
  mkdir -- "$1/$2"
  (cd -- "$1/$2" && TEST_TMPDIR=$1/$2 TESTBED_FAULT_STRIDE=1 GTEST_TOTAL_SHARDS=$3 GTEST_SHARD_INDEX=$2 \
    exec setpriv --pdeathsig KILL "$build_dir/release/tests/testbed_unit_tests" --gtest_filter="$4") \
    >"$log_dir/fault_sweep.$2.log" 2>&1 &
  pids+=($!)
}

# Prints the sum of the shards' logs; fails when a test failed or none was run. The end of each log
# names failed tests once more, without a time.
summary() {
  awk '/^\[       OK/ {++ok} /^\[  SKIPPED.*ms\)/ {++skipped} /^\[  FAILED.*ms\)/ {++failed; print}
       END {printf "%d passed, %d failed, %d skipped\n", ok, failed, skipped; exit failed > 0 || ok == 0}' \
    "$log_dir"/fault_sweep.*.log
}

main() {
  local filter=$faults where shard shards bad=0
  case ${1:-} in
    -h | --help)
      sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
      return
      ;;
    --in-namespace)
      shift
      mount --make-rprivate /
      ;;
    -*)
      say "fault_sweep.sh takes names of tests, as --gtest_filter has them, or --help; not $1"
      exit 2
      ;;
    *)
      (set_up_tests && build release testbed_unit_tests)
      ((EUID != 0)) || exec unshare --mount -- "${BASH_SOURCE[0]}" --in-namespace "$@"
      ;;
  esac
  (($# == 0)) || filter=$(printf '*%s:' "$@")
  [[ $("$build_dir/release/tests/testbed_unit_tests" --gtest_list_tests --gtest_filter="$filter") == *$'\n  '* ]] ||
    die "no test has a name like $*; build/release/tests/testbed_unit_tests --gtest_list_tests prints all"
  place=$(mktemp -d "$build_dir/fault_sweep.XXXXXX")
  trap give_back EXIT
  trap 'exit 130' INT TERM HUP
  if mount_memory; then where=$place/disk; else where=$place; fi
  shards=${TESTBED_JOBS:-$(nproc)}
  say "faults at each call, $shards at a time, in $where"
  rm -f -- "$log_dir"/fault_sweep.*.log
  for ((shard = 0; shard < shards; ++shard)); do start_shard "$where" "$shard" "$shards" "$filter"; done
  for shard in "${pids[@]}"; do wait "$shard" || bad=1; done
  summary || bad=1
  ((!bad)) || say "the logs are $log_dir/fault_sweep.*.log"
  return "$bad"
}

main "$@"
exit
