#!/usr/bin/env bash
# Drives the page of `testbed report --html` in headless Chromium (page_test.py).
#
#   tests/browser/run.sh TESTBED DIRECTORY     DIRECTORY keeps the browser's driver between calls
#
# Exit code 77, with the reason, where there is no Chromium (Debian: chromium) or the driver's packages cannot be had;
# TESTBED_BROWSER names another browser of its kind.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/../../tools/setup/own_folder.sh"
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
testbed=$1
directory=$2

skip() {
  echo "skipped: $*"
  exit 77
}

browser=${TESTBED_BROWSER:-$(command -v chromium || true)}
[[ -n $browser ]] || skip "there is no Chromium (Debian: chromium)"
own_folder "$directory"
if ! cmp -s "$here/requirements.txt" "$directory/requirements.txt"; then
  rm -rf -- "$directory/packages"
  python3 -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --target "$directory/packages" \
    --requirement "$here/requirements.txt" >"$directory/pip.log" 2>&1 ||
    skip "the browser's driver cannot be installed; $directory/pip.log has pip's words"
  cp -- "$here/requirements.txt" "$directory/requirements.txt"
fi
work=$(mktemp -d -- "$directory/work.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
PYTHONPATH=$directory/packages python3 "$here/page_test.py" "$testbed" "$browser" "$work"
