#!/usr/bin/env python3
"""Compares equal sides with `testbed ab` again and again, and counts how often they are called different.

Four kinds of work take turns: cached reads and IO-bound reads in interleaved slices, inserts and mixed work in rounds. Each comparison has
another seed. Its answer is kept in --dir with the program, the --time and the words that gave it, so that a run that was ended goes on where it
was; an answer that another program, --time or other words gave is asked again. With --jobs, several run at once and disturb each other. What is
called faster or slower is a false alarm, since both sides are the same; with the stated 95 % at most one in twenty may be. A comparison of fewer
than three loads can raise none, so it is shown and not counted. Ends with 1 when more are false alarms (of few comparisons one is more), with 2
when testbed fails or no comparison counts, else with 0.

    bench/ab_false_alarms.py --testbed build/release/testbed --comparisons 200 --time 60
    bench/ab_false_alarms.py --testbed build/release/testbed --comparisons 200 --time 30 --jobs 2
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import math
import pathlib
import statistics
import subprocess
import sys

KINDS = {
    "cached reads": ["--engine", "btree", "--ram", "128M", "--rows", "20000", "--workload", "point-read", "--threads", "1", "--slice", "0.1"],
    "IO-bound reads": ["--engine", "btree", "--io", "direct", "--ram", "64M", "--cache-size", "4M", "--rows", "60000", "--workload", "point-read",
                       "--threads", "2", "--slice", "0.1"],
    "inserts": ["--engine", "btree", "--ram", "64M", "--rows", "30000", "--workload", "insert", "--threads", "1", "--account", "file"],
    "mixed": ["--engine", "rocksdb", "--ram", "128M", "--rows", "20000", "--workload", "mixed", "--mix", "point-read=50,update=50", "--threads", "1",
              "--seconds", "0.5", "--warmup", "0.1", "--account", "file"],
}


def compare(options, words, seed, file):
    """Runs one comparison; returns its document, reduced to what is counted."""
    document = file.with_suffix(".whole")
    command = [options.testbed, "ab", "--a", "", "--b", "", "--time", str(options.time), "--seed", str(seed), "--json", str(document), "--quiet", *words]
    result = subprocess.run(command, cwd=options.dir, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        print(f"{' '.join(command)}\nended with {result.returncode}: {result.stderr}", file=sys.stderr)
        sys.exit(2)
    whole = json.loads(document.read_text(encoding="utf-8"))
    document.unlink()
    return {key: whole[key] for key in ("way", "loads", "seconds", "answers")}


def asked_with(options, number):
    """Returns what an answer depends on, apart from the machine: another program may give another answer."""
    return {"program": options.program, "time": options.time, "words": KINDS[kind_of(number)]}


def answer(options, number):
    """Returns what is kept of a comparison, which is run unless it was run before with all that asked_with returns."""
    file = options.dir / f"{number:04}.json"
    asked = asked_with(options, number)
    if file.exists():
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept.get("asked") == asked:
            return kept
    kept = {"asked": asked, **compare(options, KINDS[kind_of(number)], 1000 + number, file)}
    part = file.with_suffix(".part")
    part.write_text(json.dumps(kept), encoding="utf-8")
    part.rename(file)  # a run that is ended leaves no half of an answer
    return kept


def kind_of(number):
    return list(KINDS)[number % len(KINDS)]


def answers(options):
    """Yields what is kept of each comparison, in the order of their numbers."""
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        yield from pool.map(lambda number: answer(options, number), range(options.comparisons))
    finally:
        pool.shutdown(cancel_futures=True)


MOST_ALARMS = 0.05  # share of the comparisons
LEAST_LOADS = 3  # testbed ab answers from this many loads on


def upper_bound(alarms, n):
    """Returns the upper end of the one-sided exact 95 % interval of a share (Clopper and Pearson,
    1934)."""
    low, high = alarms / n, 1.0
    for _ in range(60):
        p = (low + high) / 2
        at_most = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(alarms + 1))
        low, high = (p, high) if at_most > 0.05 else (low, p)
    return high


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--testbed", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--comparisons", type=int, default=200)
    parser.add_argument("--time", type=float, default=60, help="seconds of one comparison at most")
    parser.add_argument("--jobs", type=int, default=1, help="comparisons that run at once")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("ab-false-alarms"))
    options = parser.parse_args()
    if options.comparisons < 1:
        parser.error(f"--comparisons {options.comparisons} is not accepted; give 1 or more")
    if options.jobs < 1:
        parser.error(f"--jobs {options.jobs} is not accepted; give 1 or more")
    if not 0 < options.time < math.inf:
        parser.error(f"--time {options.time:g} is not accepted; give seconds above 0")
    if not pathlib.Path(options.testbed).is_file():
        parser.error(f"--testbed {options.testbed} is no program")
    options.program = hashlib.sha256(pathlib.Path(options.testbed).read_bytes()).hexdigest()[:12]
    options.dir = options.dir.resolve()
    options.dir.mkdir(exist_ok=True)
    counts = collections.defaultdict(collections.Counter)
    spread = collections.defaultdict(list)
    for number, kept in enumerate(answers(options)):
        kind = kind_of(number)
        rate = next(a for a in kept["answers"] if a["metric"] == "rate")
        others = [a for a in kept["answers"] if not a["asked"] and a["answer"] in ("higher", "lower")]
        counted = kept["loads"] >= LEAST_LOADS
        counts[kind][rate["answer"] if counted else "too few loads"] += 1
        counts[kind]["other metrics"] += bool(others)
        if rate["effect"] and counted:
            spread[kind].append(math.log(rate["effect"]))
        print(f"{number + 1}: {kind}, {kept['loads']} loads in {kept['seconds']:.0f} s: {rate['answer']}"
              + (f", ratio {rate['effect']:.4f}" if rate["effect"] else "")
              + (f"; differ: {', '.join(a['metric'] for a in others)}" if others else ""), flush=True)
    alarms = total = 0
    print(f"\n{'kind':16} {'n':>4} {'same':>5} {'untold':>6} {'false alarms':>12} {'in other metrics':>16} {'spread of the ratio':>20} {'too few loads':>13}")
    for kind, count in counts.items():
        n = count["same"] + count["cannot be told"] + count["faster"] + count["slower"]
        wrong = count["faster"] + count["slower"]
        alarms, total = alarms + wrong, total + n
        deviation = f"{100 * math.sqrt(statistics.mean(x * x for x in spread[kind])):.2f} %" if spread[kind] else "-"
        print(f"{kind:16} {n:4} {count['same']:5} {count['cannot be told']:6} {wrong:12} {count['other metrics']:16} {deviation:>20} {count['too few loads']:13}")
    if total == 0:
        print(f"\nno comparison had {LEAST_LOADS} loads of each side, which are the least that tell anything; give a longer --time")
        return 2
    print(f"\n{alarms} false alarms in {total} comparisons: {100 * alarms / total:.1f} %; with 95 % confidence below {100 * upper_bound(alarms, total):.1f} %")
    if alarms > MOST_ALARMS * total:
        print(f"the bound is missed: at most {100 * MOST_ALARMS:.0f} % may be false alarms")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
