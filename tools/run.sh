#!/usr/bin/env bash
# Runs testbed with the arguments given, after doing whatever is still missing for that: Debian
# packages (with sudo when not root), WiredTiger, the build. From nothing that takes a few minutes,
# afterwards a fraction of a second.
#
#   tools/run.sh                                   the default run: insert, settle, point reads
#   tools/run.sh --engine rocksdb --cache-pct 20
#   tools/run.sh --engine mysql --server mariadb   also installs that server (docs/servers.md)
#   tools/run.sh --help
#
# The program runs in the folder that you are in; its exit code is this script's. 1 if something
# could not be set up.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/setup/setup.sh"

add_servers "$@"
set_up
build release testbed
release_lock
exec "$build_dir/release/testbed" "$@"
