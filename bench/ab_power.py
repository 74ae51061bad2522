#!/usr/bin/env python3
"""Finds how long `testbed ab` takes to find a known slowdown, and how exact it is beside five runs of each side.

--added-delay makes every operation of side b slower by a share of its time, which is measured first. For each way, the slowdown
is looked for --repeats times; a row has how often it was found, the median time and the time in which nine of ten were found, and the mean of
the ratios. With --equal-time, a row sets the error of the ratio of equal sides beside that of the plain way (five runs of one side and then five
of the other, in the same time, with the same delay and as many clients), and says how small a slowdown the plain way would find nine times in ten
with this error. Loads of the plain way go on until a tenth of the time is over, and their mean is one of the five.

Inserts change the database, so interleave does not compare them: with no other of --ways they are left out.

Ends with 1 when a bound is missed, with 2 when testbed fails or nothing is measured, else with 0. Slowdowns from those of BOUNDS on must be
found nine times in ten, smaller ones are only shown; with --equal-time the ratio must be five times more exact than that of the plain way.

    bench/ab_power.py --testbed build/release/testbed --work null --ways interleave --slowdowns 2 5 --limit 180 --repeats 10
    bench/ab_power.py --testbed build/release/testbed --work --changes bloom --limit 180
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CALIBRATION = 15  # seconds of the comparison that times an operation
BASE = 1000  # nanoseconds that both sides are delayed by, so that the delay's own loop costs both alike

WORK = {
    "null": ["--engine", "null", "--rows", "20000", "--workload", "point-read", "--threads", "1"],
    "cached": ["--engine", "btree", "--ram", "128M", "--rows", "20000", "--workload", "point-read", "--threads", "1"],
    "io": ["--engine", "btree", "--io", "direct", "--ram", "64M", "--cache-size", "4M", "--rows", "60000", "--workload", "point-read", "--threads", "2"],
    "insert": ["--engine", "btree", "--ram", "256M", "--rows", "400000", "--value-size", "100", "--workload", "insert", "--threads", "1"],
}


# Changes of RocksDB's options: the words of side a, those of side b, and the least slowdown that must be found.
# Comparisons of --truth seconds tell which side is slower, and by how much.
ROCKSDB = ["--engine", "rocksdb", "--ram", "128M", "--rows", "60000", "--cache-pct", "50", "--workload", "point-read", "--threads", "1"]
CHANGES = {
    "block-size": ("", "page-size=8k", 0.02),
    "bloom": ("", "engine-option=bloom_bits=0", 0.02),
    "checksums": ("cache-size=4M engine-option=verify_checksums=false", "cache-size=4M", 0.05),
}

BOUNDS = {"null": 0.02, "cached": 0.02, "io": 0.05, "insert": 0.05}  # the least slowdowns that must be found
LEAST_FOUND = 0.9
TIMES_MORE_EXACT = 5
# A test at 5 % finds nine times in ten what is this many standard errors from 0: the quantiles 0.975 and 0.9 of the normal distribution.
ERRORS_FOUND = 1.96 + 1.28


def testbed(options, words, directory, accepted=(0,)):
    file = pathlib.Path(directory).resolve() / "result.json"
    command = [options.testbed, *words, "--quiet", "--json", str(file)]
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if result.returncode not in accepted:
        print(f"{' '.join(command)}\nended with {result.returncode}: {result.stderr}", file=sys.stderr)
        sys.exit(2)
    return json.loads(file.read_text(encoding="utf-8"))


def words_of(work, way):
    """Returns the words of the work with the clients that each side of a way has."""
    words = list(work)
    words[words.index("--threads") + 1] = str(threads_of(work, way))
    return words


def compare(options, work, sides, way, limit, seed, directory, until, condition=None):
    words = ["ab", "--a", sides[0], "--b", sides[1], "--way", way, "--time", str(limit), "--until", f"{until:.4g}%", "--seed", str(seed)]
    if way != "rounds" and "insert" not in work:
        words += ["--slice", str(options.slice)]
    if condition:
        words += ["--fail-if", condition]
    document = testbed(options, words + words_of(work, way), directory, (0, 3, 125) if condition else (0,))
    rate = next(answer for answer in document["answers"] if answer["metric"] == "rate")
    return rate, document


def delayed(delay):
    """Returns the words of two sides. The second is slower by `delay` nanoseconds an operation."""
    return f"added-delay={BASE}", f"added-delay={BASE + delay}"


def threads_of(work, way):
    # Each side of a duet has a share of the processors.
    return 1 if way == "duet" else int(work[work.index("--threads") + 1])


def ways_of(options, work):
    """Returns the ways that can compare the work: a side of interleave must leave its database unchanged."""
    return [way for way in options.ways if work != "insert" or way != "interleave"]


def calibrate(options, work, directory):
    """Returns the time of one operation on one client, in nanoseconds, measured on equal sides."""
    way = "rounds" if work == "insert" else "interleave"
    rate, _ = compare(options, WORK[work], delayed(0), way, CALIBRATION, 99, directory, 0.001)
    return 2e9 * threads_of(WORK[work], way) / (rate["a"] + rate["b"])


def find(options, name, work, sides, way, slowdown, directory, delay=None):
    """Looks for a slowdown again and again. Returns how often it was found. With a delay, also prints the change that the delay alone makes of
    side a's rates in these comparisons, since the device may be faster or slower than it was when the operation was timed."""
    times, ratios, given = [], [], []
    needed = math.ceil(LEAST_FOUND * options.repeats)
    for repeat in range(options.repeats):
        rate, document = compare(options, work, sides, way, options.limit, 100 + repeat, directory, 100 * slowdown / 2)
        if rate["answer"] == "slower":
            times.append(document["seconds"])
        if rate["effect"]:
            ratios.append(rate["effect"])
        if delay is not None:
            given.append(1 / (1 + delay * rate["a"] / (threads_of(work, way) * 1e9)))
    print(f"{name}: found {len(times)} of {options.repeats} within {options.limit:.0f} s"
          + (f", median {statistics.median(times):.0f} s" if times else "")
          + (f", nine of ten in {sorted(times)[needed - 1]:.0f} s" if len(times) >= needed else "")
          + (f"; mean change {100 * (statistics.mean(ratios) - 1):+.2f} %" if ratios else "")
          + (f", by the delay {100 * (statistics.mean(given) - 1):+.2f} %" if given else ""), flush=True)
    return len(times)


