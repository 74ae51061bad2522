#!/usr/bin/env python3
"""Sets each engine's defaults beside what its own developers recommend, by `testbed ab`, and prints the tables of docs/engines/defaults.md.

The settings are those of tools/experiments/engine-defaults.toml and engine-defaults-more.toml, and so is the memory, that of their scale `small`. Three settings are
measured against the defaults in one comparison, until each is told to be faster by more than a ninth (the defaults give less than nine tenths of its rate) or not, for
--time at most. The outcome of each comparison is added to --results, with what it was asked with: an interrupted run goes on, and what was asked with other words, memory,
program or release of the engine is asked again, and takes the place of the former outcome. --markdown prints the outcomes of the settings of today.

A setting that is refused, or that fails, is named so, and the rest of its group is measured without it. An engine whose defaults are refused is left out. Where the
defaults fail, nothing is stored. In both cases the others are measured, and the exit code is 1.

    bench/engine_defaults.py --testbed build/release/testbed --results docs/engines/defaults.json --engines rocksdb btree
    bench/engine_defaults.py --results docs/engines/defaults.json --markdown > docs/engines/defaults.md
"""
import argparse
import dataclasses
import datetime
import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib

EXPERIMENTS = [pathlib.Path(__file__).resolve().parent.parent / f"tools/experiments/{name}.toml" for name in ("engine-defaults", "engine-defaults-more")]
SCHEMA = "testbed-engine-defaults/2"  # of --results
INTRO = """# Defaults beside what experts set

This page sets testbed's defaults of each engine beside the settings that the engine's own developers recommend, to see whether a
comparison with the defaults is one of the engines, or of settings that one of them would never run with. `bench/engine_defaults.py` sets each
engine's defaults beside ten settings or more that its documents and its developers' benchmarks recommend (of lmdb six could matter, of sqlite seven, of mdbx and bf-tree nine), one changed
at a time; their sources stand in `tools/experiments/engine-defaults.toml` and `engine-defaults-more.toml`. Each is measured against the defaults by `testbed ab` ([ab.md](../ab.md)): on reads from a full
cache, on reads that need the device, on inserts in random order, until it is sure that the setting is faster by more than a ninth, so that the defaults
give less than nine tenths of its rate, or that it is not, or until the time is over. The memory is that of the experiments' scale `small`, since some settings are advised for no less. The databases of the
reads that need the device are 1.5 times as large as it, not two or three times as in the experiments: a comparison loads four of them for each of its three loads or more, and they must be loaded soon. A load has one rate of
inserts, so those need many loads: there the engine's cache has a tenth of the memory, and the database of a B-tree is twice as large as that, so that pages leave the cache; those of the others have half the size of the memory. For reads
that need the device, B-trees are loaded in the order of keys, and the others in random order; for the rest, all are loaded in random order. lmdb and mdbx sync at each commit: they commit 1000 rows at once.

A cell is the change of the rate by the setting, with its 95 % interval (of three
settings at once, in both directions: so it may reach beyond a ninth where `ab` is sure that the setting is not faster by that much); `?` stands where the time was over before it was sure.
A setting *changes nothing here* whose settings in force, as the engine tells them (`engine.effective`), are those of the defaults; it is no answer. The defaults read and write through the page cache, which has what the
engine's own cache leaves of the memory; with direct IO (`io=direct`) that would lie idle, so the engine's cache is larger then.

Known before: RocksDB's former defaults (an LRU cache with index and filter in it) read from a full cache at 239, 265 and 281 k/s with two threads, where
HyperClockCache and index and filter outside of the cache gave 508, 535 and 530; these are the defaults now.
"""
CONDITION = "rate > 11.1%"  # a side is faster when the defaults give less than nine tenths of its rate
COMMON = ["--threads", "2", "--until", "10%", "--fail-if", CONDITION]
QUESTIONS = {  # the workload and its cache, and the size of the database
    "cached reads": (["--workload", "point-read", "--cache-pct", "50"], ["--db-ratio", "0.2"]),
    "IO-bound reads": (["--workload", "point-read", "--cache-pct", "25"], ["--db-ratio", "1.5"]),
    "inserts": (["--workload", "insert", "--cache-pct", "10"], ["--db-ratio", "0.5"]),
}
RANDOM_ORDER = ["--key-order", "permuted"]
# Where the load is not what is measured, and is far larger than the cache, these engines load in the order of keys, as the published benchmarks load their tables. The
# others gather rows in memory; loaded in the order of keys, their files would not overlap, which no writing workload leaves so.
B_TREES = ("bf-tree", "btree", "innodb", "lmdb", "mdbx", "mmapv1", "mysql", "postgres", "sqlite", "wiredtiger")
# These engines sync at each commit, so that a load of single rows takes minutes, and measures the device alone. They commit many rows at once.
SYNCED_COMMITS = ("lmdb", "mdbx")
ROWS_TOGETHER = ["--rows-per-transaction", "1000"]
# An insert phase is a load, which has one rate: what is told of it needs many loads, so they are short. A B-tree's database is twice its cache, so that it evicts pages. The others
# write a database of which their write buffers hold a part.
INSERTS_OF_B_TREES = ["--db-ratio", "0.2"]
FEW_ROWS = ["--rows", "1000"]  # in place of the size: to see in a second or two what is refused
SIDES = "bcd"
MARKS = {"holds": ", **faster**", "does not hold": "", "cannot be told": ", ?"}  # what a cell shows of a verdict
NO_SETTINGS = ("cache_held_bytes",)  # what an engine tells beside its settings, and what differs without them
REASONS = {  # why a setting that is faster is no default, by engine and label
    ("rocksdb", "lz4"): "compression makes the database smaller, so that more of it fits into the memory (values here compress to half of their size). No engine compresses "
                        "by default, because engines are compared on the same bytes; `--compression` chooses otherwise.",
    ("rocksdb", "direct"): "RocksDB's own cache has 80 % of the memory then, and a miss reads the block alone. Through the page cache a miss reads all pages of 4096 bytes that the "
                           "block touches, which is not aligned to them. RocksDB's own default is to read through the page cache (`use_direct_reads`), and so is testbed's; "
                           "`--io direct --cache-pct most` chooses otherwise.",
    ("lmdb", "random"): "LMDB lets the kernel read ahead unless `MDB_NORDAHEAD` is set, which its documentation advises for databases larger than memory: with readahead, each page "
                        "that is missing costs the reading of its neighbours, which push other pages out. testbed keeps the library's default; the experiments that read a larger database by lmdb set "
                        "`--mmap-advice random`, and whoever compares it with engines that read single pages should.",
    ("btree", "images"): "the log may then grow by the size of the data file between two checkpoints, and a recovery has to read it, whereas the doublewrite file has a fixed size. "
                         "InnoDB protects its pages by doublewrite, too. `--engine-option torn_page=full_page_image` chooses otherwise; "
                         "[btree.md](btree.md) has the bytes that both write.",
    ("btree", "change-buffer-10"): "btree is the plain b-tree beside which the others are set. With a change buffer, rows wait in a second tree, which each look-up and scan asks, too, and which "
                                   "takes a tenth of the cache from the pages. `--engine-option change_buffer_pct=10` chooses otherwise.",
    ("mmapv1", "generation-2.4"): "they are two generations of the original. The later one, 2.6, asks by a system call (`mincore`) before it touches a record, so that no thread waits for the device "
                                  "with the lock held; a cached read pays for that call. Experiments choose the generation that was published: `--engine-option generation=2.4`.",
}
# The same, of any engine whose own reason is not above.
SHARED_REASONS = {
    "direct": "the engine's own cache has far more of the memory then. Through the page cache the memory is divided between two caches, and many pages are in both. Every engine reads "
              "through the page cache unless it is told otherwise, so that one command measures all alike; `--io direct --cache-pct most` chooses otherwise.",
}
COUNTED = {"failed": "failed", "refused": "refused", "no effect": "without effect", "not measured": "not measured"}


