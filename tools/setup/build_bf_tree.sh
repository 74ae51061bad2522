#!/usr/bin/env bash
# Builds the library of the engine bf-tree, which loads it at run time, once per machine and user, and prints the folder it
# is installed in, which is the only line on stdout:
#
#   tools/setup/build_bf_tree.sh           build it if it is not there yet (about three minutes of a processor)
#   tools/setup/build_bf_tree.sh --where   print the folder it is or would be in, build nothing
#
# Needs cargo and Rust 1.87 or newer, a C compiler, and patch. The sources are engines/bf_tree/library and the crate bf-tree,
# which is checked against its SHA-256 and gets bf-tree.patch; `cargo` downloads the other crates that Cargo.lock names, and
# checks them against it. The folder holds lib/libtestbed_bf_tree.so and share/licenses/bf-tree/; it is
#
#   ${TESTBED_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/testbed}/bf-tree-<version>-<recipe>
#
# and <recipe> is a hash of the sources. A built testbed finds it without being built anew; -DBF_TREE_ROOT= takes another
# folder.
#
# Environment: TESTBED_CACHE_DIR, TESTBED_BF_TREE_CRATE (a downloaded .crate), and what cargo reads. Safe to run several
# times at once (a lock) and to kill (the folder appears by one rename).
set -euo pipefail
unset CDPATH

# shellcheck source=tools/setup/library.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/library.sh"

source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../engines/bf_tree/library" && pwd)
version=0.5.7
sha256=02bbc92a29be7cf03c666d8268d0a1bf5077d16f5b9c41babe1e434bf0f345e8
recipe=$({
  echo "$sha256"
  cat -- "$source"/*.rs "$source"/interface.h "$source"/bf-tree.patch "$source"/Cargo.toml "$source"/Cargo.lock
} | sha256sum | cut -c1-10)
prefix=$cache/bf-tree-$version-$recipe

case "${1:-}" in
  '') ;;
  --where)
    echo "$prefix"
    exit 0
    ;;
  *) die "build_bf_tree.sh takes --where or nothing, not '$1'." ;;
esac

if [[ -e $prefix/lib/libtestbed_bf_tree.so ]]; then
  echo "$prefix"
  exit 0
fi
for tool in cargo patch; do
  command -v "$tool" >/dev/null ||
    die "bf-tree needs cargo, Rust 1.87 or newer, and patch, and there is no '$tool' (Debian 12: apt install cargo-web rustc-web patch)."
done
log=$cache/bf-tree-$version-$recipe.log
enter_cache bf-tree Bf-Tree "$prefix" lib/libtestbed_bf_tree.so
work_in_temporary bf-tree
rm -f -- "$log"

fetch_crate "$work/bf-tree.crate" "Bf-Tree" bf-tree "$version" "$sha256" TESTBED_BF_TREE_CRATE
cp -- "$source"/Cargo.toml "$source"/Cargo.lock "$source"/lib.rs "$work"
step "unpacking Bf-Tree" tar -xf "$work/bf-tree.crate" -C "$work"
mv -- "$work/bf-tree-$version" "$work/bf-tree"
# The files of the crate have CRLF line ends, which the patch does not match.
step "reading the patch" find "$work/bf-tree/src" -name '*.rs' -exec sed -i 's/\r$//' {} +
step "patching Bf-Tree" patch -d "$work/bf-tree" -p1 --fuzz=0 -i "$source/bf-tree.patch"
cp -- "$source/files.rs" "$work/bf-tree/src/fs/std_vfs.rs"
say "building Bf-Tree $version (once, about three minutes of a processor)"
step "building Bf-Tree" env CARGO_TARGET_DIR="$work/target" cargo build --release --locked --lib -j "${TESTBED_JOBS:-$(nproc)}" \
  --manifest-path "$work/Cargo.toml"
install=$work/install
install -D -m 755 -t "$install/lib" "$work/target/release/libtestbed_bf_tree.so"
install -D -m 644 -t "$install/share/licenses/bf-tree" "$work/bf-tree/LICENSE.txt"
publish "$install" "$prefix"
