"""RocksDB's db_bench, by its own trace of the queries, beside the workloads of its names and mixgraph."""
import collections
import re
import shutil

from originals import programs, rows, two_samples

ROWS = 50000
ZIPPYDB = {  # what the authors of mixgraph publish for ZippyDB
    "keyrange_dist_a": 14.18, "keyrange_dist_b": -2.917, "keyrange_dist_c": 0.0164, "keyrange_dist_d": -0.08082, "keyrange_num": 30,
    "value_k": 0.2615, "value_sigma": 25.45, "iter_k": 2.517, "iter_sigma": 14.236, "mix_get_ratio": 0.83, "mix_put_ratio": 0.14, "mix_seek_ratio": 0.03,
    "key_dist_a": 0.002312, "key_dist_b": 0.3467,
}
# The models without key ranges: keys that are all alike, and a power law of hot keys over the whole key space.
ALL_RANDOM = {"mix_get_ratio": 0.7, "mix_put_ratio": 0.3}
ALL_DIST = {**ALL_RANDOM, "key_dist_a": 0.002312, "key_dist_b": 0.3467}
MIX = {"key": 48, "value": 43, "rows": 200000}
SEEK_NEXTS, KEYS = 9, 16  # steps after a seek of seekrandom, keys of a multi-get


class Calls:
    """The calls of a trace on a database, each with the number of its key, in order."""

    def __init__(self, trace):
        calls = [call for operation in trace.operations for call in operation.calls]
        self.gets = [number(call.key) for call in calls if call.name == "get"]
        self.puts = [number(call.key) for call in calls if call.name == "put"]
        self.seeks = [number(call.key) for call in calls if call.name == "seek"]
        self.all = [number(call.key) for call in calls if call.name in ("get", "put", "seek")]
        self.multi_gets = [[number(key) for key in call.keys] for call in calls if call.name == "multi-get"]
        self.value_bytes = [call.number for call in calls if call.name == "put"]
        self.key_bytes = {len(call.key) for call in calls if call.key}
        self.steps = []  # of each seek
        for call in calls:
            if call.name == "seek":
                self.steps.append(0)
            elif call.name.startswith("next"):
                self.steps[-1] += call.number

    def kinds(self):
        return {"get": len(self.gets), "put": len(self.puts), "seek": len(self.seeks), "multi-get": len(self.multi_gets)}


def number(key):
    """Returns the number that db_bench builds a key of."""
    return int.from_bytes(key[:8], "big")


