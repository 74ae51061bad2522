#!/usr/bin/env bash
# Lets each call to the disk of our engines fail once and for good (TESTBED_FAULT_STRIDE=1), in all
# unit tests of faults, and prints how many tests passed, failed and were skipped.
#
#   tools/crashtest/fault_sweep.sh               all of them
#   tools/crashtest/fault_sweep.sh 'fractal_*'   those whose names match, as --gtest_filter has it
#
# The tests make the failures themselves, so the disk below them need not be one: each try syncs a
# database some hundred times, which takes days on a disk. As root they run on ext4 in memory (zram,
# or a loop device over tmpfs); otherwise in the build folder. A process a processor. Exit code 0
# when no test failed.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/../setup/setup.sh"

faults='*Fault*:*FailingDisk*:*FailingResize*:*FractalIdle*:*JournalSlot*:*RecoveryLeftover*'
device=
place=
pids=()  # of the processes that run tests

# Sets `device` to an empty block device in memory.
take_memory_device() {
  device=$(zramctl --find --size 4G 2>/dev/null) && return
  device=
  mkdir -- "$place/memory" && mount -t tmpfs -o size=4608m none "$place/memory" || return
  truncate --size 4G "$place/memory/image" && device=$(losetup --find --show "$place/memory/image")
}

mount_memory() {
  ((EUID == 0)) || return
  take_memory_device && mkfs.ext4 -q -F -O ^has_journal "$device" &&
    mkdir -- "$place/disk" && mount -o noatime,nobarrier "$device" "$place/disk"
}

give_back() {
  [[ -n $place ]] || return 0
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
  wait
  mountpoint -q "$place/disk" && umount -- "$place/disk"
  case $device in
    /dev/zram*) zramctl --reset "$device" ;;
    /dev/loop*) losetup --detach "$device" ;;
  esac
  mountpoint -q "$place/memory" && umount -- "$place/memory"
  rm -rf --one-file-system -- "$place"
}

main() {
  local filter=$faults where shard shards bad=0
  (($# == 0)) || filter=$(printf '*%s:' "$@")
  (set_up && build release testbed_unit_tests)
  place=$(mktemp -d "$build_dir/fault_sweep.XXXXXX")
  trap give_back EXIT
  trap 'exit 130' INT TERM HUP
  if mount_memory; then where=$place/disk; else where=$place; fi
  shards=${TESTBED_JOBS:-$(nproc)}
  say "faults at each call, $shards at a time, in $where"
  for ((shard = 0; shard < shards; ++shard)); do
    mkdir -- "$where/$shard"
    (cd -- "$where/$shard" && TEST_TMPDIR=$where/$shard TESTBED_FAULT_STRIDE=1 GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard \
      exec "$build_dir/release/tests/testbed_unit_tests" --gtest_filter="$filter") >"$log_dir/fault_sweep.$shard.log" 2>&1 &
    pids+=($!)
  done
  for shard in "${pids[@]}"; do wait "$shard" || bad=1; done
  # The summary at the end of each log names failed tests once more, without a time.
  awk '/^\[       OK/ {++ok} /^\[  SKIPPED.*ms\)/ {++skipped} /^\[  FAILED.*ms\)/ {++failed; print}
       END {printf "%d passed, %d failed, %d skipped\n", ok, failed, skipped}' "$log_dir"/fault_sweep.*.log
  ((!bad)) || say "the logs are $log_dir/fault_sweep.*.log"
  return "$bad"
}

main "$@"
