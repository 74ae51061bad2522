#!/usr/bin/env python3
"""Checks what is said of traces (docs/trace-format.md), with a trace of 100,000,000 operations and on engines at work.

    bench/check_traces.py --testbed build/release/testbed
    bench/check_traces.py --testbed build/release/testbed --only blocks,schedule --engines btree,rocksdb,wiredtiger

    blocks    a replay on the same engine and database asks for the same blocks: of one client exactly, of four within 1 %, and so does
              one that writes
    schedule  a replay at speed 1 begins each operation when the recording did, within 1 ms at the median. The replay is recorded, too, and
              the starts in the two traces are compared, so that what testbed itself says of its lateness is not asked
    cost      recording takes less than 100 ns of an operation (harness ns/op with and without it, in turns, and their medians)
    long      recording, trace info, trace scale, trace import and replays of --operations operations take less than 200 MB each
    damaged   a trace that is cut off, changed anywhere, of another version or no trace is refused with one line that names it, before anything is made

What replays on an engine that does not count blocks ask for is not known. Times and memory are those of a machine that does nothing else. The
files of 100,000,000 operations take 2 GB in --directory, and the check half an hour. Exit code 0 when all that is known holds, 1 when something
does not, 2 when the options are wrong or a program failed, 77 when nothing is known.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from typing import NamedTuple

import common_options
from originals import trace_file

MOST_BYTES, MOST_COST_NS, MOST_LATE_US, MOST_BLOCKS = 200e6, 100, 1000, 0.01
LINES_OF_SECOND = 16  # lines of a second in the imported file, so that the trace has millions of seconds
TURNS = 5  # runs with recording, and as many without
SKIPPED = 77


class Failed(Exception):
    """Says which command failed, and what it said."""


class Row(NamedTuple):
    check: str
    what: str
    found: str
    limit: str
    holds: bool | None  # None: it is not known

    def verdict(self):
        return "not known" if self.holds is None else "holds" if self.holds else "DOES NOT HOLD"


class Done(NamedTuple):
    code: int
    errors: str
    peak_bytes: int  # peak memory of the command's largest process


def as_text(rows):
    lines = [("check", "what", "found", "limit", ""), *((row.check, row.what, row.found, row.limit, row.verdict()) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(5)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def exit_code(rows):
    known = [row.holds for row in rows if row.holds is not None]
    return SKIPPED if not known else 0 if all(known) else 1


def middle_late_us(recorded, replayed):
    """Returns by how many microseconds the operations of a replay began later or sooner than those of the recording, at the median. Each
    client has its operations in their order in both."""
    by_client = [{}, {}]
    for side, operations in zip(by_client, (recorded, replayed)):
        for operation in operations:
            side.setdefault(operation.client, []).append(operation.start_ns)
    if {client: len(starts) for client, starts in by_client[0].items()} != {client: len(starts) for client, starts in by_client[1].items()}:
        raise Failed("the replay has other clients or another number of operations than the recording")
    return statistics.median(abs(b - a) / 1000 for client, starts in by_client[0].items() for a, b in zip(starts, by_client[1][client]))


def lines(count, seed):
    """Yields the lines of a CSV file in parts: gets and puts of keys that are drawn unevenly."""
    draw = random.Random(seed)
    keys = [f"user{int(draw.paretovariate(0.3)) % 10**9:09}" for _ in range(100000)]
    yield b"key,operation,value_size,time,client\n"
    part = []
    for second in range((count + LINES_OF_SECOND - 1) // LINES_OF_SECOND):
        for line in range(min(LINES_OF_SECOND, count - second * LINES_OF_SECOND)):
            part.append(f"{keys[(second * 7919 + line * 613) % len(keys)]},{'set,100' if line % 8 == 0 else 'get,'},{second},c{(second * 31 + line) % 4999}\n")
        if len(part) > 50000:
            yield "".join(part).encode()
            part = []
    yield "".join(part).encode()


class Check:
    def __init__(self, options, directory):
        self.options, self.directory = options, pathlib.Path(directory)
        self.rows = []
        self.long_rows = min(1000000, options.operations)  # rows of the database on which the long trace is recorded

    def note(self, check, what, found, limit, holds):
        self.rows.append(Row(check, what, found, limit, None if holds is None else bool(holds)))
        print(f"{check}: {what}: {found}" + (f", and not {limit}" if holds is not None and not holds else ""), file=sys.stderr, flush=True)

    def start(self, words, parts=None):
        """Runs testbed and returns how it ended. `parts` go to its standard input."""
        with open(self.directory / "said", "w+", encoding="utf-8") as errors:
            process = subprocess.Popen([self.options.testbed, *map(str, words)], cwd=self.directory, stdout=subprocess.DEVNULL, stderr=errors,
                                       stdin=subprocess.DEVNULL if parts is None else subprocess.PIPE)
            if parts is not None:
                feeder = threading.Thread(target=self.feed, args=(process.stdin, parts))
                feeder.start()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if parts is not None:
                feeder.join()
            errors.seek(0)
            return Done(process.returncode, errors.read(), used.ru_maxrss * 1024)

    @staticmethod
    def feed(pipe, parts):
        try:
            with pipe:
                for part in parts:
                    pipe.write(part)
        except BrokenPipeError:
            pass  # it has ended, and its exit code tells more

    def run(self, words, parts=None):
        done = self.start(words, parts)
        if done.code != 0:
            raise Failed(f"testbed {' '.join(map(str, words))}\nended with {done.code}: {done.errors.strip()}")
        return done

    def measure(self, words):
        """Runs workloads and returns the record of the run."""
        self.run(["--ram", "256M", "--warmup", "0", "--verify", "none", "--quiet", "--json", "run.json", *words])
        return json.loads((self.directory / "run.json").read_text(encoding="utf-8"))["runs"][-1]

    def phase(self, words, name):
        return next(phase for phase in self.measure(words)["phases"] if phase["name"] == name)

    def blocks(self):
        for engine in self.options.engines:
            words = ["--engine", engine, "--rows", 50000, "--cache-pct", 4, "--account", "file", "--durability", "none"]
            self.measure([*words, "--dir", "d", "--fresh", "--threads", 1, "--workload", "insert"])
            for clients in (1, 4):
                reads = [*words, "--threads", clients, "--dir", "d", "--reuse", "--workload"]
                recorded = self.phase([*reads, "mixed", "--mix", "point-read=8,scan=2", "--hit-ratio", 0.9, "--operations", 20000, "--record", "a.trace"], "mixed")
                self.compare(engine, f"{clients} client{'s' if clients > 1 else ''}, reads", recorded, self.phase([*reads, "replay:a.trace"], "replay"), clients == 1)
            shutil.rmtree(self.directory / "d")
            writes = [*words, "--threads", 1, "--workload"]
            recorded = self.phase([*writes, "insert,mixed", "--mix", "point-read=5,scan=1,update=3,insert=1", "--operations", 20000, "--record", "a.trace"], "mixed")
            self.compare(engine, "1 client, reads and writes", recorded, self.phase([*writes, "insert,replay:a.trace"], "replay"), False)

    def compare(self, engine, what, recorded, replayed, exactly):
        asked, asks = (side["account"].get("engine", {}).get("block_requests") for side in (recorded, replayed))
        details = replayed["details"]
        if not asked:
            self.note("blocks", f"{engine}, {what}", "the engine does not count the blocks that it asks for", "", None)
            return
        off = abs(asks - asked) / asked
        self.note("blocks", f"{engine}, {what}", f"{asks:,} of {asked:,} ({asks / asked - 1:+.3%})", "as many" if exactly else f"within {MOST_BLOCKS:.0%}", off <= (0 if exactly else MOST_BLOCKS))
        if exactly:
            self.note("blocks", f"{engine}, {what}: answers", f"{details['answers_other']} others", "none", details["answers_other"] == details["answers_unknown"] == 0)

    def schedule(self):
        for engine in self.options.engines:
            words = ["--engine", engine, "--rows", 50000, "--threads", 4, "--account", "off", "--workload"]
            self.measure([*words, f"ycsb-load,ycsb-b {self.options.seconds}s @ {self.options.rate}", "--arrivals", "exponential", "--record", "a.trace"])
            said = self.phase([*words, "ycsb-load,replay:a.trace", "--speed", 1, "--record", "b.trace"], "replay")["lateness_us"]["p50"]
            late = middle_late_us(*(trace_file.read(self.directory / name).operations for name in ("a.trace", "b.trace")))
            self.note("schedule", f"{engine}, 4 clients, {self.options.rate}/s", f"{late:.0f} us at the median (it says {said:.0f})", f"within {MOST_LATE_US} us", late <= MOST_LATE_US)

    def cost(self):
        costs = {"": [], "a.trace": []}
        for _ in range(TURNS):
            for trace, found in costs.items():
                run = self.measure(["--engine", "null", "--rows", 100000, "--threads", 1, "--account", "off", "--seconds", 1, "--workload", "insert,point-read",
                                    *(["--record", trace] if trace else [])])
                found.append(run["accounting"]["harness_ns_per_operation"])
        without, recording = (statistics.median(found) for found in costs.values())
        self.note("cost", "a point read of an engine that does nothing", f"{recording:.0f} ns, {without:.0f} without", f"less than {MOST_COST_NS} ns more", recording - without < MOST_COST_NS)

    def memory(self, what, words, parts=None):
        peak = self.run(words, parts).peak_bytes
        self.note("long", what, f"{peak / 1e6:.0f} MB", f"less than {MOST_BYTES / 1e6:.0f} MB", peak < MOST_BYTES)

    def long_trace(self):
        """Returns the long trace, which is recorded the first time."""
        trace = self.directory / "long.trace"
        if not trace.exists():
            self.memory(f"recording of {self.options.operations:,} operations", [
                "--engine", "null", "--ram", "256M", "--rows", self.long_rows, "--threads", 2, "--warmup", 0, "--verify", "none", "--account", "off", "--quiet", "--distribution", "zipfian",
                "--workload", "insert,point-read", "--operations", self.options.operations, "--record", trace])
        return trace

    def long(self):
        trace = self.long_trace()
        replay = ["--engine", "null", "--ram", "256M", "--warmup", 0, "--verify", "none", "--account", "off", "--quiet", "--rows", self.long_rows, "--workload"]
        self.memory("trace info", ["trace", "info", trace])
        self.memory("trace scale", ["trace", "scale", trace, "--share", 0.1, "-o", "scaled.trace"])
        self.memory("replay", [*replay, f"insert,replay:{trace}"])
        self.memory("replay in the order of the keys", [*replay, f"insert,replay:{trace}", "--workload-option", "order=key"])
        self.memory("trace import, a thousand clients", ["trace", "import", "--format", "csv", "--clients", 1000, "-", "-o", "imported.trace"], lines(self.options.operations, 1))
        self.memory("trace info of what was imported", ["trace", "info", "imported.trace"])
        for name in ("scaled.trace", "imported.trace"):
            (self.directory / name).unlink()

    def damaged(self):
        whole, damaged = self.long_trace(), self.directory / "damaged.trace"
        size = whole.stat().st_size
        shutil.copyfile(whole, damaged)
        for at, sentence in ((size // 2, "is damaged"), (16 + 40 + 8, "is damaged"), (size - 41, "is damaged"), (size - 20, "is damaged"), (8, "has version")):
            with open(damaged, "r+b") as file:
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ 0x40]))
                file.flush()
                self.refused(damaged, f"a bit of byte {at:,} of {size:,} changed", sentence)
                file.seek(at)
                file.write(bytes([byte]))
        for left in (size - 1, size // 2, 1000, 20):
            os.truncate(damaged, left)
            self.refused(damaged, f"cut off after {left:,} of {size:,} bytes", "is cut off")
        damaged.write_bytes(b"timestamp,key\n1,a\n" * 1000)
        self.refused(damaged, "a file of another kind", "is no trace")
        damaged.unlink()

    def refused(self, trace, what, sentence):
        replay = ["--engine", "btree", "--ram", "64M", "--rows", 1000, "--quiet", "--dir", "refused", "--workload", f"insert,replay:{trace}"]
        for command in (["trace", "info", trace], replay):
            done = self.start(command)
            told = done.code == 2 and done.errors.count("\n") == 1 and str(trace) in done.errors and sentence in done.errors and not (self.directory / "refused").exists()
            self.note("damaged", f"{what}: {'trace info' if command[0] == 'trace' else 'replay'}", f"{done.code}: {done.errors.strip().replace(str(trace), 'FILE')[:100]}", f"2: FILE ... {sentence}", told)


# The order matters: until it is executed, a new program's peak of memory includes this program's memory, and `schedule` reads whole traces into it.
CHECKS = {"long": Check.long, "damaged": Check.damaged, "blocks": Check.blocks, "schedule": Check.schedule, "cost": Check.cost}


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common_options.add_program_and_parts(parser, CHECKS, "check")
    parser.add_argument("--engines", default="btree,rocksdb,lmdb", help="of blocks and schedule [btree,rocksdb,lmdb]")
    parser.add_argument("--operations", type=int, default=100000000, help="of the long trace, 10,000 or more [100000000]")
    parser.add_argument("--rate", type=int, default=2000, help="operations a second of the recording that is replayed at speed 1 [2000]")
    parser.add_argument("--seconds", type=int, default=10, help="of that recording [10]")
    parser.add_argument("--directory", default=".", help="where a directory for the files is made, and removed at the end [.]")
    options = parser.parse_args(words)
    common_options.check_parts(parser, options, CHECKS, "check")
    options.engines = options.engines.split(",")
    common_options.check_least(parser, options, operations=10000, rate=1, seconds=1)
    common_options.check_program(parser, options)
    common_options.check_directory(parser, options)
    return options


def main():
    options = parse()
    if "schedule" in options.only and shutil.which("zstd") is None:
        sys.exit("there is no zstd, with which schedule reads traces (Debian: apt install zstd)")
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="check-traces-") as directory:
        check = Check(options, pathlib.Path(directory).resolve())
        try:
            for name, function in CHECKS.items():
                if name in options.only:
                    function(check)
        except Failed as failed:
            print(failed, file=sys.stderr)
            return 2
    print(as_text(check.rows))
    return exit_code(check.rows)


if __name__ == "__main__":
    sys.exit(main())
