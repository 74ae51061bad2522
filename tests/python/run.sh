#!/usr/bin/env bash
# Runs the notebook of the Python package (python/) on results of the real program (notebook_test.py).
#
#   tests/python/run.sh TESTBED DIRECTORY              with the pandas and matplotlib that are there
#   tests/python/run.sh TESTBED DIRECTORY --install    with the packages of requirements.txt and the package itself, by
#                                                      pip into DIRECTORY, which keeps them between calls
#
# Exit code 77, with the reason, where the packages are not there or cannot be had.
set -euo pipefail
unset CDPATH
source "$(dirname -- "${BASH_SOURCE[0]}")/../../tools/setup/own_folder.sh"
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
testbed=$1
directory=$2

skip() {
  echo "skipped: $*"
  exit 77
}

if [[ ${3:-} == --install ]]; then
  own_folder "$directory"
  packages=$directory/packages
  if ! cmp -s "$here/requirements.txt" "$directory/requirements.txt"; then
    rm -rf -- "$packages"
    python3 -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: --target "$packages" \
      --requirement "$here/requirements.txt" >"$directory/pip.log" 2>&1 ||
      skip "the packages cannot be installed; $directory/pip.log has pip's words"
    cp -- "$here/requirements.txt" "$directory/requirements.txt"
  fi
  # What a user would call, with the setuptools that is there. pip builds in the folder that it is given.
  rm -rf -- "$directory/source" "$directory/package"
  cp -r -- "$here/../../python" "$directory/source"
  PYTHONPATH=$packages python3 -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index \
    --target "$directory/package" "$directory/source"
  export PYTHONPATH=$directory/package:$packages
else
  mkdir -p -- "$directory"
  python3 -c 'import matplotlib, pandas' 2>/dev/null || skip "pandas and matplotlib are not there; tools/nightly.sh --only python installs them"
  export PYTHONPATH=$here/../../python
fi
python3 "$here/notebook_test.py" "$testbed" "$directory"