class CannotRun(Exception):
    """The engine is refused here, as when its library is not installed."""


class NoAnswer(Exception):
    """The defaults failed, or the comparison as a whole."""


@dataclasses.dataclass(frozen=True)
class Comparison:
    engine: str
    question: str
    ram: str
    usual: list  # words that the engine has in all of its settings
    group: list  # label and words of each setting

    def words(self, size=None):
        """Returns the words of `testbed ab`, but those of the sides."""
        workload, usual_size = QUESTIONS[self.question]
        b_tree = self.engine in B_TREES
        if self.question == "inserts" and b_tree:
            usual_size = INSERTS_OF_B_TREES
        in_order = self.question == "IO-bound reads" and b_tree
        common = COMMON if in_order else [*COMMON[:2], *RANDOM_ORDER, *COMMON[2:]]
        together = ROWS_TOGETHER if self.engine in SYNCED_COMMITS else []
        return ["--engine", self.engine, *workload, *(size or usual_size), "--ram", self.ram, *common, *together, *self.usual]

    def asked(self):
        """Returns what an outcome must have been asked with to be that of this comparison."""
        return {"engine": self.engine, "question": self.question, "ram": self.ram, "words": self.words(), "settings": [list(one) for one in self.group]}


def words_of(value):
    """Returns what a value of the axis changes, as words of a side."""
    words = [f"{name}={text}" for name, text in value.items() if name not in ("label", "engine", "engine-option")]
    return words + [f"engine-option={name}={text}" for name, text in value.get("engine-option", {}).items()]


