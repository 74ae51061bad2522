#!/usr/bin/env bash
# Follows CONTRIBUTING.md: joins an engine and a workload whose folders lie outside of engines/ and
# workloads/, by naming the folders to cmake and nothing else, builds the command, and runs them.
#
#   tests/extension/check.sh [BUILD_DIR]     [build/extension]
set -euo pipefail
unset CDPATH
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
source_dir=$(cd -- "$here/../.." && pwd)
build_dir=${1:-$source_dir/build/extension}

cmake -S "$source_dir" -B "$build_dir" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DTESTBED_ROCKSDB=OFF -DTESTBED_WIREDTIGER=OFF -DTESTBED_LMDB=OFF -DTESTBED_SQLITE=OFF -DTESTBED_MDBX=OFF -DTESTBED_POSTGRES=OFF -DTESTBED_MYSQL=OFF -DTESTBED_INNODB=OFF -DTESTBED_DOCUMENTS=OFF \
  -DTESTBED_TESTS=OFF -DTESTBED_BENCH=OFF \
  -DTESTBED_EXTRA_ENGINES="$source_dir/examples/shelf" -DTESTBED_EXTRA_WORKLOADS="$here/every_row"
ninja -C "$build_dir" testbed
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work"
for engine in shelf btree; do
  "$build_dir/testbed" --engine "$engine" --rows 2000 --ram 0 --threads 2 --durability none --warmup 0 --operations 20 \
    --workload insert,every-row --json "$engine.json" --quiet
  python3 - "$engine.json" <<'PYTHON'
import json, sys

document = json.load(open(sys.argv[1], encoding="utf-8"))
(run,) = document["runs"]
phase = {phase["name"]: phase for phase in run["phases"]}["every-row"]
assert phase["rows_read"] == 20 * 2000, phase["rows_read"]
PYTHON
done
"$build_dir/testbed" list >list.txt
grep -q '^  shelf ' list.txt
grep -q '^  every-row ' list.txt
echo "an engine and a workload joined by their folders alone"
