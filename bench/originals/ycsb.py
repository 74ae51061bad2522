"""YCSB: its client with BasicDB, which prints each operation, beside ycsb-load and ycsb-a to ycsb-f.

The client comes from its jars, which Maven downloads; a folder with them may be given instead. What workloads A to F are is in YCSB's folder
`workloads`, which is in no jar: PROPERTIES has it.
"""
import collections
import hashlib
import os
import pathlib
import re

from originals import programs, rows, two_samples

VERSION = "0.17.0"
JARS = {
    "core-0.17.0.jar": ("site.ycsb:core:0.17.0", "e1c64d09bfc642715428c2e53ec129b0a98a0e634ee32bf0ae77e5b4eebb3cda"),
    "htrace-core4-4.1.0-incubating.jar": ("org.apache.htrace:htrace-core4:4.1.0-incubating", "5d45b7904857c3e4ad36b3bcc57be2d2c5f308c69b5f6a58bd86aa7d48a25ef6"),
    "HdrHistogram-2.1.4.jar": ("org.hdrhistogram:HdrHistogram:2.1.4", "8e68b9608ab107690350b904eab24087785f69218e5c6acd860d28116eded708"),
}
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"

PROPERTIES = {
    "ycsb-a": {"readproportion": 0.5, "updateproportion": 0.5},
    "ycsb-b": {"readproportion": 0.95, "updateproportion": 0.05},
    "ycsb-c": {"readproportion": 1, "updateproportion": 0},
    "ycsb-c exponential": {"readproportion": 1, "updateproportion": 0, "requestdistribution": "exponential"},
    "ycsb-d": {"readproportion": 0.95, "updateproportion": 0, "insertproportion": 0.05, "requestdistribution": "latest"},
    "ycsb-e": {"readproportion": 0, "updateproportion": 0, "scanproportion": 0.95, "insertproportion": 0.05, "maxscanlength": 100,
               "scanlengthdistribution": "uniform"},
    "ycsb-f": {"readproportion": 0.5, "updateproportion": 0, "readmodifywriteproportion": 0.5},
}
LINE = re.compile(r"(READ|UPDATE|INSERT|SCAN) usertable (user\d+) (?:(\d+) )?\[ ?(.*)\]$", re.DOTALL)
FIELD = re.compile(r"field\d=")


class Operation:
    """An operation of either side: its kind, its key, rows of a scan, bytes that are written."""

    def __init__(self, kind, key, scan_rows=0, written=0):
        self.kind, self.key, self.scan_rows, self.written = kind, key, scan_rows, written


def key_of(number):
    """Returns the key that YCSB gives to a row: the FNV hash of 64 bits of its number."""
    value = 0xCBF29CE484222325
    for _ in range(8):
        value = (value ^ number & 0xFF) * 1099511628211 & (1 << 64) - 1
        number >>= 8
    signed = value - (1 << 64) if value >> 63 else value
    return f"user{abs(signed)}"


def parse(lines):
    """Returns the operations that BasicDB has printed. It prints a read-modify-write as a read
    and an update; join_read_modify_writes makes them one."""
    operations = []
    for line in lines:
        found = LINE.match(line.rstrip("\n"))
        if not found:
            continue
        verb, key, count, fields = found.groups()
        written = sum(len(value.removesuffix(" ")) for value in FIELD.split(fields)[1:]) if verb in ("UPDATE", "INSERT") else 0
        kind = {"READ": "point-read", "UPDATE": "update", "INSERT": "insert", "SCAN": "scan"}[verb]
        operations.append(Operation(kind, key, int(count or 0), written))
    return operations


def join_read_modify_writes(operations):
    """Returns the operations with each read and the update of the same row behind it as one read-modify-write."""
    joined = []
    for operation in operations:
        if operation.kind == "update" and joined and joined[-1].kind == "point-read" and joined[-1].key == operation.key:
            joined[-1] = Operation("read-modify-write", operation.key, 0, operation.written)
        else:
            joined.append(operation)
    return joined


def ours(trace):
    operations = []
    for operation in trace.operations:
        puts = [call for call in operation.calls if call.name == "put"]
        if operation.kind in ("insert", "load", "ycsb-load"):
            operations += [Operation("insert", put.key, 0, put.number) for put in puts]
            continue
        key = next(call.key for call in operation.calls if call.key)
        steps = sum(call.number for call in operation.calls if call.name.startswith("next"))
        operations.append(Operation(operation.kind, key, steps + 1 if operation.kind == "scan" else 0, sum(put.number for put in puts)))
    return operations


def ages(operations, numbers, newest):
    """Returns for each read how many rows are newer than its own; `numbers` has the numbers of keys, `newest` the number inserted last."""
    found, numbers = [], dict(numbers)
    for operation in operations:
        if operation.kind == "insert":
            newest += 1
            numbers[operation.key] = newest
        else:
            found.append(newest - numbers[operation.key])
    return found


def ascending(operations):
    """Returns how many rows are inserted above and below the row that was inserted before."""
    keys = [operation.key for operation in operations if operation.kind == "insert"]
    pairs = list(zip(keys, keys[1:]))
    return {"above the key before": sum(a < b for a, b in pairs), "below": sum(a > b for a, b in pairs)}