def read_experiments():
    return [tomllib.loads(path.read_text(encoding="utf-8")) for path in EXPERIMENTS]


def usual_ram():
    """Returns the memory of the scale `small`, which is one for both experiments."""
    (ram,) = {experiment["scale"]["small"]["options"]["ram"] for experiment in read_experiments()}
    return ram


def settings_of_engines():
    """Returns, by engine, the settings of each experiment that has some of it, but the defaults: label and words of a side. Also returns, by
    engine, the options that it has in all of its settings, as --io mmap."""
    engines, usual = {}, {}
    for experiment in read_experiments():
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


def comparisons_of(options):
    """Returns, by engine, the comparisons that the experiments of today ask for."""
    engines, usual = settings_of_engines()
    ram = options.ram or usual_ram()
    return {engine: [Comparison(engine, question, ram, usual[engine], group) for question in options.questions or QUESTIONS for group in groups_of(engines[engine])]
            for engine in options.engines or engines}


def run_ab(options, words, settings):
    """Compares the defaults, side a, with the settings; returns the exit code of `testbed ab`, its document (None: it wrote none) and what it complained of."""
    words = [options.testbed, "ab", *words, "--a", ""]
    for side, (_, changes) in zip(SIDES, settings):
        words += [f"--{side}", " ".join(shlex.quote(change) for change in changes)]
    with tempfile.TemporaryDirectory(prefix="engine-defaults.", dir=options.dir) as directory:
        file = pathlib.Path(directory) / "comparison.json"
        result = subprocess.run([*words, "--quiet", "--json", str(file)], cwd=directory, capture_output=True, text=True, check=False)
        document = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    # 0, 3 and 125 are the answers of --fail-if; 125 is a side that failed, too, which its document says; 2 is a refusal.
    if result.returncode not in (0, 2, 3, 125):
        sys.exit(f"{shlex.join(words)}\nended with {result.returncode}: {result.stderr}")
    said = [line.removeprefix("testbed: ") for line in result.stderr.splitlines() if line.startswith("testbed: ")]
    return result.returncode, document, "; ".join(said) or result.stderr.strip()


def without_side(sentence):
    """Returns the sentence without the side that it is about, as its reader has the setting beside it."""
    return re.sub(r"^(side |--)[a-d]: ", "", sentence)


def failures_of(document, settings):
    """Returns the sentences of the settings that failed, by label. Throws NoAnswer where the defaults did, or no side alone."""
    labels = dict(zip(SIDES, (label for label, _ in settings)))
    failed = {}
    for error in document["errors"]:
        if error.get("side") not in labels:
            raise NoAnswer(("the defaults failed: " if error.get("side") == "a" else "") + error["sentence"])
        failed.setdefault(labels[error["side"]], {"outcome": "failed", "sentence": error["sentence"]})
    return failed


def ask_alone(options, comparison, changes):
    """Compares the defaults with one setting on few rows. Returns the document, and the setting's outcome, None when it works."""
    settings = [("setting", changes)]
    code, document, said = run_ab(options, [*comparison.words(FEW_ROWS), "--loads", "1", "--time", "1s"], settings)
    if document is None:
        return None, {"outcome": "refused" if code == 2 else "failed", "sentence": without_side(said)}
    return document, failures_of(document, settings).get("setting")