class DbBench:
    workloads = ["fillseq", "fillrandom", "overwrite", "readrandom", "seekrandom", "multireadrandom", "readwhilewriting", "mixgraph", "mixgraph all_random", "mixgraph all_dist"]

    def __init__(self, testbed, options):
        self.testbed, self.count = testbed, options.operations
        self.program = programs.need("db_bench", "rocksdb-tools")
        self.name = programs.run([self.program, "--version"], testbed.directory).strip().splitlines()[-1].replace(" version", "")
        self.database, self.statistics = testbed.directory / "db_bench", ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def db_bench(self, benchmark, seed, flags=None, loads=False):
        """Returns the calls of one benchmark. One that does not load runs on the database of the
        last benchmark that did."""
        if loads:
            shutil.rmtree(self.database, ignore_errors=True)
        trace = self.testbed.directory / "db_bench.trace"
        trace.unlink(missing_ok=True)
        given = {"num": ROWS, "key_size": 16, "value_size": 100, "threads": 1, "use_existing_db": int(not loads), "statistics": 1, **(flags or {})}
        self.statistics = programs.run([self.program, f"--benchmarks={benchmark}", f"--db={self.database}", f"--trace_file={trace}", f"--seed={seed}",
                                        *(f"--{name}={value}" for name, value in given.items())], self.testbed.directory)
        return Calls(self.testbed.imported(trace))

    def steps(self):
        """Returns how many steps the iterators of the last benchmark made."""
        return int(re.search(r"number\.db\.next COUNT : (\d+)", self.statistics).group(1))

    def mine(self, workload, seed, words=(), size=ROWS):
        return Calls(self.testbed.trace(workload, ["--rows", size, "--seed", seed, *words]))

    def compare(self, workload, seed):
        """Returns the rows of one workload."""
        name, _, model = workload.partition(" ")
        return self.mixgraph_of(workload, seed, {"all_random": ALL_RANDOM, "all_dist": ALL_DIST}[model]) if model else getattr(self, name)(seed)

    def sizes(self, workload, sides):
        return [rows.number(workload, "bytes of a key", *(max(side.key_bytes) for side in sides)),
                rows.number(workload, "bytes of a value", *(sum(side.value_bytes) / len(side.value_bytes) for side in sides))]

    def fillseq(self, seed):
        sides = (self.db_bench("fillseq", seed, loads=True), self.mine("fillseq", seed))
        in_order = [sum(b == a + 1 for a, b in zip(side.puts, side.puts[1:])) + 1 for side in sides]
        return [rows.number("fillseq", "puts", *(len(side.puts) for side in sides)), rows.number("fillseq", "of these in key order", *in_order), *self.sizes("fillseq", sides)]

    def fillrandom(self, seed):
        random = self.db_bench("fillrandom", seed, loads=True)
        sides = (self.db_bench("filluniquerandom", seed, loads=True), self.mine("fillrandom", seed))
        name = "fillrandom"
        upward = [collections.Counter("above the key before" if b > a else "below" for a, b in zip(side.puts, side.puts[1:])) for side in sides]
        steps = [[abs(b - a) for a, b in zip(side.puts, side.puts[1:])] for side in sides]
        return [rows.number(name, "different keys", len(set(random.puts)), len(set(sides[1].puts)), known="each key once, so that every read finds its row, as filluniquerandom does"),
                rows.number(name, "different keys of filluniquerandom", *(len(set(side.puts)) for side in sides)), *rows.shares(name, *upward),
                rows.numbers(name, "distance of a key from the one before: quartiles", *steps), *self.sizes(name, sides)]

    def overwrite(self, seed):
        sides = (self.db_bench("overwrite", seed, {"writes": self.count}), self.mine("fillrandom,overwrite", seed, ["--operations", self.count]))
        return [*rows.shares("overwrite", *(side.kinds() for side in sides)), rows.numbers("overwrite", "keys: quartiles", *(side.puts for side in sides)), *self.sizes("overwrite", sides)]

    def readrandom(self, seed):
        sides = (self.db_bench("readrandom", seed, {"reads": self.count}), self.mine("fillrandom,readrandom", seed, ["--operations", self.count]))
        return [*rows.shares("readrandom", *(side.kinds() for side in sides)), rows.numbers("readrandom", "keys: quartiles", *(side.gets for side in sides))]

    def seekrandom(self, seed):
        theirs = self.db_bench("seekrandom", seed, {"reads": self.count, "seek_nexts": SEEK_NEXTS})
        steps = self.steps() / len(theirs.seeks)
        ours = self.mine("fillrandom,seekrandom", seed, ["--operations", self.count, "--scan-rows", SEEK_NEXTS + 1])
        return [*rows.shares("seekrandom", theirs.kinds(), ours.kinds()), rows.numbers("seekrandom", "keys: quartiles", theirs.seeks, ours.seeks),
                rows.number("seekrandom", "steps after a seek", steps, sum(ours.steps) / len(ours.steps))]

    def multireadrandom(self, seed):
        calls = self.count // KEYS
        sides = (self.db_bench("multireadrandom", seed, {"reads": calls * KEYS, "batch_size": KEYS}),
                 self.mine("fillrandom,multireadrandom", seed, ["--operations", calls, "--workload-option", f"keys={KEYS}"]))
        name = "multireadrandom"
        return [*rows.shares(name, *(side.kinds() for side in sides)), rows.number(name, "keys of a call", *(sum(map(len, side.multi_gets)) / len(side.multi_gets) for side in sides)),
                rows.numbers(name, "keys: quartiles", *([key for call in side.multi_gets for key in call] for side in sides))]

    def readwhilewriting(self, seed):
        """Compares the keys of readwhilewriting. The shares of reads and writes follow from the
        speed of the reader and of the writer, so they are not compared."""
        sides = (self.db_bench("readwhilewriting", seed, {"reads": 4 * self.count}), self.mine("fillrandom,readwhilewriting", seed, ["--operations", 4 * self.count]))
        return [rows.numbers("readwhilewriting", "keys of reads: quartiles", *(side.gets for side in sides)), rows.numbers("readwhilewriting", "keys of writes: quartiles", *(side.puts for side in sides))]

    def mixes(self, seed, flags, options):
        """Returns the calls of both sides' mixgraph: db_bench's with the flags, ours with the options of the workload."""
        size = {"num": MIX["rows"], "key_size": MIX["key"], "value_size": MIX["value"]}
        self.db_bench("fillseq", seed, size, loads=True)
        theirs = self.db_bench("mixgraph", seed, {**size, **flags, "reads": self.count})
        words = [word for name, value in options.items() for word in ("--workload-option", f"{name}={value}")]
        return theirs, self.mine("fillrandom,mixgraph", seed, ["--key-size", MIX["key"], "--value-size", MIX["value"], "--operations", self.count, *words], MIX["rows"])

    def mixgraph(self, seed):
        theirs, ours = self.mixes(seed, ZIPPYDB, {"model": "zippydb"})
        scanned = self.steps() / len(theirs.seeks)
        sides, name = (theirs, ours), "mixgraph"
        mean = sum(steps + 1 for steps in ours.steps) / len(ours.steps)
        return [*rows.shares(name, *(side.kinds() for side in sides)), rows.numbers(name, "keys: quartiles", *(side.all for side in sides)), rows.popularity(name, *(side.all for side in sides)),
                rows.numbers(name, "bytes of a value: quartiles", *(side.value_bytes for side in sides)),
                rows.tested(name, "rows of a scan: mean", f"{scanned:.1f}", f"{mean:.1f}", two_samples.mean_p(scanned, len(theirs.seeks), [steps + 1 for steps in ours.steps]))]

    def mixgraph_of(self, name, seed, model):
        """Compares how unevenly keys are asked for. Without key ranges half of db_bench's hot
        keys are negative and name no row, so the keys themselves cannot be compared."""
        sides = self.mixes(seed, model, model)
        keys = rows.popularity(name, *(side.all for side in sides)) if "key_dist_a" in model else rows.numbers(name, "keys: quartiles", *(side.all for side in sides))
        return [*rows.shares(name, *(side.kinds() for side in sides)), keys, rows.numbers(name, "bytes of a value: quartiles", *(side.value_bytes for side in sides))]
