#!/usr/bin/env python3
"""Tests that bench/engine_defaults.py has settings of every engine, that each changes something, and that the options which all engines have
alike are among them. A stand-in for testbed, which answers as it is told, shows what is asked of it and what the tables say of the answers.

Usage: engine_defaults_test.py DIRECTORY     (DIRECTORY is made)
"""
import importlib.util
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = SOURCE / "bench/engine_defaults.py"
DIRECTORY = pathlib.Path(sys.argv.pop(1)).resolve()

# The stand-in for testbed writes down its words. It finds side c faster for sure by a fifth and the others as fast as a within a hundredth, and is not sure of d. The file
# "behaviour" beside it says, by words of a setting ("" of the defaults), which it refuses, which fail and which change nothing, its engine's release, whether it is old, and whether the time is too short.
STAND_IN = """#!PYTHON -IS
import json, os, sys
words = sys.argv[1:]
here = os.path.dirname(__file__)
behaviour = {"refused": [], "failing": [], "idle": [], "release": "1.0", "old": False, "too_short": False, **json.load(open(f"{here}/behaviour"))}
with open(f"{here}/asked", "a") as asked:
    asked.write(json.dumps(words) + "\\n")
if words[words.index("--engine") + 1] == "pebble":
    print("testbed: side b: pebble needs its library", file=sys.stderr)
    sys.exit(2)
texts = {word[2:]: words[i + 1] for i, word in enumerate(words) if word in ("--a", "--b", "--c", "--d")}
for side, text in texts.items():
    if text in behaviour["refused"]:
        print(f"testbed: side {side}: this is | refused", file=sys.stderr)
        sys.exit(2)
sides = [side for side in texts if side != "a"]
answers = [{"metric": "rate", "side": side, "effect": 1.2 if side == "c" else 1.0, "low": 1.15 if side == "c" else 0.99,
            "high": 1.25 if side == "c" else 1.01} for side in sides]
judgements = [{"side": side, "condition": "rate > 11.1 %", "judgement": {"c": "holds", "d": "cannot be told"}.get(side, "does not hold")} for side in sides]
def run(side, load):
    own = "" if texts[side] in behaviour["idle"] else texts[side]
    effective = {"setting": own, "path": f"/x/testbed-{ord(side):016x}.tmp/db", "seen": os.urandom(8).hex(), "cache_held_bytes": str(ord(side))}
    return {"side": side, "load": load, "engine": {"name": "e", "version": behaviour["release"], "effective": effective}}
def options(side):
    return {"io": "direct" if "io=direct" in texts[side] else "buffered", "engine_options": {"all": texts[side]}}
failing = [] if "--rows" in words else [side for side in texts if texts[side] in behaviour["failing"]]
document = {"testbed": "0.1.0", "started": "2026-11-27T20:00:00Z", "machine": {"cpu_model": "a processor", "cpus": "2", "kernel": "6.1"}, "answers": answers,
            "judgements": judgements, "runs": [run(side, load) for side in texts for load in (0, 1)],
            "sides": [{"label": side, "options": options(side)} for side in texts],
            "errors": [{"side": side, "sentence": "killed: give more --ram", "exit_code": 1} for side in failing]}
if behaviour["old"]:
    del document["judgements"]
if behaviour["too_short"]:
    document["time_too_short"] = "an answer needs 3 loads; give --time 45s or more"
    for answer in answers:
        answer.update(low=None, high=None)
with open(words[words.index("--json") + 1], "w") as out:
    json.dump(document, out)
sys.exit(125 if failing else 3)
"""


