#!/usr/bin/env python3
"""Sets each engine's defaults beside what its own developers recommend, by `testbed ab`, and prints the tables of docs/engines/defaults.md.

The settings are those of tools/experiments/engine-defaults.toml and engine-defaults-more.toml. Three of them are measured against the defaults in one comparison,
until each is told to be faster by more than a ninth (the defaults give less than nine tenths of its rate) or not. The answers of each comparison are
added to --results and it is not measured again, so that an interrupted run goes on; --markdown prints what is there. All of it takes about eight hours.
An engine that cannot run here is left out, and the exit code is then 1.

    bench/engine_defaults.py --testbed build/release/testbed --results docs/engines/defaults.json --engines rocksdb btree
    bench/engine_defaults.py --results docs/engines/defaults.json --markdown > docs/engines/defaults.md
"""
import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import tomllib

EXPERIMENTS = [pathlib.Path(__file__).resolve().parent.parent / f"tools/experiments/{name}.toml" for name in ("engine-defaults", "engine-defaults-more")]
INTRO = """# Defaults beside what experts set

Is a comparison of engines one of the engines, or of settings that one of them would never run with? `bench/engine_defaults.py` sets each
engine's defaults beside ten settings that its documents and its developers' benchmarks recommend (of lmdb five could matter, of sqlite seven, of mdbx and bf-tree nine), one changed
at a time; their sources stand in `tools/experiments/engine-defaults.toml` and `engine-defaults-more.toml`. Each is measured against the defaults by `testbed ab` ([ab.md](../ab.md)): on reads from a full
cache, on reads that need the device, on inserts in random order, until it is sure that the setting is faster by more than a ninth, so that the defaults
give less than nine tenths of its rate, or that it is not, or until the time is over. A cell is the change of the rate by the setting, with its 95 % interval.

Known before: RocksDB's former defaults (an LRU cache with index and filter in it) read from a full cache at 239, 265 and 281 k/s with two threads, where
HyperClockCache and index and filter outside of the cache gave 508, 535 and 530; these are the defaults now.
"""
CONDITION = "rate > 11.1%"  # of a side over the defaults: those give less than nine tenths of its rate
QUESTIONS = {
    "cached reads": ["--workload", "point-read", "--db-ratio", "0.2", "--cache-pct", "50"],
    "IO-bound reads": ["--workload", "point-read", "--db-ratio", "3", "--cache-pct", "25"],
    "inserts": ["--workload", "insert", "--db-ratio", "3", "--cache-pct", "25"],
}
SIDES = "bcd"
USUAL_RAM = "64M"
RAM = {"mysql": "256M", "postgres": "256M"}  # a server needs more than the usual for itself


class CannotRun(Exception):
    """The engine, or a setting of it, is refused here, as when its library is not installed."""


def words_of(value):
    """Returns what a value of the axis changes, as words of a side."""
    words = [f"{name}={text}" for name, text in value.items() if name not in ("label", "engine", "engine-option")]
    return words + [f"engine-option={name}={text}" for name, text in value.get("engine-option", {}).items()]


def settings_of_engines():
    """Returns, by engine, the settings of each experiment that has some of it, but the defaults: label and words of a side. Also returns, by
    engine, the options that it has in all of its settings, as --io mmap."""
    engines, usual = {}, {}
    for path in EXPERIMENTS:
        experiment = tomllib.loads(path.read_text(encoding="utf-8"))
        axis = next(axis for axis in experiment["axis"] if axis["name"] == "setting")
        of_file = {}
        for value in axis["values"]:
            engine = of_file.setdefault(value["engine"], [])
            if words := words_of(value):
                engine.append((value["label"].removeprefix(value["engine"] + "-"), words))
        for engine, settings in of_file.items():
            engines.setdefault(engine, []).append(settings)
            of_engine = experiment.get("engine", {}).get(engine, {})
            usual.setdefault(engine, [word for name in ("io", "durability") if name in of_engine for word in (f"--{name}", of_engine[name])])
    return engines, usual


def groups_of(settings):
    """Yields the settings of an engine in the groups that are measured together. No group has settings of two experiments, so that another
    experiment leaves the groups that were measured before as they are."""
    for of_file in settings:
        for first in range(0, len(of_file), len(SIDES)):
            yield of_file[first:first + len(SIDES)]


def compare(options, engine, usual, question, group, directory):
    file = pathlib.Path(directory) / "comparison.json"
    ram = options.ram or RAM.get(engine, USUAL_RAM)
    words = [options.testbed, "ab", "--engine", engine, "--a", "", *QUESTIONS[question], "--ram", ram, "--threads", "2", "--key-order", "permuted"]
    words += ["--time", options.time, "--until", "10%", "--fail-if", CONDITION, "--quiet", "--json", str(file), *usual]
    for side, (_, changes) in zip(SIDES, group):
        words += [f"--{side}", " ".join(shlex.quote(change) for change in changes)]
    result = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
    if result.returncode == 2:
        raise CannotRun(result.stderr.strip())
    # 0, 3 and 125 are the answers of --fail-if; 125 is a side that failed, too, which its document says.
    if result.returncode not in (0, 3, 125) or not file.exists():
        sys.exit(f"{shlex.join(words)}\nended with {result.returncode}: {result.stderr}")
    document = json.loads(file.read_text(encoding="utf-8"))
    return {"engine": engine, "question": question, "settings": [label for label, _ in group], "ram": ram,
            "started": document["started"], "machine": {name: document["machine"].get(name) for name in ("cpu_model", "cpus", "kernel")},
            "answers": [answer for answer in document["answers"] if answer["metric"] == "rate"]}


