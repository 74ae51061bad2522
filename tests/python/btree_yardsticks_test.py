#!/usr/bin/env python3
"""Tests bench/btree_yardsticks.py with stand-ins for testbed and fio, whose figures are known: what it asks of both, and what it says.

Usage: btree_yardsticks_test.py DIRECTORY     (DIRECTORY is made)
"""
import contextlib
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import btree_yardsticks  # noqa: E402

# With these figures btree is just where it is to be.
ENOUGH = {"ratio": 1.5, "point-read": 100, "multi-get": 12.5, "block_reads": 1900, "block_read_bytes": 14400000,
          "btree point-read": 7, "wiredtiger point-read": 7, "btree update": 3, "wiredtiger update": 4}
WRITTEN = 3 * btree_yardsticks.PAGE  # written bytes of the file with the rows, whose rest is allocated ahead
FIO = {"fio version": "fio-3.33", "jobs": [{"read": {"iops": 1000, "bw_bytes": 8000000}}]}


class StandIn:
    """Takes the place of the programs: notes the words of each call, and answers with its figures."""

    def __init__(self, figures):
        self.figures, self.calls = figures, []

    def __call__(self, words, directory):
        words = [str(word) for word in words]
        self.calls.append(words)
        if words[0] == "fio":
            return "fio: a note\n" + json.dumps(FIO)
        document = self.compared() if words[1] == "ab" else self.measured(words, pathlib.Path(directory))
        (directory / words[words.index("--json") + 1]).write_text(json.dumps(document), encoding="utf-8")
        return ""

    def compared(self):
        return {"answers": [{"metric": name, **dict.fromkeys(("effect", "low", "high"), ratio)} for name, ratio in (("p99", 9), ("rate", self.figures["ratio"]))]}

    def measured(self, words, directory):
        workload = words[words.index("--workload") + 1]
        if workload == "insert":
            database = directory / words[words.index("--dir") + 1]
            database.mkdir()
            (database / "small").write_text("x", encoding="utf-8")
            (database / "data").write_bytes(b"x" * WRITTEN)
            os.truncate(database / "data", 4 * WRITTEN)
        engine = "wiredtiger" if "wiredtiger" in words else "btree"
        phase = {"kind": "measure", "seconds": 2, "rate": self.figures.get(f"{engine}'s rate of {workload}", self.figures.get(workload, 1)), "account": {"engine": self.figures},
                 "operations": [{"name": kind, "latency_us": {"p99": self.figures.get(f"{engine} {kind}", 1)}} for kind in ("point-read", "update", "scan")]}
        return {"runs": [{"phases": [{**phase, "kind": "warm-up", "rate": 0}, phase, {**phase, "kind": "settle", "rate": 0}]}]}


class YardsticksTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(dir=sys.argv[1])).resolve()
        self.addCleanup(shutil.rmtree, self.directory)
        self.program = self.directory / "testbed"
        self.program.write_text("", encoding="utf-8")

    def measure(self, only, figures=None, has_fio=True):
        """Returns the exit code and the words of the program, and the calls that it made."""
        stand_in, said = StandIn({**ENOUGH, **(figures or {})}), io.StringIO()
        words = ["--testbed", str(self.program), "--only", only, "--turns", "2", "--seconds", "4", "--directory", str(self.directory)]
        with mock.patch.object(btree_yardsticks, "run", stand_in), mock.patch.object(btree_yardsticks.shutil, "which", lambda _: "/fio" if has_fio else None), \
                contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                code = btree_yardsticks.main(words)
            except SystemExit as end:
                code = end.code
        return code, said.getvalue(), stand_in.calls

    def test_each_measure_tells_where_btree_is_and_where_it_is_not(self):
        behind = {"cached-reads": {"ratio": 1.49}, "cached-scans": {"ratio": 0.99}, "multi-get": {"multi-get": 12.4}, "device-reads": {"block_reads": 1890},
                  "device-scans": {"block_read_bytes": 14300000}, "tail": {"btree update": 5},
                  "sysbench-scans": {"wiredtiger's rate of oltp-read-only": 1.01}}
        self.assertEqual(set(behind), set(btree_yardsticks.MEASURES))
        for measure, figures in behind.items():
            code, said, _ = self.measure(measure)
            self.assertEqual(code, 0, measure + said)
            self.assertNotIn("NOT AS", said)
            code, said, _ = self.measure(measure, figures)
            self.assertEqual(code, 1, measure + said)
            self.assertIn("NOT AS IT IS TO BE", said)
        code, said, _ = self.measure("cached-scans", {"ratio": None})
        self.assertEqual(code, 1)
        self.assertIn("was not measured", said)

    def test_fio_reads_the_file_of_the_rows_as_the_engine_does(self):
        code, said, calls = self.measure("device-reads,device-scans")
        self.assertEqual(code, 0, said)
        self.assertEqual(sum("insert" in call for call in calls), 1, "one load serves both")
        fio = [call for call in calls if call[0] == "fio"]
        self.assertTrue(all(any(word.endswith("/device/data") for word in call) and "--bs=8192" in call and "--direct=1" in call for call in fio))
        self.assertEqual({word for call in fio for word in call if word.startswith("--size")}, {f"--size={WRITTEN}"})
        self.assertEqual([word for call in fio for word in call if word.startswith("--numjobs")], [f"--numjobs={clients}" for clients in (1, 1, 8, 8, 40, 40)])
        self.assertEqual([word for call in fio for word in call if word.startswith("--iodepth")], ["--iodepth=16"] * 2)
        self.assertTrue(all("direct" in call for call in calls if call[0] != "fio"))

    def test_scans_of_sysbench_are_those_of_all_engines_on_equal_terms(self):
        code, said, calls = self.measure("sysbench-scans")
        self.assertEqual(code, 0, said)
        runs = [call for call in calls if "oltp-read-only" in call]
        self.assertEqual(len(runs), 2 * 2 * 5, "two sizes, two turns, five engines")
        self.assertEqual(sum("sysbench-load" in call for call in calls), 2 * 5)
        for call in calls:
            mapped = call[call.index("--engine") + 1] == "lmdb"
            self.assertEqual(call[call.index("--io") + 1], "mmap" if mapped else "direct")
            self.assertEqual(call[call.index("--ram") + 1], "256M")
        self.assertEqual([call[call.index("--engine") + 1] for call in runs[:5]], ["btree", "lmdb", "wiredtiger", "rocksdb", "innodb"])
        self.assertTrue(all("point_selects=0" in call for call in runs))

    def test_without_fio_it_says_how_to_get_it(self):
        code, said, _ = self.measure("device-scans", has_fio=False)
        self.assertEqual(code, btree_yardsticks.SKIPPED)
        self.assertIn("apt install fio", said)
        self.assertEqual(self.measure("device-scans,multi-get", has_fio=False)[0], 0)

    def test_what_is_not_there_is_refused(self):
        code, said, calls = self.measure("scans")
        self.assertEqual((code, calls), (2, []))
        self.assertIn("is no measure; there are cached-reads", said)


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0]])