class Ycsb:
    name = f"YCSB {VERSION}"
    workloads = ["ycsb-load", *PROPERTIES]

    def __init__(self, testbed, options):
        self.testbed, self.count, self.rows = testbed, options.operations, 20000
        self.java = programs.need("java", "default-jre-headless")
        self.jars = pathlib.Path(options.ycsb_jars).resolve() if options.ycsb_jars else self.download()
        for name, (_, sha256) in JARS.items():
            if not (self.jars / name).is_file():
                raise programs.Missing(f"there is no {name} in {self.jars}")
            if hashlib.sha256((self.jars / name).read_bytes()).hexdigest() != sha256:
                raise programs.Missing(f"{self.jars / name} is not the one that is compared with: its SHA-256 is another")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def download(self):
        cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        folder = pathlib.Path(os.environ.get("TESTBED_CACHE_DIR") or pathlib.Path(cache) / "testbed") / f"ycsb-{VERSION}"
        folder.mkdir(parents=True, exist_ok=True)
        for name, (artifact, _) in JARS.items():
            if (folder / name).is_file():
                continue
            maven = programs.need("mvn", "maven")
            try:
                programs.run([maven, "--batch-mode", "--quiet", COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"], self.testbed.directory)
            except programs.Failed as failure:
                raise programs.Missing(f"Maven could not download {artifact} ({failure}); give a folder with the jars by --ycsb-jars") from failure
        return folder

    def client(self, phase, properties):
        words = [self.java, "-Xmx512m", "-cp", f"{self.jars}/*", "site.ycsb.Client", phase, "-threads", "1", "-db", "site.ycsb.BasicDB"]
        for name, value in {"workload": "site.ycsb.workloads.CoreWorkload", "recordcount": self.rows, "operationcount": self.count, **properties}.items():
            words += ["-p", f"{name}={value}"]
        out = self.testbed.directory / "ycsb.out"
        programs.run(words, self.testbed.directory, log=out)
        with open(out, encoding="utf-8", newline="\n") as lines:
            return parse(lines)

    def mine(self, workload, seed, words=()):
        return ours(self.testbed.trace(workload, ["--rows", self.rows, "--operations", self.count, "--seed", seed, *words]))

    def compare(self, workload, seed):
        """Returns the rows of one workload. YCSB's client takes no seed: each of its runs has other draws."""
        if workload == "ycsb-load":
            return self.compare_load(self.client("-load", {}), self.mine(workload, seed))
        theirs = self.client("-t", {"requestdistribution": "zipfian", **PROPERTIES[workload]})
        if workload == "ycsb-f":
            theirs = join_read_modify_writes(theirs)
        name, _, distribution = workload.partition(" ")
        mine = self.mine(f"ycsb-load,{name}", seed, ["--distribution", distribution] if distribution else [])
        sides = (theirs, mine)
        found = rows.shares(workload, *(collections.Counter(o.kind for o in side) for side in sides))
        if workload in ("ycsb-d", "ycsb-c exponential"):
            loaded = [o.key for o in self.mine("ycsb-load", seed)]
            a = ages(theirs, {key_of(n): n for n in range(self.rows)}, self.rows - 1)
            b = ages(mine, {key: n for n, key in enumerate(loaded)}, self.rows - 1)
            newest = [f"{100 * side.count(0) / len(side):.2f} %, {sorted(side)[len(side) // 2]}" for side in (a, b)]
            found.append(rows.tested(workload, "rows newer than the one read: none, median", *newest, two_samples.counts_p(*map(two_samples.logarithmic_cells, (a, b)))))
        else:
            found.append(rows.popularity(workload, *([o.key for o in side if o.kind != "insert"] for side in sides),
                                         known="YCSB ranks rows that may come, and draws again while they are not there" if workload == "ycsb-e" else ""))
        if workload in ("ycsb-d", "ycsb-e"):
            orders = [list(ascending(side).values()) for side in sides]
            found.append(rows.tested(workload, "inserts above the key before, below", *(", ".join(map(str, order)) for order in orders), two_samples.counts_p(*orders)))
        if workload == "ycsb-e":
            found.append(rows.numbers(workload, "rows of a scan: quartiles", *([o.scan_rows for o in side if o.kind == "scan"] for side in sides)))
        for kind, known in (("update", "a row is one value, its ten fields together"), ("read-modify-write", "a row is one value, its ten fields together"), ("insert", "")):
            a, b = ([o.written for o in side if o.kind == kind] for side in sides)
            if a and b:
                found.append(rows.number(workload, f"bytes of values: {kind}", sum(a) / len(a), sum(b) / len(b), known))
        return found

    def compare_load(self, theirs, mine):
        sides = (theirs, mine)
        a, b = (sum(o.written for o in side) / len(side) for side in sides)
        found = [rows.number("ycsb-load", "rows", *map(len, sides)), rows.number("ycsb-load", "bytes of a row's fields", a, b)]
        found.append(rows.number("ycsb-load", "bytes of a key", *(sum(len(o.key) for o in side) / len(side) for side in sides),
                                 known="YCSB writes the number without leading zeros"))
        return found + rows.shares("ycsb-load", *(ascending(side) for side in sides))
