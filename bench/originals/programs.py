"""Runs the programs: testbed, and what an original needs."""
import os
import pathlib
import shutil
import subprocess


class Missing(Exception):
    """Says what this machine lacks, and how to get it."""


class Failed(Exception):
    """Says which command failed, and what it said."""


def need(program, package):
    """Returns the path of a program; raises Missing with the Debian package that has it."""
    found = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        raise Missing(f"there is no {program} (Debian: apt install {package})")
    return found


def run(words, directory, log=None):
    """Runs a command in a directory and returns its output; with `log` the output goes into that file and "" is returned."""
    words = [str(word) for word in words]
    with open(log or os.devnull, "w", encoding="utf-8") as file:
        done = subprocess.run(words, cwd=directory, stdout=file if log else subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout or "").strip().splitlines()
        raise Failed(f"{' '.join(words)}\nended with {done.returncode}: {' '.join(said[-3:])}")
    return (done.stdout or "") + done.stderr if not log else ""


class Testbed:
    """Runs testbed's workloads in a directory and returns the trace of the last one."""

    def __init__(self, program, directory):
        self.program, self.directory = program, pathlib.Path(directory)

    def trace(self, workload, words):
        from originals import trace_file
        need("zstd", "zstd")
        file = self.directory / "ours.trace"
        run([self.program, "--engine", "btree", "--ram", "512M", "--threads", "1", "--warmup", "0", "--account", "off", "--verify", "none", "--durability", "none",
             "--quiet", "--workload", workload, *words, "--record", file], self.directory)
        return trace_file.read(file)

    def imported(self, file):
        """Returns a trace of RocksDB, by way of testbed trace import."""
        from originals import trace_file
        need("zstd", "zstd")
        out = self.directory / "imported.trace"
        run([self.program, "trace", "import", "--format", "rocksdb", file, "-o", out], self.directory)
        return trace_file.read(out)