def ask_defaults(options, comparison):
    """Returns the document of the defaults beside themselves. Throws CannotRun when the engine is refused, and NoAnswer when it fails."""
    document, outcome = ask_alone(options, comparison, [])
    if outcome:
        raise (CannotRun if outcome["outcome"] == "refused" else NoAnswer)(outcome["sentence"])
    if "judgements" not in document:
        sys.exit(f"{options.testbed} is too old: the document of its `ab` does not say what it judged (`judgements`)")
    return document


def out_of_group(options, comparison, settings, said):
    """Returns the outcomes of the settings for which `testbed ab` refuses the group, each asked alone."""
    ask_defaults(options, comparison)
    found = {label: ask_alone(options, comparison, changes)[1] for label, changes in settings}
    found = {label: outcome for label, outcome in found.items() if outcome}
    if not found:
        raise NoAnswer(said)
    return found


def in_force(document, side):
    """Returns the settings that were in force on the side, by name: lists with the value of each load, without the directory of the side."""
    found = {}
    for run in document["runs"]:
        if run["side"] == side and run.get("engine"):
            for name, value in run["engine"]["effective"].items():
                if name not in NO_SETTINGS:
                    found.setdefault(name, []).append(re.sub(r"testbed-[0-9a-f]+\.tmp", "", value))
    return found


def changes_something(document, side):
    """Returns whether the side has other options of testbed than the defaults, or other settings of the engine in force. A value that differs from load
    to load says what a run did, and does not count."""
    options = {one["label"]: {name: value for name, value in one["options"].items() if name != "engine_options"} for one in document["sides"]}
    if options[side] != options["a"]:
        return True
    own, defaults = in_force(document, side), in_force(document, "a")
    if not own or not defaults:
        return True
    values = {name: (set(own.get(name, [])), set(defaults.get(name, []))) for name in own.keys() | defaults.keys()}
    return any(a != b for a, b in values.values() if len(a) <= 1 and len(b) <= 1)


def outcomes_of(document, settings):
    """Returns the outcomes of settings that were measured, by label. The verdict is what `ab` judged of CONDITION, which is what ended the comparison; the
    interval is corrected for both directions, and so may be wider."""
    answers = {answer["side"]: answer for answer in document["answers"] if answer["metric"] == "rate"}
    judged = {judgement["side"]: judgement["judgement"] for judgement in document["judgements"]}
    outcomes = {}
    for side, (label, _) in zip(SIDES, settings):
        answer = answers.get(side)
        if not changes_something(document, side):
            outcomes[label] = {"outcome": "no effect"}
        elif answer is None or None in (answer["low"], answer["high"]):
            outcomes[label] = {"outcome": "not measured", "sentence": document.get("time_too_short", "")}
        else:
            outcomes[label] = {"outcome": judged.get(side, "cannot be told"), **{name: answer[name] for name in ("effect", "low", "high")}}
    return outcomes


def compare(options, comparison):
    """Returns the outcomes of the comparison's settings, by label: measures all of them, and again without those that are refused or fail."""
    outcomes = {}
    while settings := [one for one in comparison.group if one[0] not in outcomes]:
        _, document, said = run_ab(options, [*comparison.words(), "--time", options.time], settings)
        if document is None:
            outcomes.update(out_of_group(options, comparison, settings, said))
        elif failed := failures_of(document, settings):
            outcomes.update(failed)
        else:
            outcomes.update(outcomes_of(document, settings))
    return outcomes


def measured_with(options, document):
    """Returns what an outcome was measured with, as far as it is not asked for: the program, and the release of the engine."""
    version = next((run["engine"]["version"] for run in document["runs"] if run["side"] == "a" and run.get("engine")), "")
    program = hashlib.sha256(pathlib.Path(options.testbed).read_bytes()).hexdigest()[:12]
    return {"testbed": document["testbed"], "program": program, "engine": version}


def read_results(options):
    if not options.results.exists():
        return []
    try:
        document = json.loads(options.results.read_text(encoding="utf-8"))
    except ValueError as why:
        sys.exit(f"{options.results} is no file of outcomes ({why}); give another one as --results")
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        sys.exit(f"{options.results} is not of the form {SCHEMA}; a former form does not say what its answers were asked with: remove it, and measure again")
    return document["comparisons"]


def add_result(options, results, result):
    """Adds the result in the place of those that have one of its settings."""
    def key(one):
        return one["asked"]["engine"], one["asked"]["question"]

    superseded = [one for one in results if key(one) == key(result) and one["outcomes"].keys() & result["outcomes"].keys()]
    results[:] = [one for one in results if one not in superseded] + [result]
    partial = options.results.with_suffix(".partial")
    partial.write_text(f'{{"schema": "{SCHEMA}", "comparisons": [\n' + ",\n".join(json.dumps(one) for one in results) + "\n]}\n", encoding="utf-8")
    partial.replace(options.results)


