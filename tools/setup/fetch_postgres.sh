#!/usr/bin/env bash
# Fetches the programs of another PostgreSQL than the distribution's, once per machine and user, and prints the folder
# they are in, which is the only line on stdout:
#
#   tools/setup/fetch_postgres.sh 18.6   then: testbed --engine postgres --server postgres@18.6
#   tools/setup/fetch_postgres.sh        list the releases that can be fetched (tools/setup/server_releases)
#   tools/setup/fetch_postgres.sh --where   print the folder that has the folders of all releases, fetch nothing
#   tools/setup/fetch_postgres.sh --remove 18.6
#
# The programs are x86-64, out of a jar of the project embedded-postgres-binaries (about 15 MB), which Maven downloads and
# which is compared with its SHA-256. The folder holds bin/initdb, bin/postgres, lib/ and share/; it is
#
#   ${TESTBED_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/testbed}/postgres-<release>
#
# and for root, who names no folder, /var/cache/testbed/postgres-<release>: a server that root starts runs as another user
# (docs/servers.md), who may not enter root's home. A testbed that was built before finds it. Nothing is installed, and no
# server is started.
#
# Environment: TESTBED_CACHE_DIR, TESTBED_POSTGRES_JAR (path of a jar that was downloaded already, for machines without a
# network), and what mvn reads. Needs mvn (Debian: apt install maven) unless a jar is given, and python3. Safe to run
# several times at once (a lock) and to kill (the folder appears by one rename).
set -euo pipefail

# shellcheck source=tools/setup/library.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/library.sh"

if ((EUID == 0)) && [[ -z ${TESTBED_CACHE_DIR:-} && -z ${XDG_CACHE_HOME:-} ]]; then
  cache=/var/cache/testbed
  cache_owner=
fi
take_server postgres PostgreSQL bin/postgres "$@"
[[ $cache != /var/cache/testbed ]] || install -d -m 755 "$cache" || die "cannot create the cache folder $cache."
enter_cache postgres "PostgreSQL $release" "$prefix" bin/postgres
work_in_temporary postgres
rm -f -- "$log"

command -v python3 >/dev/null || die "unpacking PostgreSQL $release needs python3 (Debian: apt install python3)."
jar=$work/postgres.jar
fetch_jar "$jar" "PostgreSQL $release" "$artifact" "15 MB" "$sha256" TESTBED_POSTGRES_JAR

# Unpacks what a server needs: neither pg_ctl nor libraries to link with. The jar has one archive,
# with paths under bin/, lib/ and share/. A link names a file beside it.
unpack() {
  python3 - "$jar" "$1" <<'END'
import os, shutil, sys, tarfile, zipfile

jar, into = zipfile.ZipFile(sys.argv[1]), sys.argv[2]
archive = next(name for name in jar.namelist() if name.endswith(".txz"))
PROGRAMS = {"bin/initdb", "bin/postgres"}
with jar.open(archive) as packed, tarfile.open(fileobj=packed, mode="r|xz") as tar:
    for entry in tar:
        path = os.path.normpath(entry.name)
        wanted = path in PROGRAMS or (path.startswith(("lib/", "share/")) and not path.endswith(".a"))
        if not wanted or ".." in path.split("/"):
            continue
        target = os.path.join(into, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if entry.issym() and "/" not in entry.linkname:
            os.symlink(entry.linkname, target)
        elif entry.isfile():
            with tar.extractfile(entry) as source, open(target, "wb") as out:
                shutil.copyfileobj(source, out)
            os.chmod(target, 0o755 if path in PROGRAMS else 0o644)
END
}
install=$work/install
step "unpacking PostgreSQL $release" unpack "$install"
[[ -x $install/bin/initdb && -x $install/bin/postgres ]] || die "the jar of PostgreSQL $release has no initdb and postgres."
mkdir -p "$install/share/testbed"
printf '%s, SHA-256 %s\n' "$artifact" "$sha256" >"$install/share/testbed/recipe"
# A server that root starts runs as another user, who must be able to read the files.
chmod -R a+rX "$install"
publish "$install" "$prefix"