def read_results(options):
    return json.loads(options.results.read_text(encoding="utf-8")) if options.results.exists() else []


def add_result(options, results, result):
    results.append(result)
    partial = options.results.with_suffix(".partial")
    partial.write_text("[\n" + ",\n".join(json.dumps(one) for one in results) + "\n]\n", encoding="utf-8")
    partial.replace(options.results)


def measure_engine(options, engine, settings, usual, results):
    for question in QUESTIONS:
        for group in groups_of(settings):
            labels = [label for label, _ in group]
            if any((one["engine"], one["question"], one["settings"]) == (engine, question, labels) for one in results):
                continue
            with tempfile.TemporaryDirectory(prefix="engine-defaults.", dir=options.dir) as directory:
                add_result(options, results, compare(options, engine, usual, question, group, directory))
            print(f"{engine}, {question}: " + "; ".join(f"{label} {text}" for label, text, _ in rates(results[-1])), flush=True)


def measure(options):
    """Returns whether each engine could be measured."""
    engines, usual = settings_of_engines()
    results = read_results(options)
    all_here = True
    for engine in options.engines or engines:
        try:
            measure_engine(options, engine, engines[engine], usual[engine], results)
        except CannotRun as why:
            print(f"{engine} is left out: {why}", flush=True)
            all_here = False
    return all_here


def rates(document):
    """Returns label, "+3.1 % (+1.0 to +5.2)" and verdict of each setting of one comparison."""
    found = {answer["side"]: answer for answer in document["answers"] if answer["metric"] == "rate"}
    rows = []
    for side, label in zip(SIDES, document["settings"]):
        answer = found.get(side)
        if answer is None or None in (answer["low"], answer["high"]):
            rows.append((label, "not measured", "not known"))
            continue
        effect, low, high = (100 * (answer[name] - 1) for name in ("effect", "low", "high"))
        verdict = "faster" if low > 100 / 9 else "no" if high < 100 / 9 else "not known"
        rows.append((label, f"{effect:+.1f} % ({low:+.1f} to {high:+.1f})", verdict))
    return rows


def print_markdown(options):
    engines, _ = settings_of_engines()
    print(INTRO)
    documents = read_results(options)
    machines = sorted({f"{d['machine']['cpu_model'] or 'unknown processor'}, {d['machine']['cpus'] or '?'} processors, Linux {d['machine']['kernel'] or '?'}" for d in documents})
    days = sorted(document["started"][:10] for document in documents)
    if days:
        rams = ", ".join(sorted({d["ram"] for d in documents}))
        print(f"Measured {days[0]} to {days[-1]} with --ram {rams} and two threads on: {'; '.join(machines)}. {len(documents)} comparisons.")
    for engine, settings in engines.items():
        answers = {}
        for document in documents:
            if document["engine"] == engine:
                answers.setdefault(document["question"], []).extend(rates(document))
        if not answers:
            print(f"\n## {engine}\n\nNot measured yet.")
            continue
        faster = [f"{label} ({question})" for question, rows in answers.items() for label, _, verdict in rows if verdict == "faster"]
        unknown = sum(verdict == "not known" for rows in answers.values() for _, _, verdict in rows)
        told = "The defaults are within 10 % of each setting that could be told." if not faster else f"Faster by more than a ninth: {', '.join(faster)}."
        print(f"\n## {engine}\n\n{told}" + (f" {unknown} answers are not sure." if unknown else "") + "\n")
        print("| setting | " + " | ".join(QUESTIONS) + " |\n|---|" + "---|" * len(QUESTIONS))
        for label, words in (setting for of_file in settings for setting in of_file):
            cells = [next((text for name, text, _ in answers.get(question, []) if name == label), "not measured") for question in QUESTIONS]
            words = ", ".join(f"`{word.removeprefix('engine-option=')}`" for word in words)
            print(f"| {words} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--testbed", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--results", required=True, type=pathlib.Path, help="file of the answers, which are added to it")
    parser.add_argument("--dir", type=pathlib.Path, default=".", help="where the databases of a comparison are while it lasts [.]")
    parser.add_argument("--engines", nargs="+", help="only these")
    parser.add_argument("--ram", help=f"of each engine [{USUAL_RAM}; {', '.join(f'{engine} {ram}' for engine, ram in RAM.items())}]")
    parser.add_argument("--time", default="6m", help="of one comparison at most")
    parser.add_argument("--markdown", action="store_true", help="print the tables of what was measured")
    options = parser.parse_args()
    if options.markdown:
        print_markdown(options)
        return
    if options.testbed is None:
        parser.error("--testbed is needed, the program to measure with")
    known = settings_of_engines()[0]
    if unknown := set(options.engines or ()) - set(known):
        parser.error(f"--engines {', '.join(sorted(unknown))} has no settings; there are {', '.join(known)}")
    sys.exit(0 if measure(options) else 1)


if __name__ == "__main__":
    main()
