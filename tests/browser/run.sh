#!/usr/bin/env bash
# Drives the page of `testbed report --html` in headless Chromium (page_test.py).
#
#   tests/browser/run.sh TESTBED DIRECTORY          DIRECTORY keeps the browser's driver between calls
#   tests/browser/run.sh --page FILE DIRECTORY      checks a page that is there: seconds, size, console and network
#
# TESTBED_PICTURES names a directory for pictures of the pages.
# Exit code 77, with the reason, where there is no Chromium (Debian: chromium) or the driver's packages cannot be had;
# TESTBED_BROWSER names another browser of its kind.
set -euo pipefail
unset CDPATH
source "$(dirname -- "${BASH_SOURCE[0]}")/../../tools/setup/own_folder.sh"
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
page=()
if [[ ${1:-} == --page ]]; then
  (($# == 3)) || { echo "usage: $0 --page FILE DIRECTORY"; exit 2; }
  page=(--page "$2")
  directory=$3
else
  (($# == 2)) || { echo "usage: $0 TESTBED DIRECTORY"; exit 2; }
  testbed=$1
  directory=$2
fi

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
export PYTHONPATH=$directory/packages
if ((${#page[@]} > 0)); then
  exec python3 "$here/page_test.py" "${page[@]}" "$browser"
fi
work=$(mktemp -d -- "$directory/work.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
python3 "$here/page_test.py" "$testbed" "$browser" "$work"
