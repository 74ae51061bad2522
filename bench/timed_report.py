"""What the programs of bench/ share that measure how long testbed takes to report, and how much memory that needs."""
import os
import pathlib
import subprocess
import tempfile
import time
from typing import NamedTuple


class Cost(NamedTuple):
    code: int  # the exit code
    seconds: float
    processor_seconds: float
    bytes_held: int  # the most memory that the program held


def check_options(parser, options):
    """Refuses values of --testbed and --keep that cannot be used."""
    if not os.access(options.testbed, os.X_OK) or os.path.isdir(options.testbed):
        parser.error(f"--testbed {options.testbed} is not accepted; it takes a program, such as build/release/testbed")
    if options.keep and os.path.exists(options.keep):
        parser.error(f"--keep {options.keep} is there already; it takes a directory that it can make")


def cost(testbed, directory, words):
    """Runs testbed with these words, and returns what that has cost."""
    begin = time.monotonic()
    process = subprocess.Popen([testbed, *words], cwd=directory, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(process.returncode, time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def in_directory(options, prefix, measure):
    """Calls measure(options, directory) with the directory that --keep names, or with a temporary one. Returns what it returns."""
    if options.keep:
        os.mkdir(options.keep)
        return measure(options, pathlib.Path(options.keep))
    with tempfile.TemporaryDirectory(prefix=prefix) as directory:
        return measure(options, pathlib.Path(directory))
