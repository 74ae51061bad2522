#!/usr/bin/env python3
"""Tests bench/check_traces.py: what it computes with known answers, that it tells a program that does not do as it must, and a small run on the
real program.

Usage: traces_test.py TESTBED DIRECTORY     (DIRECTORY is made)
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "bench"))
import check_traces  # noqa: E402
from originals import trace_file  # noqa: E402

TESTBED = str(pathlib.Path(sys.argv[1]).resolve())


def operations(*starts_of_clients):
    return [trace_file.Operation("read", client, [], start) for client, starts in enumerate(starts_of_clients) for start in starts]


class FiguresTest(unittest.TestCase):
    def test_lateness_is_the_median_of_the_distances_of_each_client(self):
        recorded = operations([0, 10000, 20000], [5000, 6000])
        self.assertEqual(check_traces.middle_late_us(recorded, recorded), 0)
        self.assertEqual(check_traces.middle_late_us(recorded, operations([3000, 12000, 20000], [9000, 5000])), 2)
        # In the file the blocks of the clients may come in another order.
        self.assertEqual(check_traces.middle_late_us(recorded, list(reversed(operations([], [5000, 6000])))[::-1] + operations([0, 10000, 20000])), 0)
        with self.assertRaises(check_traces.Failed):
            check_traces.middle_late_us(recorded, operations([0, 10000, 20000], [5000]))

    def test_a_file_to_import_has_so_many_lines_and_as_many_seconds_as_it_says(self):
        count = 70000
        text = b"".join(check_traces.lines(count, 1)).decode().splitlines()
        self.assertEqual(len(text), count + 1)
        self.assertEqual(text[0].split(","), ["key", "operation", "value_size", "time", "client"])
        cells = [line.split(",") for line in text[1:]]
        self.assertEqual({len(line) for line in cells}, {5})
        self.assertEqual(int(cells[-1][3]) + 1, count // check_traces.LINES_OF_SECOND)
        self.assertTrue(all(operation == "get" or size == "100" for _, operation, size, _, _ in cells))
        self.assertGreater(len({line[4] for line in cells}), 1000)


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(dir=sys.argv[2])).resolve()
        self.addCleanup(shutil.rmtree, self.directory)

    def check(self, script):
        """Returns a check of a program that does what the script says."""
        program = self.directory / "program"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        return check_traces.Check(check_traces.parse(["--testbed", str(program)]), self.directory)

    def test_a_program_that_takes_too_much_memory_is_told(self):
        for size, holds in ((1, True), (250000000, False)):
            check = self.check(f"exec {sys.executable} -c 'x = b\"x\" * {size}'")
            check.memory("a program", [])
            self.assertEqual(check.rows[-1].holds, holds)

    def test_a_damaged_trace_that_is_not_refused_as_it_must_be_is_told(self):
        trace = self.directory / "a.trace"
        trace.write_bytes(b"x")
        refusals = {f"echo 'testbed: trace {trace}: is damaged: so' >&2; exit 2": True, "exit 0": False, f"echo 'testbed: trace {trace}: is damaged' >&2; exit 1": False,
                    "echo 'testbed: is damaged' >&2; exit 2": False, f"echo 'testbed: trace {trace}: is damaged' >&2; echo more >&2; exit 2": False,
                    f"mkdir -p refused; echo 'testbed: trace {trace}: is damaged' >&2; exit 2": False}
        for script, holds in refusals.items():
            check = self.check(script)
            check.refused(trace, "a trace", "is damaged")
            self.assertEqual([row.holds for row in check.rows], [holds] * 2, script)

    def test_a_replay_that_asks_for_other_blocks_is_told(self):
        check = self.check("exit 0")
        def phase(blocks, others=0):
            return {"account": {"engine": {"block_requests": blocks}}, "details": {"answers_other": others, "answers_unknown": 0}}
        for blocks, others, exactly, holds in ((1000, 0, True, [True, True]), (1001, 0, True, [False, True]), (1000, 1, True, [True, False]), (1009, 0, False, [True]), (1011, 0, False, [False])):
            check.rows = []
            check.compare("engine", "reads", phase(1000), phase(blocks, others), exactly)
            self.assertEqual([row.holds for row in check.rows], holds, (blocks, others, exactly))

    def test_blocks_that_an_engine_does_not_count_are_not_known(self):
        check = self.check("exit 0")
        phase = {"account": {"engine": {}}, "details": {"answers_other": 0, "answers_unknown": 0}}
        check.compare("engine", "reads", phase, phase, True)
        self.assertEqual([row.holds for row in check.rows], [None])
        self.assertTrue(check_traces.as_text(check.rows).endswith("not known"))
        self.assertEqual(check_traces.exit_code(check.rows), check_traces.SKIPPED)
        for holds, code in ((True, 0), (False, 1)):
            check.note("blocks", "another engine", "", "", holds)
            self.assertEqual(check_traces.exit_code(check.rows), code)

    def test_starts_are_those_of_the_trace(self):
        if shutil.which("zstd") is None:
            self.skipTest("there is no zstd (Debian: apt install zstd)")
        (self.directory / "a.csv").write_text("key,time,client\na,10,x\nb,10.5,y\nc,12,x\n", encoding="utf-8")
        subprocess.run([TESTBED, "trace", "import", "--format", "csv", "--clients", "1", "a.csv", "-o", "a.trace"], cwd=self.directory, check=True, capture_output=True)
        self.assertEqual([o.start_ns for o in trace_file.read(self.directory / "a.trace").operations], [0, 500000000, 2000000000])

    def test_the_program_does_as_it_must_with_a_short_trace(self):
        done = subprocess.run([sys.executable, SOURCE / "bench/check_traces.py", "--testbed", TESTBED, "--only", "long,damaged", "--operations", "20000", "--directory", self.directory],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(" holds"), 7 + 2 * 10)
        self.assertEqual(list(self.directory.iterdir()), [])


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0]])