def often_enough(options, found, slowdown, bound):
    """Returns whether a slowdown was found as often as it must be, and says so when it was not."""
    if slowdown < bound or found >= LEAST_FOUND * options.repeats:
        return True
    print(f"the bound is missed: {100 * slowdown:.1f} % must be found in {100 * LEAST_FOUND:.0f} % of comparisons", flush=True)
    return False


def find_delay(options, work, way, slowdown, period, directory):
    delay = round(period * slowdown / (1 - slowdown))
    name = f"{work:8} {way:11} {100 * slowdown:4.1f} % ({delay} ns)"
    found = find(options, name, WORK[work], delayed(delay), way, slowdown, directory, delay)
    return often_enough(options, found, slowdown, BOUNDS[work])


def measure_change(options, sides, directory):
    """Measures how much side b changes the rate. A comparison ends as soon as it tells that the sides differ, after seconds, and then overstates the
    change. So a second comparison asks whether the change is smaller than the first one found. It goes on until its interval excludes that change."""
    rate, document = compare(options, ROCKSDB, sides, "interleave", options.truth, 98, directory, 0.001)
    if not rate["effect"]:
        return rate, document
    return compare(options, ROCKSDB, sides, "interleave", options.truth, 99, directory, 0.001, f"rate < {100 * (rate['effect'] - 1):.4f}%")


def find_change(options, change, directory):
    """Measures a change of RocksDB's options once, for a long time, and then looks for it again and again."""
    *sides, bound = CHANGES[change]
    rate, document = measure_change(options, sides, directory)
    if None in (rate["effect"], rate["low"], rate["high"]):
        print(f"{change}: not measured in {options.truth:.0f} s", flush=True)
        return False
    effect, low, high = (100 * (rate[value] - 1) for value in ("effect", "low", "high"))
    print(f"{change}: measured for {document['seconds']:.0f} s, the rate changes by {effect:+.2f} % ({low:+.2f} to {high:+.2f})", flush=True)
    slowdown = 1 - rate["effect"]
    if slowdown < 0:  # the other side is the slower one
        sides.reverse()
        slowdown = 1 - 1 / rate["effect"]
    found = find(options, f"{change:8} interleave  {100 * slowdown:4.1f} %", ROCKSDB, sides, "interleave", slowdown, directory)
    return often_enough(options, found, slowdown, bound)


