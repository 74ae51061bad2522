"""Finds the programs of a Galera cluster, and takes them out of Debian's packages without installing one."""
import dataclasses
import os
import pathlib
import shutil
import subprocess

# The SST scripts are in mariadb-server, whose installation would start a server of the machine's own; so it is unpacked alone.
PACKAGES = ("galera-4", "mariadb-server", "mariadb-client-core", "rsync", "libpopt0", "socat")
PROVIDERS = ("usr/lib/galera/libgalera_smm.so", "usr/lib/libgalera_smm.so", "usr/lib64/galera-4/libgalera_smm.so")
HOW = "bench/cluster_faults.py --fetch DIR unpacks Debian's packages in DIR and installs none, and --files DIR uses them"


class Missing(Exception):
    """Says what this machine lacks, and how to get it."""


class Failed(Exception):
    """Says which step failed, and what it said."""


@dataclasses.dataclass
class Programs:
    server: str
    provider: str
    path: str       # PATH of the servers
    libraries: str  # LD_LIBRARY_PATH of the servers; empty: none


def find(files):
    """Returns the programs, from the unpacked packages in `files` before those of the machine; raises Missing."""
    roots = [pathlib.Path(files).resolve()] if files else []
    path = ":".join([f"{root}/usr/{folder}" for root in roots for folder in ("bin", "sbin")] +
                    [os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin", "/sbin", "/bin"])
    server = shutil.which("mariadbd", path=path)
    if server is None:
        raise Missing("there is no mariadbd (Debian: apt-get install mariadb-server-core)")
    providers = [root / name for root in roots + [pathlib.Path("/")] for name in PROVIDERS]
    provider = next((file for file in providers if file.is_file()), None)
    if provider is None:
        raise Missing(f"there is no libgalera_smm.so, the library of Galera: {HOW}")
    for program in ("wsrep_sst_rsync", "rsync", "my_print_defaults"):
        if shutil.which(program, path=path) is None:
            raise Missing(f"there is no {program}, by which a node gets the data of another one: {HOW}")
    if not any(shutil.which(program, path=path) for program in ("ss", "lsof", "sockstat")):
        raise Missing("there is neither ss nor lsof, which the script wsrep_sst_rsync calls (Debian: apt-get install iproute2)")
    libraries = ":".join(str(folder) for root in roots for folder in (root / "usr/lib").glob("*-linux-gnu"))
    return Programs(server, str(provider), path, libraries)


def fetch(directory):
    """Downloads Debian's packages and unpacks them in a directory; raises Failed."""
    for program in ("apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise Missing(f"there is no {program}; on another system than Debian or Ubuntu install Galera, MariaDB's SST scripts and rsync yourself")
    directory = pathlib.Path(directory).resolve()
    packages = directory / "packages"
    try:
        packages.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failed(f"cannot make {packages}: {error.strerror}") from error
    done = subprocess.run(["apt-get", "download", *PACKAGES], cwd=packages, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"apt-get download {' '.join(PACKAGES)} failed: {' '.join(done.stderr.split())[-300:]}")
    for package in sorted(packages.glob("*.deb")):
        done = subprocess.run(["dpkg", "-x", package, directory], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"dpkg -x {package.name} failed: {' '.join(done.stderr.split())}")
    # dpkg -x gives the directory the mode of a package's root; the servers run as another user and must enter it.
    directory.chmod(0o755)