def stands(options, result, comparison, program):
    """Returns whether the result is the comparison's, and was measured with this program and release. With another --time it stands
    unless a time that was too short left a setting unmeasured."""
    unmeasured = any(outcome["outcome"] == "not measured" for outcome in result["outcomes"].values())
    if result["asked"] != comparison.asked() or (unmeasured and result["time"] != options.time):
        return False
    compared = ("engine",) if options.any_program else program.keys()
    return all(result["measured_with"][name] == program[name] for name in compared)


def measure_engine(options, comparisons, results, say):
    """Returns whether each comparison has an answer."""
    defaults = ask_defaults(options, comparisons[0])
    program = measured_with(options, defaults)
    machine = {name: defaults["machine"].get(name) for name in ("cpu_model", "cpus", "kernel")}
    all_there = True
    for comparison in comparisons:
        if any(stands(options, one, comparison, program) for one in results):
            say(comparison, "is there already")
            continue
        started, begin = datetime.datetime.now(datetime.timezone.utc), time.monotonic()
        try:
            outcomes = compare(options, comparison)
        except NoAnswer as why:
            say(comparison, f"({', '.join(label for label, _ in comparison.group)}) has no answer, and nothing is stored: {why}")
            all_there = False
            continue
        seconds = round(time.monotonic() - begin)
        add_result(options, results, {"asked": comparison.asked(), "measured_with": program, "machine": machine, "started": f"{started:%Y-%m-%dT%H:%M:%SZ}",
                                      "seconds": seconds, "time": options.time, "outcomes": outcomes})
        say(comparison, f"in {seconds} s: " + "; ".join(f"{label} {text_of(outcome)}" for label, outcome in outcomes.items()))
    return all_there


def measure(options):
    """Returns whether each engine could be measured, and each comparison has an answer."""
    results = read_results(options)
    engines = comparisons_of(options)
    total = sum(len(comparisons) for comparisons in engines.values())
    before, all_there = 0, True
    for engine, comparisons in engines.items():
        def say(comparison, text, first=before, of_engine=comparisons):
            print(f"{first + of_engine.index(comparison) + 1} of {total} comparisons: {comparison.engine}, {comparison.question}, {text}", flush=True)

        try:
            all_there &= measure_engine(options, comparisons, results, say)
        except CannotRun as why:
            print(f"{engine} is left out: {why}", flush=True)
            all_there = False
        except NoAnswer as why:
            print(f"{engine} has no answer: {why}", flush=True)
            all_there = False
        before += len(comparisons)
    return all_there


def text_of(outcome):
    """Returns an outcome as a cell has it: "+3.1 % (+1.0 to +5.2)"."""
    kind = outcome["outcome"]
    if kind in MARKS:
        effect, low, high = (100 * (outcome[name] - 1) for name in ("effect", "low", "high"))
        return f"{effect:+.1f} % ({low:+.1f} to {high:+.1f})" + MARKS[kind]
    if kind == "no effect":
        return "changes nothing here"
    sentence = outcome.get("sentence", "").replace("|", "\\|").replace("\n", " ")
    return f"{kind}: {sentence}" if sentence else kind


def headline(settings, outcomes):
    """Returns the sentences above the table of an engine: how many of its settings are faster by more than a ninth, are not, cannot be told, and have no answer for another reason."""
    asked = [(label, question) for of_file in settings for label, _ in of_file for question in QUESTIONS]
    kinds = [outcomes.get(one, {"outcome": "not measured"})["outcome"] for one in asked]
    faster = [f"{label} ({question})" for (label, question), kind in zip(asked, kinds) if kind == "holds"]
    told = f"{len(faster) + kinds.count('does not hold')} answers: in {kinds.count('does not hold')} the defaults give at least nine tenths of the setting's rate"
    told += f", in {len(faster)} the setting is faster by more than a ninth: {', '.join(faster)}." if faster else ", in none the setting is faster by more than a ninth."
    if unknown := kinds.count("cannot be told"):
        told += f" {unknown} cannot be told (`?`)."
    rest = [f"{kinds.count(kind)} {text}" for kind, text in COUNTED.items() if kind in kinds]
    return f"Of {len(asked)} questions, {told}" + (f" {', '.join(rest)}." if rest else "")


