#!/usr/bin/env python3
"""Finds after how many loads `testbed ab` tells that a side asks its cache for 0.1 % fewer blocks, which no speed of the machine can hide.

Of a thousand point reads one asks for a key that does not exist. Without a filter it asks for a block as the others do (side a); with one it asks
for none (side b). What both ask for per read is measured first, in long runs. The difference is then looked for --repeats times: as the
metric that the comparison was made for, and, which is only shown, as one among all. Filters are a side's own, so b is slower or faster, too.

Ends with 1 when the bound is missed, with 2 when testbed fails, else with 0. Nine of ten comparisons must find it within BOUND loads.

    bench/ab_exact_counts.py --testbed build/release/testbed --repeats 10
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

SIDES = {"a": "bloom_bits=0", "b": "bloom_bits=20"}  # with 20 bits one absent key in ten thousand passes the filter
WORK = ["--engine", "rocksdb", "--engine-option", "settle=compact-range", "--ram", "256M", "--rows", "100000", "--hit-ratio", "0.999", "--threads", "1",
        "--account", "file"]
LONG = 1000000  # operations of a run that measures what a side asks for
CHANGE = 0.001  # share of the blocks asked for by which the sides are to differ
AT_LEAST = 0.5  # share of CHANGE; the comparison asks whether the sides differ by more than this
BOUND = 5  # loads
LEAST_FOUND = 0.9


def testbed(options, words, directory, accepted=(0,)):
    file = pathlib.Path(directory).resolve() / "result.json"
    command = [options.testbed, *words, *WORK, "--quiet", "--json", str(file)]
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if result.returncode not in accepted:
        print(f"{' '.join(command)}\nended with {result.returncode}: {result.stderr}", file=sys.stderr)
        sys.exit(2)
    return json.loads(file.read_text(encoding="utf-8"))


def asks(options, side, directory):
    """Returns the blocks that a read of the side asks the cache for."""
    words = ["--engine-option", SIDES[side], "--workload", "insert,point-read", "--operations", str(LONG), "--seed", "1"]
    phases = [phase for run in testbed(options, words, directory)["runs"] for phase in run["phases"] if phase["kind"] == "measure"]
    return phases[-1]["account"]["engine"]["block_requests"] / phases[-1]["count"]


def look(options, seed, asked, directory):
    """Compares the sides. Returns the answer about the blocks asked for, and the document."""
    words = ["ab", "--workload", "point-read", "--slice", "0.1", "--until", "0.001%", "--time", str(options.limit), "--seed", str(seed)]
    for side, filter_bits in SIDES.items():
        words += [f"--{side}", f"engine-option={filter_bits}"]
    words += ["--fail-if", f"engine_asks < -{100 * CHANGE * AT_LEAST:g}%"] if asked else ["--loads", str(BOUND)]
    document = testbed(options, words, directory, (0, 3, 125) if asked else (0,))
    return next(answer for answer in document["answers"] if answer["metric"] == "engine_asks"), document


def find(options, asked, directory):
    """Looks for the difference again and again. Returns whether it was found as often as it must be."""
    loads, seconds, effects, in_time = [], [], [], 0
    for repeat in range(options.repeats):
        answer, document = look(options, 100 + repeat, asked, directory)
        if answer["effect"]:
            effects.append(answer["effect"])
        if answer["answer"] != "lower":
            continue
        loads.append(document["loads"])
        seconds.append(document["seconds"])
        in_time += document["loads"] <= BOUND
    print(f"{'as the metric asked for' if asked else 'among all metrics':23}: found {len(loads)} of {options.repeats}, {in_time} within {BOUND} loads"
          + (f"; median {statistics.median(loads):g} loads in {statistics.median(seconds):.0f} s, most {max(loads)} in {max(seconds):.0f} s" if loads else "")
          + (f"; mean change {100 * (statistics.mean(effects) - 1):+.3f} %" if effects else ""), flush=True)
    return in_time >= LEAST_FOUND * options.repeats


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--testbed", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--limit", type=float, default=180, help="seconds of one comparison at most")
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats {options.repeats} is not accepted; give 1 or more")
    if not 0 < options.limit < math.inf:
        parser.error(f"--limit {options.limit:g} is not accepted; give seconds above 0")
    with tempfile.TemporaryDirectory(dir=".", prefix="ab-exact-counts-") as directory:
        of = {side: asks(options, side, directory) for side in SIDES}
        change = of["b"] / of["a"] - 1
        print(f"blocks asked for per read, of {LONG} reads: {of['a']:.5f} on a, {of['b']:.5f} on b, {100 * change:+.3f} %", flush=True)
        if not -2 * CHANGE < change < -CHANGE / 2:
            print(f"the sides cannot show it: they must differ by about {100 * CHANGE:.1f} %")
            return 1
        found = find(options, True, directory)
        find(options, False, directory)
    if not found:
        print(f"the bound is missed: {100 * CHANGE:.1f} % must be found within {BOUND} loads in {100 * LEAST_FOUND:.0f} % of comparisons")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
