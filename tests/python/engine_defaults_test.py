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

# It writes down its words, and finds side c faster for sure by a fifth, the others as fast as a within a hundredth.
STAND_IN = """#!PYTHON -IS
import json, pathlib, sys
words = sys.argv[1:]
asked = pathlib.Path(__file__).with_name("asked")
asked.write_text((asked.read_text() if asked.exists() else "") + json.dumps(words) + "\\n")
if words[words.index("--engine") + 1] == "pebble":
    print("testbed: pebble needs its library", file=sys.stderr)
    sys.exit(2)
sides = [word[2:] for word in words if word in ("--b", "--c", "--d")]
answers = [{"metric": "rate", "side": side, "effect": 1.2 if side == "c" else 1.0, "low": 1.15 if side == "c" else 0.99,
            "high": 1.25 if side == "c" else 1.01} for side in sides]
document = {"started": "2026-11-27T20:00:00Z", "machine": {"cpu_model": "a processor", "cpus": "2", "kernel": "6.1"}, "answers": answers}
pathlib.Path(words[words.index("--json") + 1]).write_text(json.dumps(document))
sys.exit(3)
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

    def run_program(self, *words, code=0):
        result = subprocess.run([sys.executable, PROGRAM, "--results", self.here / "results.json", *words], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout

    def stand_in(self):
        file = self.here / "testbed"
        file.write_text(STAND_IN.replace("PYTHON", sys.executable), encoding="utf-8")
        file.chmod(0o700)
        return file

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

    def test_groups_of_one_experiment_do_not_depend_on_another(self):
        module = program()
        settings = [[(str(i), ["x"]) for i in range(4)], [(str(i), ["y"]) for i in range(4, 6)]]
        self.assertEqual([[label for label, _ in group] for group in module.groups_of(settings)], [["0", "1", "2"], ["3"], ["4", "5"]])

    def test_a_server_gets_more_memory_and_the_tables_say_what_was_told(self):
        stand_in = self.stand_in()
        self.run_program("--testbed", stand_in, "--dir", self.here, "--engines", "mysql", "sqlite")
        asked = [json.loads(line) for line in (self.here / "asked").read_text(encoding="utf-8").splitlines()]
        for words in asked:
            engine = words[words.index("--engine") + 1]
            self.assertEqual(words[words.index("--ram") + 1], "256M" if engine == "mysql" else "64M")
        sides = [shlex.split(words[i + 1]) for words in asked for i, word in enumerate(words) if word in ("--b", "--c", "--d")]
        self.assertIn(["page-size=16k"], sides)
        self.assertIn(["engine-option=server_option=innodb_adaptive_hash_index=1"], sides)
        self.assertIn(["io=mmap"], sides)
        page = self.run_program("--markdown")
        self.assertIn("Measured 2026-11-27 to 2026-11-27 with --ram 256M, 64M", page)
        of_sqlite = page[page.index("## sqlite"):]
        self.assertIn("Faster by more than a ninth: checkpoint-4m (cached reads)", of_sqlite)
        self.assertIn("| `table=rowid` | +0.0 % (-1.0 to +1.0) |", of_sqlite)
        self.assertIn("| `page-size=16k` |", of_sqlite)
        self.assertIn("## postgres\n\nNot measured yet.", page)
        before = len(asked)
        self.run_program("--testbed", stand_in, "--dir", self.here, "--engines", "mysql", "sqlite")
        self.assertEqual(len((self.here / "asked").read_text(encoding="utf-8").splitlines()), before, "what was measured is not measured again")

    def test_an_engine_that_cannot_run_leaves_the_others_their_turn(self):
        said = self.run_program("--testbed", self.stand_in(), "--dir", self.here, "--engines", "pebble", "lmdb", code=1)
        self.assertIn("pebble is left out: testbed: pebble needs its library\n", said)
        self.assertIn("lmdb, inserts: ", said)


if __name__ == "__main__":
    unittest.main()