def current_results(options):
    """Returns the results of the comparisons of today, whichever program measured them."""
    asked = [comparison.asked() for comparisons in comparisons_of(options).values() for comparison in comparisons]
    return [one for one in read_results(options) if one["asked"] in asked]


def print_markdown(options):
    engines, _ = settings_of_engines()
    results = current_results(options)
    print(INTRO)
    machines = sorted({f"{d['machine']['cpu_model'] or 'unknown processor'}, {d['machine']['cpus'] or '?'} processors, Linux {d['machine']['kernel'] or '?'}" for d in results})
    days = sorted(one["started"][:10] for one in results)
    if days:
        programs = ", ".join(sorted({f"{one['measured_with']['testbed']} ({one['measured_with']['program']})" for one in results}))
        print(f"Measured {days[0]} to {days[-1]} with --ram {results[0]['asked']['ram']} and two threads on: {'; '.join(machines)}. "
              f"{len(results)} comparisons, by testbed {programs}.")
    for engine in options.engines or engines:
        of_engine = [one for one in results if one["asked"]["engine"] == engine]
        outcomes = {(label, one["asked"]["question"]): outcome for one in of_engine for label, outcome in one["outcomes"].items()}
        if not outcomes:
            print(f"\n## {engine}\n\nNot measured yet.")
            continue
        versions = ", ".join(sorted({one["measured_with"]["engine"] for one in of_engine}))
        print(f"\n## {engine}\n\nRelease {versions}. {headline(engines[engine], outcomes)}\n")
        print("| setting | " + " | ".join(QUESTIONS) + " |\n|---|" + "---|" * len(QUESTIONS))
        for label, words in (setting for of_file in engines[engine] for setting in of_file):
            found = [outcomes.get((label, question), {"outcome": "not measured"}) for question in QUESTIONS]
            # What a longer time would measure is for the one who measures, who was told.
            cells = ["not measured" if outcome["outcome"] == "not measured" else text_of(outcome) for outcome in found]
            words = ", ".join(f"`{word.removeprefix('engine-option=')}`" for word in words)
            print(f"| {words} | " + " | ".join(cells) + " |")
        print_reasons(engine, [label for of_file in engines[engine] for label, _ in of_file], outcomes)


def print_reasons(engine, labels, outcomes):
    """Prints why the settings that are faster for sure are not the defaults."""
    for label in labels:
        questions = [question for question in QUESTIONS if outcomes.get((label, question), {}).get("outcome") == "holds"]
        if questions:
            reason = REASONS.get((engine, label)) or SHARED_REASONS.get(label, "no reason is known, so it should be the default.")
            print(f"\nWhy `{label}` is not the default, although {' and '.join(questions)} are faster: {reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    # The program runs in a directory of its own, so each path that it gets is absolute.
    parser.add_argument("--testbed", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--results", required=True, type=pathlib.Path, help="file of the outcomes, which are added to it")
    parser.add_argument("--dir", type=lambda path: pathlib.Path(path).resolve(), default=".", help="where the databases of a comparison are while it lasts [.]")
    parser.add_argument("--engines", nargs="+", help="only these")
    parser.add_argument("--questions", nargs="+", choices=list(QUESTIONS), help="only these")
    parser.add_argument("--ram", help="of each engine, to measure and to print [that of the experiments' scale small]")
    parser.add_argument("--time", default="6m", help="of one comparison at most [6m]")
    parser.add_argument("--any-program", action="store_true", help="let outcomes stand that another build of testbed measured")
    parser.add_argument("--markdown", action="store_true", help="print the tables of what was measured")
    options = parser.parse_args()
    known = settings_of_engines()[0]
    if unknown := set(options.engines or ()) - set(known):
        parser.error(f"--engines {', '.join(sorted(unknown))} has no settings; there are {', '.join(known)}")
    if options.markdown:
        print_markdown(options)
        return
    if options.testbed is None:
        parser.error("--testbed is needed, the program to measure with")
    for path, there in ((options.testbed, pathlib.Path(options.testbed).is_file()), (options.dir, options.dir.is_dir())):
        if not there:
            parser.error(f"{path} is not there")
    sys.exit(0 if measure(options) else 1)


if __name__ == "__main__":
    main()