def program():
    spec = importlib.util.spec_from_file_location("engine_defaults", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class EngineDefaultsTest(unittest.TestCase):
    def setUp(self):
        DIRECTORY.mkdir(parents=True, exist_ok=True)
        self.room = tempfile.TemporaryDirectory(dir=DIRECTORY)
        self.here = pathlib.Path(self.room.name)
        self.addCleanup(self.room.cleanup)

    def run_program(self, *words, code=0, **how):
        result = subprocess.run([sys.executable, PROGRAM, "--results", self.here / "results.json", *words], capture_output=True, text=True, check=False, **how)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + (result.stderr if code else "")

    def stand_in(self, **behaviour):
        file = self.here / "testbed"
        file.write_text(STAND_IN.replace("PYTHON", sys.executable), encoding="utf-8")
        file.chmod(0o700)
        self.behave(**behaviour)
        return file

    def behave(self, **behaviour):
        (self.here / "behaviour").write_text(json.dumps(behaviour), encoding="utf-8")

    def asked(self):
        """Returns the comparisons that the stand-in was asked for, but those of few rows, and forgets them."""
        file = self.here / "asked"
        asked = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        file.unlink()
        return [words for words in asked if "--rows" not in words]

    def results(self):
        return json.loads((self.here / "results.json").read_text(encoding="utf-8"))["comparisons"]

    def outcomes(self, question):
        return {label: outcome for one in self.results() if one["asked"]["question"] == question for label, outcome in one["outcomes"].items()}

    def measure(self, *words, code=0, engine="lmdb"):
        return self.run_program("--testbed", self.here / "testbed", "--dir", self.here, "--engines", engine, *words, code=code)

    def test_every_engine_has_settings_and_each_changes_something(self):
        known = set()
        for file in SOURCE.glob("engines/*/CMakeLists.txt"):
            known.update(name.replace("_", "-") for name in re.findall(r"testbed_engine\w*\((\w+)", file.read_text(encoding="utf-8")))
        engines, _ = program().settings_of_engines()
        # null does nothing, and log reads nothing.
        self.assertEqual(known - {"null", "log"}, set(engines))
        for engine, settings in engines.items():
            changes = [tuple(sorted(words)) for of_file in settings for _, words in of_file]
            self.assertEqual(len(changes), len(set(changes)), engine)
            labels = [label for of_file in settings for label, _ in of_file]
            self.assertEqual(len(labels), len(set(labels)), engine)
            self.assertGreaterEqual(len(changes), 5, engine)
            self.assertNotIn((), changes, engine)

    def test_what_their_developers_chose_where_all_are_alike_is_among_them(self):
        engines, _ = program().settings_of_engines()
        for engine, own in {"rocksdb": "4k", "wiredtiger": "32k", "innodb": "16k", "mysql": "16k", "sqlite": "4k", "mdbx": "4k", "pebble": "4k"}.items():
            words = [word for of_file in engines[engine] for _, words in of_file for word in words]
            self.assertIn(f"page-size={own}", words, engine)
        for engine, advice in {"rocksdb": "file-advice=random", "pebble": "file-advice=random", "lmdb": "mmap-advice=random"}.items():
            words = [word for of_file in engines[engine] for _, words in of_file for word in words]
            self.assertIn(advice, words, engine)
        for engine in ("rocksdb", "wiredtiger", "innodb", "mysql", "btree", "fractal"):
            direct = [words for of_file in engines[engine] for _, words in of_file if "io=direct" in words]
            self.assertEqual(len(direct), 1, engine)
            # What the cache does not take lies idle with direct IO.
            share = dict(word.split("=") for word in direct[0])["cache-pct"]
            self.assertGreater(float(share), 50, engine)

    def test_no_setting_is_a_default(self):
        engines, _ = program().settings_of_engines()
        for engine, default in {"btree": "log_io=buffered", "fractal": "merge_reads=off"}.items():
            words = [word for of_file in engines[engine] for _, words in of_file for word in words]
            self.assertNotIn(f"engine-option={default}", words, engine)
        # WiredTiger takes at most 2 % of the cache, whose smallest share is a quarter of 256M.
        sizes = [word for of_file in engines["wiredtiger"] for _, words in of_file for word in words if "memory_page_max" in word]
        self.assertEqual(sizes, ["engine-option=memory_page_max=512k"])

    def test_inserts_are_short_loads_larger_than_the_cache(self):
        module = program()
        for engine, size in {"btree": "0.2", "lmdb": "0.2", "rocksdb": "0.5", "fractal": "0.5"}.items():
            words = module.Comparison(engine, "inserts", "256M", [], []).words()
            self.assertEqual(words.count("--db-ratio"), 1)
            self.assertEqual(words[words.index("--db-ratio") + 1], size, engine)
            self.assertGreater(float(size), float(words[words.index("--cache-pct") + 1]) / 100, engine)

    def test_groups_of_one_experiment_do_not_depend_on_another(self):
        module = program()
        settings = [[(str(i), ["x"]) for i in range(4)], [(str(i), ["y"]) for i in range(4, 6)]]
        self.assertEqual([[label for label, _ in group] for group in module.groups_of(settings)], [["0", "1", "2"], ["3"], ["4", "5"]])

    def test_the_memory_is_that_of_small_and_the_tables_say_what_was_told(self):
        stand_in = self.stand_in()
        self.run_program("--testbed", stand_in, "--dir", self.here, "--engines", "mysql", "sqlite")
        asked = self.asked()
        for words in asked:
            self.assertEqual(words[words.index("--ram") + 1], "256M")
            inserts = words[words.index("--workload") + 1] == "insert"
            self.assertIn(words[words.index("--db-ratio") + 1], ("0.2",) if inserts else ("0.2", "1.5"))
        sides = [shlex.split(words[i + 1]) for words in asked for i, word in enumerate(words) if word in ("--b", "--c", "--d")]
        self.assertIn(["page-size=16k"], sides)
        self.assertIn(["engine-option=server_option=innodb_adaptive_hash_index=1"], sides)
        self.assertIn(["io=mmap"], sides)
        page = self.run_program("--markdown")
        self.assertIn(" with --ram 256M and two threads on: a processor, 2 processors, Linux 6.1. 21 comparisons, by testbed 0.1.0 (", page)
        of_sqlite = page[page.index("## sqlite"):]
        self.assertIn("Release 1.0. Of 21 questions, 15 answers: in 9 the defaults give at least nine tenths of the setting's rate, "
                      "in 6 the setting is faster by more than a ninth: checkpoint-4m (cached reads)", of_sqlite)
        self.assertIn("6 cannot be told (`?`).", of_sqlite)
        self.assertIn("| +20.0 % (+15.0 to +25.0), **faster** |", of_sqlite)
        self.assertIn("| +0.0 % (-1.0 to +1.0), ? |", of_sqlite)
        self.assertIn("| `table=rowid` | +0.0 % (-1.0 to +1.0) |", of_sqlite)
        self.assertIn("| `page-size=16k` |", of_sqlite)
        self.assertIn("\n\nWhy `checkpoint-4m` is not the default, although cached reads and IO-bound reads and inserts are faster: no reason is known", of_sqlite)
        self.assertNotIn("Why `rowid`", of_sqlite)
        self.assertIn("## postgres\n\nNot measured yet.", page)
        self.run_program("--testbed", stand_in, "--dir", self.here, "--engines", "mysql", "sqlite")
        self.assertEqual(self.asked(), [], "what was measured is not measured again")

    def test_reasons_are_of_settings_that_there_are(self):
        module = program()
        engines, _ = module.settings_of_engines()
        for engine, label in module.REASONS:
            self.assertIn(label, [known for of_file in engines[engine] for known, _ in of_file])

    def test_an_engine_that_cannot_run_leaves_the_others_their_turn(self):
        said = self.run_program("--testbed", self.stand_in(), "--dir", self.here, "--engines", "pebble", "lmdb", code=1)
        self.assertIn("pebble is left out: pebble needs its library\n", said)
        self.assertRegex(said, r"27 of 27 comparisons: lmdb, inserts, in \d+ s: random \+0\.0 %")

    def test_defaults_that_fail_are_an_error_and_nothing_is_stored(self):
        self.stand_in(failing=[""])
        said = self.measure(code=1)
        self.assertIn("1 of 9 comparisons: lmdb, cached reads, (writemap, map-4g, map-64g) has no answer, and nothing is stored: the defaults failed: killed", said)
        self.assertFalse((self.here / "results.json").exists())

    def test_a_setting_that_fails_is_named_and_the_others_are_measured(self):
        self.stand_in(failing=["engine-option=map_size=4G"])
        self.measure("--questions", "inserts")
        outcomes = self.outcomes("inserts")
        self.assertEqual(outcomes["map-4g"], {"outcome": "failed", "sentence": "killed: give more --ram"})
        self.assertEqual(outcomes["writemap"]["outcome"], "does not hold")
        self.assertEqual(outcomes["map-64g"]["outcome"], "holds")  # it is side c without the other
        page = self.run_program("--markdown")
        self.assertIn("| failed: killed: give more --ram |", page)
        self.assertIn(" 1 failed, 12 not measured.", page)

    def test_a_setting_that_is_refused_is_named_and_the_others_are_measured(self):
        self.stand_in(refused=["engine-option=writemap=on", "mmap-advice=random"])
        self.measure("--questions", "inserts")
        outcomes = self.outcomes("inserts")
        self.assertEqual(outcomes["writemap"], {"outcome": "refused", "sentence": "this is | refused"})
        self.assertEqual(outcomes["map-4g"]["outcome"], "does not hold")
        self.assertEqual(outcomes["random"]["outcome"], "refused", "it is alone in its group")
        page = self.run_program("--markdown")
        self.assertIn("| refused: this is \\| refused |", page)
        self.assertIn(" 2 refused, 12 not measured.", page)

    def test_a_setting_that_changes_nothing_is_no_answer(self):
        self.stand_in(idle=["engine-option=map_size=4G", "io=direct cache-pct=80"])
        self.measure()
        self.assertEqual(self.outcomes("inserts")["map-4g"], {"outcome": "no effect"})
        page = self.run_program("--markdown")
        self.assertIn("| `map_size=4G` | changes nothing here | changes nothing here | changes nothing here |", page)
        self.assertIn(" 3 without effect.", page)
        # An option of testbed itself is in force, whether the engine tells of it or not.
        self.measure(engine="btree")
        self.assertEqual(self.outcomes("inserts")["direct"]["outcome"], "does not hold")

    def test_what_was_asked_with_something_else_is_asked_again(self):
        self.stand_in()
        self.measure()
        self.assertEqual(len(self.asked()), 9)
        self.measure("--time", "1m")
        self.assertEqual(self.asked(), [], "the time is no setting")
        self.behave(release="1.1")
        self.measure("--questions", "inserts")
        self.assertEqual(len(self.asked()), 3, "the engine is another release")
        self.assertEqual(len(self.results()), 9, "the former outcomes are replaced")
        with (self.here / "testbed").open("a", encoding="utf-8") as file:
            file.write("# another build\n")
        self.measure("--questions", "inserts", "--any-program")
        self.assertEqual(self.asked(), [])
        self.measure("--questions", "inserts")
        self.assertEqual(len(self.asked()), 3, "the program is another")
        self.measure("--ram", "1G", "--questions", "inserts")
        self.assertEqual(len(self.asked()), 3, "the memory is another")
        self.assertEqual(len(self.results()), 9)
        self.assertIn("6 comparisons, by testbed", self.run_program("--markdown"))
        self.assertIn("3 comparisons, by testbed", self.run_program("--markdown", "--ram", "1G"))

    def test_what_the_time_was_too_short_for_is_asked_again_with_another(self):
        self.stand_in(too_short=True)
        said = self.measure("--questions", "inserts")
        self.assertIn("map-4g not measured: an answer needs 3 loads; give --time 45s or more", said)
        self.assertIn(" 18 not measured.", self.run_program("--markdown"))
        self.asked()
        self.behave()
        self.measure("--questions", "inserts")
        self.assertEqual(self.asked(), [])
        self.measure("--questions", "inserts", "--time", "20m")
        self.assertEqual(len(self.asked()), 3)

    def test_a_program_that_does_not_say_what_it_judged_is_refused_at_once(self):
        self.stand_in(old=True)
        self.assertIn("is too old", self.measure(code=1))
        self.assertEqual(self.asked(), [])

    def test_outcomes_of_former_settings_are_not_printed_and_give_way(self):
        self.stand_in()
        self.measure("--questions", "inserts")
        text = (self.here / "results.json").read_text(encoding="utf-8").replace("map_size=4G", "map_size=5G")
        (self.here / "results.json").write_text(text, encoding="utf-8")
        self.assertIn("2 comparisons, by testbed", self.run_program("--markdown"))
        self.asked()
        self.measure("--questions", "inserts")
        self.assertEqual(len(self.asked()), 1)
        self.assertNotIn("map_size=5G", (self.here / "results.json").read_text(encoding="utf-8"))
        self.assertIn("3 comparisons, by testbed", self.run_program("--markdown"))

    def test_a_file_of_the_former_form_is_refused_with_a_sentence(self):
        (self.here / "results.json").write_text('[\n{"engine": "lmdb", "settings": []}\n]\n', encoding="utf-8")
        self.stand_in()
        for words in (["--markdown"], ["--testbed", self.here / "testbed", "--dir", self.here]):
            said = self.run_program(*words, code=1)
            self.assertEqual(len(said.splitlines()), 1, said)
            self.assertIn("a former form does not say what its answers were asked with: remove it, and measure again", said)

    def test_the_directory_may_be_left_out_or_relative(self):
        self.stand_in()
        (self.here / "below").mkdir()
        self.run_program("--testbed", "testbed", "--engines", "lmdb", "--questions", "inserts", cwd=self.here)
        self.assertEqual(len(self.asked()), 3)
        self.run_program("--testbed", "testbed", "--engines", "lmdb", "--questions", "cached reads", "--dir", "below", cwd=self.here)
        for words in self.asked():
            self.assertTrue(words[words.index("--json") + 1].startswith(str(self.here / "below")), words)
        self.assertIn("nowhere is not there", self.run_program("--testbed", "testbed", "--dir", "nowhere", code=2, cwd=self.here))


if __name__ == "__main__":
    unittest.main()
