#!/usr/bin/env python3
"""Measures btree beside other engines and the device itself, where it is to be ahead or near them, and says where it is not.

    bench/btree_yardsticks.py --testbed build/release/testbed
    bench/btree_yardsticks.py --testbed build/release/testbed --only device-reads,device-scans --directory /mnt/nvme

    cached-reads   point reads of rows in the cache, uniform and zipfian: 1.5 times LMDB's rate at least (testbed ab)
    cached-scans   scans of 1000 rows in the cache: LMDB's rate at least (testbed ab)
    multi-get      16 keys a call, cached: twice the rows of point reads at least
    device-reads   point reads beyond the cache, direct IO, by 1, 8 and 40 clients: 0.95 of the reads a second of fio on the same file at least
    device-scans   long scans beyond the cache, direct IO: 0.9 of the bytes a second of fio, which reads pages of the same file in order, as many at once
    tail           the 99th percentiles of a mix of 80 reads and 20 updates beyond the cache: WiredTiger's at most
    sysbench-scans the four ranges of sysbench's oltp-read-only, cached and with eight times the memory: the rate of the best of --engines at least

YCSB A to F beside the other engines is an experiment: testbed experiment ycsb. fio is in Debian's package fio; without it the two that need it are
skipped. The programs take turns, and what is compared are their medians. All of it takes an hour, on a machine that does nothing else, and with --ram 256M
14 GB of disk.
Exit code 0 when btree is where it is to be, 1 when it is not, 2 when the options are wrong or a program failed, 77 when all were skipped.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import common_options

PAGE = 8 << 10  # btree's, and the bytes of a read of fio
AHEAD = 128 << 10  # btree's scan_readahead
KEYS = 16  # keys of a multi-get
MAPPED = ("lmdb", "mdbx")  # engines that map their files, and have no cache of their own
SKIPPED = 77


class Failed(Exception):
    """Says which command failed, and what it said."""


class Skipped(Exception):
    """Says what this machine lacks, and how to get it."""


def run(words, directory):
    done = subprocess.run([str(word) for word in words], cwd=directory, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}\nended with {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout


def largest_file(directory):
    """Returns the file that holds the rows."""
    return max((path for path in pathlib.Path(directory).rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)


def written_bytes(file):
    """Returns the bytes of the file up to its last data, in whole pages. What an engine has allocated ahead lies behind them; the kernel answers
    reads of that without the device."""
    end = 0
    with open(file, "rb") as opened:
        while end < os.fstat(opened.fileno()).st_size:
            try:
                begin = os.lseek(opened.fileno(), end, os.SEEK_DATA)
            except OSError:  # ENXIO: there are no more data
                break
            end = os.lseek(opened.fileno(), begin, os.SEEK_HOLE)
    return end // PAGE * PAGE


def medians(functions, turns):
    """Calls the functions in turns and returns the median of the values of each."""
    found = [[] for _ in functions]
    for _ in range(turns):
        for function, values in zip(functions, found):
            values.append(function())
    return [statistics.median(values) for values in found]


class Yardsticks:
    def __init__(self, options, directory):
        self.options, self.directory = options, pathlib.Path(directory)
        self.loaded, self.behind = set(), 0

    def note(self, what, found, holds):
        self.behind += not holds
        print(f"{what:45} {found}" + ("" if holds else "   NOT AS IT IS TO BE"), flush=True)

    def phase(self, words):
        """Runs workloads of testbed and returns the record of the last phase."""
        run([self.options.testbed, "--ram", self.options.ram, "--account", "file", "--verify", "none", "--quiet", "--json", "run.json", *words], self.directory)
        measured = [phase for phase in json.loads((self.directory / "run.json").read_text(encoding="utf-8"))["runs"][-1]["phases"] if phase["kind"] in ("measure", "load")]
        return measured[-1]

    def load(self, name, words, workload="insert"):
        """Loads a database, if it is not there yet, and returns the words of the runs that use it."""
        if name not in self.loaded:
            self.phase(["--dir", name, "--threads", 1, "--workload", workload, *words])
            self.loaded.add(name)
        return ["--dir", name, "--reuse", "--warmup", self.options.seconds / 4, "--seconds", self.options.seconds]

    def fio(self, file, words):
        """Returns what fio tells of its reads of what is written of the file."""
        if shutil.which("fio") is None:
            raise Skipped("there is no fio (Debian: apt install fio)")
        said = run(["fio", "--name=read", f"--filename={file}", f"--size={written_bytes(file)}", "--readonly", "--direct=1", f"--bs={PAGE}", "--time_based",
                    f"--runtime={self.options.seconds}", "--group_reporting", "--output-format=json", *words], self.directory)
        return json.loads(said[said.index("{"):])["jobs"][0]["read"]  # notes may stand before

    def beside_lmdb(self, what, words, least):
        document = self.directory / "ab.json"
        run([self.options.testbed, "ab", "--a", "engine=lmdb io=mmap", "--b", "engine=btree io=buffered", "--ram", self.options.ram, "--db-ratio", 0.2, "--cache-pct", 50, "--threads", 1,
             "--consume", "touch", "--time", f"{self.options.minutes}m", "--until", "2%", "--quiet", "--json", document, *words], self.directory)
        answer = next(answer for answer in json.loads(document.read_text(encoding="utf-8"))["answers"] if answer["metric"] == "rate")
        if answer["effect"] is None:
            self.note(what, "was not measured: too few loads in the time; give more --minutes", False)
            return
        self.note(what, f"{answer['effect']:.2f} times LMDB's ({answer['low']:.2f} to {answer['high']:.2f}), at least {least}", answer["effect"] >= least)

    def cached_reads(self):
        for distribution in ("uniform", "zipfian"):
            self.beside_lmdb(f"cached reads, {distribution}", ["--workload", "point-read", "--distribution", distribution], 1.5)

    def cached_scans(self):
        self.beside_lmdb("cached scans of 1000 rows", ["--workload", "mixed", "--mix", "scan=1", "--scan-rows", 1000], 1)

    def multi_get(self):
        words = [*self.load("cached", ["--engine", "btree", "--db-ratio", 0.2, "--cache-pct", 50]), "--engine", "btree", "--cache-pct", 50, "--threads", 1, "--workload"]
        single, several = medians([lambda: self.phase([*words, "point-read"])["rate"], lambda: KEYS * self.phase([*words, "multi-get", "--workload-option", f"keys={KEYS}"])["rate"]], self.options.turns)
        self.note(f"multi-get of {KEYS} cached keys", f"{several:,.0f} rows/s, {several / single:.2f} times those of single gets, at least 2", several >= 2 * single)

    def beyond_cache(self, name, engine):
        io = ["--engine", engine, "--io", "direct", "--cache-pct", 50]
        return [*self.load(name, [*io, "--db-ratio", 8]), *io]

    def device_reads(self):
        words = self.beyond_cache("device", "btree")
        file = largest_file(self.directory / "device")
        for clients in (1, 8, 40):
            def btree():
                phase = self.phase([*words, "--threads", clients, "--workload", "point-read"])
                return phase["account"]["engine"]["block_reads"] / phase["seconds"]
            def fio():
                return self.fio(file, ["--rw=randread", "--norandommap", "--randrepeat=0", "--ioengine=psync", f"--numjobs={clients}"])["iops"]
            ours, theirs = medians([btree, fio], self.options.turns)
            self.note(f"device reads of {clients} client{'s' if clients > 1 else ''}", f"{ours:,.0f}/s, {ours / theirs:.2f} of fio's, at least 0.95", ours >= 0.95 * theirs)

    def device_scans(self):
        words = self.beyond_cache("device", "btree")
        file = largest_file(self.directory / "device")
        def btree():
            phase = self.phase([*words, "--threads", 1, "--workload", "mixed", "--mix", "scan=1", "--scan-rows", 100000])
            return phase["account"]["engine"]["block_read_bytes"] / phase["seconds"]
        ours, theirs = medians([btree, lambda: self.fio(file, ["--rw=read", "--ioengine=libaio", f"--iodepth={AHEAD // PAGE}"])["bw_bytes"]], self.options.turns)
        self.note("scans from the device", f"{ours / 1e6:,.0f} MB/s, {ours / theirs:.2f} of fio's, at least 0.9", ours >= 0.9 * theirs)

    def tail(self):
        mix = ["--threads", 4, "--workload", "mixed", "--mix", "point-read=80,update=20"]
        engines = ("btree", "wiredtiger")
        words = [self.beyond_cache(f"tail-{engine}", engine) for engine in engines]
        found = {engine: {"point-read": [], "update": []} for engine in engines}
        for _ in range(self.options.turns):
            for engine, its in zip(engines, words):
                for operation in self.phase([*its, *mix])["operations"]:
                    if operation["name"] in found[engine]:
                        found[engine][operation["name"]].append(operation["latency_us"]["p99"])
        for kind in ("point-read", "update"):
            ours, theirs = (statistics.median(found[engine][kind]) for engine in engines)
            self.note(f"p99 of {kind} in a mix of 80:20", f"{ours:,.0f} us, WiredTiger's {theirs:,.0f}", ours <= theirs)

    def sysbench_scans(self):
        scans = ["--threads", 4, "--workload", "oltp-read-only", "--workload-option", "point_selects=0"]
        for where, ratio, cache in (("cached", 0.1, 50), ("8 x the memory", 8, "most")):
            runs = []
            for engine in ("btree", *self.options.engines):
                io = ["--engine", engine, "--io", "mmap" if engine in MAPPED else "direct"]
                loaded = self.load(f"oltp-{engine}-{ratio}", [*io, "--cache-pct", 50, "--db-ratio", ratio, "--durability", "none"], "sysbench-load")
                runs.append([*loaded, *io, "--cache-pct", cache, *scans])
            ours, *theirs = medians([lambda words=words: self.phase(words)["rate"] for words in runs], self.options.turns)
            best = max(theirs)
            self.note(f"sysbench's scans, {where}", f"{ours:,.0f}/s, {ours / best:.2f} of {self.options.engines[theirs.index(best)]}'s, at least 1", ours >= best)


MEASURES = {"cached-reads": Yardsticks.cached_reads, "cached-scans": Yardsticks.cached_scans, "multi-get": Yardsticks.multi_get, "device-reads": Yardsticks.device_reads,
            "device-scans": Yardsticks.device_scans, "tail": Yardsticks.tail, "sysbench-scans": Yardsticks.sysbench_scans}


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common_options.add_program_and_parts(parser, MEASURES, "measure")
    parser.add_argument("--ram", default="256M", help="of each run [256M]")
    parser.add_argument("--seconds", type=int, default=20, help="of each run and each one of fio [20]")
    parser.add_argument("--turns", type=int, default=3, help="of the programs that are compared [3]")
    parser.add_argument("--minutes", type=int, default=5, help="of each testbed ab [5]")
    parser.add_argument("--engines", default="lmdb,wiredtiger,rocksdb,innodb", help="beside which sysbench-scans measures btree [lmdb,wiredtiger,rocksdb,innodb]")
    parser.add_argument("--directory", default=".", help="where a directory for the databases is made, and removed at the end [.]")
    options = parser.parse_args(words)
    common_options.check_parts(parser, options, MEASURES, "measure")
    common_options.check_least(parser, options, seconds=1, turns=1, minutes=1)
    common_options.check_program(parser, options)
    common_options.check_directory(parser, options)
    options.engines = options.engines.split(",")
    return options


def main(words=None):
    options = parse(words)
    skipped = 0
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="btree-yardsticks-") as directory:
        yardsticks = Yardsticks(options, pathlib.Path(directory).resolve())
        for name in options.only:
            try:
                MEASURES[name](yardsticks)
            except Skipped as why:
                print(f"{name}: skipped, {why}", flush=True)
                skipped += 1
            except Failed as why:
                print(f"{name}: {why}", file=sys.stderr)
                return 2
    if skipped == len(options.only):
        return SKIPPED
    return 1 if yardsticks.behind else 0


if __name__ == "__main__":
    sys.exit(main())