def plain_run(options, work, way, seconds, directory):
    """Returns the rate of one run that takes about `seconds`. Its operations have the same delay as those of the equal sides of `ab`. A run of insert
    ends when its rows are there, so loads are repeated until the time is over."""
    words = ["--added-delay", str(BASE), *words_of(WORK[work], way)]
    if work != "insert":
        words += ["--seconds", str(max(0.3, seconds - 1)), "--warmup", "0.2"]
    words = [word if word != "point-read" else "insert,point-read" for word in words]
    rates = []
    begin = time.monotonic()
    while True:
        phases = [phase for run in testbed(options, words, directory)["runs"] for phase in run["phases"]]
        rates.append([phase["rate"] for phase in phases if phase["kind"] in ("load", "measure")][-1])
        taken = time.monotonic() - begin
        if work != "insert" or taken + taken / len(rates) / 2 > seconds:
            return statistics.mean(rates)


def plain(options, work, way, seconds, directory):
    """Returns the log of the ratio that five runs of each side give, one after the other, and the seconds that they took."""
    begin = time.monotonic()
    means = [statistics.mean(plain_run(options, work, way, seconds / 10, directory) for _ in range(5)) for _ in range(2)]
    return math.log(means[1] / means[0]), time.monotonic() - begin


def accuracy(options, work, way, directory):
    """Compares equal sides by `ab` and in the plain way. Returns whether the ratio of `ab` is as
    much more exact as it must be."""
    ours, theirs, took, took_plain = [], [], [], []
    for repeat in range(options.repeats):
        rate, document = compare(options, WORK[work], delayed(0), way, options.equal_time, 500 + repeat, directory, 0.001)
        ours.append(math.log(rate["effect"]))
        took.append(document["seconds"])
        ratio, seconds = plain(options, work, way, options.equal_time, directory)
        theirs.append(ratio)
        took_plain.append(seconds)
    of = [math.sqrt(statistics.mean(x * x for x in values)) for values in (ours, theirs)]
    print(f"{work:8} {way:11} equal sides: ratio off by {100 * of[0]:.2f} % in {statistics.mean(took):.0f} s, five runs of each {100 * of[1]:.2f} %"
          f" in {statistics.mean(took_plain):.0f} s: {of[1] / of[0]:.1f} times more exact; the plain way would find"
          f" {100 * ERRORS_FOUND * of[1]:.1f} % nine times in ten", flush=True)
    if of[1] >= TIMES_MORE_EXACT * of[0]:
        return True
    print(f"the bound is missed: it must be {TIMES_MORE_EXACT} times more exact", flush=True)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--testbed", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--work", nargs="*", choices=WORK, default=["null", "cached", "io", "insert"])
    parser.add_argument("--ways", nargs="+", choices=["interleave", "duet", "rounds"], default=["interleave"])
    parser.add_argument("--slowdowns", nargs="*", type=float, default=[1, 2, 5], help="in per cent")
    parser.add_argument("--changes", nargs="*", choices=CHANGES, default=[], help="of RocksDB's options, to be measured for --truth seconds and then found")
    parser.add_argument("--truth", type=float, default=300, help="seconds at most of each of the two comparisons that measure a change")
    parser.add_argument("--limit", type=float, default=180, help="seconds of one comparison at most")
    parser.add_argument("--equal-time", type=float, default=0, help="seconds of one comparison with equal sides; 0: leave these out")
    parser.add_argument("--slice", type=float, default=0.05, help="seconds of a slice")
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats {options.repeats} is not accepted; give 1 or more")
    if not 0 < options.limit < math.inf or not 0 < options.truth < math.inf or not 0 <= options.equal_time < math.inf:
        parser.error("--limit and --truth take seconds above 0, and --equal-time seconds from 0")
    for slowdown in options.slowdowns:
        if not 0 < slowdown < 100:
            parser.error(f"--slowdowns {slowdown:g} is not accepted; give per cents between 0 and 100")
    met = []
    with tempfile.TemporaryDirectory(dir=".", prefix="ab-power-") as directory:
        for work in options.work:
            ways = ways_of(options, work)
            if not ways:
                print(f"{work}: left out, as --ways interleave is for work that leaves the database unchanged; give --ways rounds", flush=True)
                continue
            period = calibrate(options, work, directory)
            print(f"{work}: one operation takes {period:.0f} ns", flush=True)
            for way in ways:
                for slowdown in options.slowdowns:
                    met.append(find_delay(options, work, way, slowdown / 100, period, directory))
                if options.equal_time > 0:
                    met.append(accuracy(options, work, way, directory))
        for change in options.changes:
            met.append(find_change(options, change, directory))
    if not met:
        print("nothing was measured", flush=True)
        return 2
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
