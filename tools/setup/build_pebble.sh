#!/usr/bin/env bash
# Builds the library of the engine pebble, which loads it at run time, once per machine and user, and prints the folder it
# is installed in, which is the only line on stdout:
#
#   tools/setup/build_pebble.sh           build it if it is not there yet (about four minutes of a processor)
#   tools/setup/build_pebble.sh --where   print the folder it is or would be in, build nothing
#
# Needs Go 1.25 or newer and a C compiler. The sources are engines/pebble/library and the modules that its go.mod names,
# which `go` downloads and checks against go.sum. The folder holds lib/libtestbed_pebble.so and share/licenses/pebble/; it is
#
#   ${TESTBED_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/testbed}/pebble-<version>-<recipe>
#
# and <recipe> is a hash of the sources and flags. A built testbed finds it without being built anew; -DPEBBLE_ROOT= takes
# another folder.
#
# Environment: TESTBED_CACHE_DIR, and what go reads (GOPROXY, GOFLAGS, GOTOOLCHAIN). Safe to run several times at once (a
# lock) and to kill (the folder appears by one rename).
set -euo pipefail
unset CDPATH

# shellcheck source=tools/setup/library.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/library.sh"

source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../engines/pebble/library" && pwd)
version=$(awk '$1 == "github.com/cockroachdb/pebble/v2" {print substr($2, 2)}' "$source/go.mod")
flags=(-buildmode=c-shared -trimpath -mod=readonly)
recipe=$({
  printf '%s\n' "${flags[@]}"
  cat -- "$source"/*.go "$source"/interface.h "$source"/go.mod "$source"/go.sum
} | sha256sum | cut -c1-10)
prefix=$cache/pebble-$version-$recipe

case "${1:-}" in
  '') ;;
  --where)
    echo "$prefix"
    exit 0
    ;;
  *) die "build_pebble.sh takes --where or nothing, not '$1'." ;;
esac

if [[ -e $prefix/lib/libtestbed_pebble.so ]]; then
  echo "$prefix"
  exit 0
fi
command -v go >/dev/null ||
  die "pebble needs Go 1.25 or newer, and there is no 'go' (Debian 12's golang is too old; see go.dev/doc/install)."
log=$cache/pebble-$version-$recipe.log
enter_cache pebble Pebble "$prefix" lib/libtestbed_pebble.so
work_in_temporary pebble
rm -f -- "$log"

say "downloading Pebble $version and what it needs"
step "downloading Pebble $version with go" go -C "$source" mod download
say "building Pebble $version (once, about four minutes of a processor)"
install=$work/install
mkdir -p "$install/lib"
step "building Pebble" env CGO_ENABLED=1 GOGC=50 go -C "$source" build "${flags[@]}" -p "${TESTBED_JOBS:-$(nproc)}" \
  -o "$install/lib/libtestbed_pebble.so" .
rm -f -- "$install/lib/libtestbed_pebble.h"
module=$(go -C "$source" list -m -f '{{.Dir}}' github.com/cockroachdb/pebble/v2)
install -D -m 644 -t "$install/share/licenses/pebble" "$module/LICENSE"
publish "$install" "$prefix"
