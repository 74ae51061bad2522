#!/usr/bin/env python3
"""Tests that bench/ab_false_alarms.py, ab_power.py and ab_exact_counts.py end with 1 when their bound is missed, and with 0 when it is met. A stand-in
for testbed gives the answers that the test has set. Also tests that bench/ab_failing_side.py reports which figures are lost and which files are left,
and that bench/cluster_sweep.py reports a sweep that does not end.

Usage: ab_bounds_test.py DIRECTORY     (DIRECTORY is made)
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True  # beside the programs of bench/
SOURCE = pathlib.Path(__file__).resolve().parents[2]
DIRECTORY = pathlib.Path(sys.argv.pop(1)).resolve()

# The stand-in for testbed. Its answer to the n-th comparison is the n-th of its list, and the last answer serves all later comparisons. The comparison
# of equal sides that measures the time of an operation (seed 99) is not counted. An answer that ends with "late" comes after many loads, one that ends
# with "early" after a single one. A comparison with --fail-if ends with 125. Runs without ab have a rate that drifts, and ask for 0.1 % fewer blocks
# with a filter.
STAND_IN = """#!PYTHON -IS
import json, os, sys
here = os.path.dirname(__file__)
def count_of(name):
    if not os.path.exists(f"{here}/{name}"):
        return 0
    with open(f"{here}/{name}") as file:
        return int(file.read())
def write(path, text):
    with open(path, "w") as file:
        file.write(text)
n = count_of("asked")
with open(f"{here}/answers") as file:
    answers = json.load(file)
answer = answers[min(n, len(answers) - 1)]
if answer == "fails":
    sys.exit("it failed")
twice = [word for word in sys.argv if word.startswith("--") and word != "--engine-option" and sys.argv.count(word) > 1]
if twice:
    sys.exit(f"{twice[0]} is given twice")
if sys.argv[1] == "ab":
    word = lambda name: sys.argv[sys.argv.index(name) + 1]
    if word("--seed") != "99" or word("--a") != word("--b"):
        write(f"{here}/asked", str(n + 1))
    loads = 12 if answer.endswith(" late") else 1 if answer.endswith(" early") else 3
    answer = answer.removesuffix(" late").removesuffix(" early")
    effect = {"same": 1.001, "slower": 0.95, "faster": 1.05, "cannot be told": 1.01}[answer]
    rate = {"metric": "rate", "asked": True, "answer": answer, "a": 1000.0, "b": 1000.0 * effect,
            "effect": effect, "low": effect - 0.01, "high": effect + 0.01}
    asks = {"metric": "engine_asks", "asked": True, "answer": {"slower": "lower", "faster": "higher"}.get(answer, answer), "effect": effect}
    document = {"way": "interleave", "loads": loads, "seconds": 1.0, "answers": [rate, asks]}
else:
    n = count_of("runs")
    write(f"{here}/runs", str(n + 1))
    engine = {"block_requests": 1000000 if "bloom_bits=0" in sys.argv else 1000000 - FEWER}
    document = {"runs": [{"phases": [{"kind": "measure", "threads": 1, "rate": 1000.0 + DRIFT * n, "count": 1000000, "account": {"engine": engine}}]}]}
write(sys.argv[sys.argv.index("--json") + 1], json.dumps(document))
sys.exit(125 if "--fail-if" in sys.argv else 0)
"""


def module_of(script):
    """Imports a script of bench/ and returns it as a module."""
    spec = importlib.util.spec_from_file_location(pathlib.Path(script).stem, SOURCE / "bench" / script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class BoundsTest(unittest.TestCase):
    def run_bench(self, script, answers, *words, drift=20, fewer=1000):
        with tempfile.TemporaryDirectory(dir=DIRECTORY) as name:
            return self.run_bench_in(pathlib.Path(name), script, answers, *words, drift=drift, fewer=fewer)

    def run_bench_in(self, directory, script, answers, *words, drift=20, fewer=1000, build=1):
        (directory / "answers").write_text(json.dumps(answers), encoding="utf-8")
        program = directory / "testbed"
        text = STAND_IN.replace("PYTHON", sys.executable).replace("DRIFT", str(drift)).replace("FEWER", str(fewer))
        program.write_text(f"{text}# build {build}\n", encoding="utf-8")
        program.chmod(0o755)
        return subprocess.run([sys.executable, str(SOURCE / "bench" / script), "--testbed", str(program), *words], cwd=directory, check=False,
                              capture_output=True, text=True)

    def test_false_alarms(self):
        cases = [(["slower", "same"], 20, 0), (["slower", "faster", "same"], 20, 1), (["cannot be told"], 4, 0), (["fails"], 4, 2)]
        for answers, comparisons, code in cases:
            result = self.run_bench("ab_false_alarms.py", answers, "--comparisons", str(comparisons))
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
            self.assertEqual("the bound is missed" in result.stdout, code == 1)

    def test_comparisons_that_can_raise_no_alarm_are_not_counted(self):
        result = self.run_bench("ab_false_alarms.py", ["slower"] + ["cannot be told early"] * 14 + ["same"], "--comparisons", "20")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("1 false alarms in 6 comparisons", result.stdout)
        result = self.run_bench("ab_false_alarms.py", ["cannot be told early"], "--comparisons", "4")
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertIn("no comparison had 3 loads", result.stdout)

    def test_what_another_program_answered_is_asked_again(self):
        with tempfile.TemporaryDirectory(dir=DIRECTORY) as name:
            def code_of(answer, time, build):
                result = self.run_bench_in(pathlib.Path(name), "ab_false_alarms.py", [answer], "--comparisons", "4", "--time", time, build=build)
                return result.returncode

            self.assertEqual(code_of("same", "60", 1), 0)
            self.assertEqual(code_of("slower", "60", 1), 0, "it goes on where it was")
            self.assertEqual(code_of("slower", "60", 2), 1, "another program")
            self.assertEqual(code_of("same", "60", 2), 1, "it goes on where it was")
            self.assertEqual(code_of("same", "30", 2), 0, "another time")

    def power(self, answers, *words, drift=20):
        result = self.run_bench("ab_power.py", answers, "--work", "cached", *words, drift=drift)
        self.assertEqual("the bound is missed" in result.stdout, result.returncode == 1, result.stdout + result.stderr)
        return result.returncode

    def test_slowdowns_must_be_found_nine_times_in_ten(self):
        self.assertEqual(self.power(["same"] + ["slower"] * 9, "--slowdowns", "2"), 0)
        self.assertEqual(self.power(["same"] * 2 + ["slower"] * 8, "--slowdowns", "2"), 1)
        self.assertEqual(self.power(["fails"], "--slowdowns", "2"), 2)

    def test_each_way_can_be_run(self):
        for way in ("interleave", "duet", "rounds"):
            self.assertEqual(self.power(["slower"], "--slowdowns", "2", "--repeats", "1", "--ways", way), 0, way)

    def test_work_that_no_way_can_compare_is_left_out_and_told(self):
        result = self.run_bench("ab_power.py", ["slower"], "--work", "insert", "--slowdowns", "2", "--repeats", "1")
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertIn("insert: left out", result.stdout)
        self.assertIn("nothing was measured", result.stdout)
        result = self.run_bench("ab_power.py", ["slower"], "--work", "insert", "null", "--slowdowns", "2", "--repeats", "1")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("insert: left out", result.stdout)
        result = self.run_bench("ab_power.py", ["same"], "--work", "insert", "--ways", "rounds", "--slowdowns", "5", "--repeats", "1")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)

    def test_slowdowns_below_the_bound_are_only_shown(self):
        self.assertEqual(self.power(["same"], "--slowdowns", "1"), 0)

    def test_a_change_of_options_must_be_found_as_often_as_its_measured_slowdown_asks(self):
        # Two comparisons measure the change: the first tells in which direction, the second how large it is. Ten more then look for it.
        words = ("--work", "--changes", "bloom", "--repeats", "10")
        cases = [(["slower"], 0), (["slower"] * 2 + ["same"] * 2 + ["slower"] * 8, 1), (["slower"] * 2 + ["same"] + ["slower"] * 9, 0), (["faster"] * 2 + ["slower"], 0), (["faster"], 1),
                 (["same"], 0)]
        for answers, code in cases:
            result = self.run_bench("ab_power.py", answers, *words)
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)

    def test_the_ratio_must_be_five_times_more_exact(self):
        self.assertEqual(self.power(["same"], "--slowdowns", "--equal-time", "1", "--repeats", "2"), 0)
        self.assertEqual(self.power(["same"], "--slowdowns", "--equal-time", "1", "--repeats", "2", drift=0.1), 1)

    def plain_way(self, work, way):
        """Lets the plain way of comparing use 60 s of a simulated clock, on which each run takes 2 s. Returns the commands, the ratio and the seconds."""
        power = module_of("ab_power.py")
        commands = []

        def run(_options, words, _directory):
            commands.append(words)
            return {"runs": [{"phases": [{"kind": "load", "rate": 1000.0 + len(commands)}]}]}

        with unittest.mock.patch.object(power, "testbed", run), unittest.mock.patch.object(power.time, "monotonic", lambda: 2.0 * len(commands)):
            ratio, seconds = power.plain(None, work, way, 60, "")
        for words in commands:
            self.assertEqual(words[words.index("--added-delay") + 1], str(power.BASE))
        return commands, ratio, seconds

    def test_the_plain_way_has_the_time_the_delay_and_the_clients_of_the_other(self):
        cases = [("cached", "interleave", "1", 10), ("io", "interleave", "2", 10), ("io", "duet", "1", 10), ("insert", "rounds", "1", 30)]
        for work, way, threads, runs in cases:
            commands, ratio, seconds = self.plain_way(work, way)
            self.assertGreater(ratio, 0, "the runs become faster")
            self.assertEqual(len(commands), runs, work)
            self.assertEqual(seconds, 2 * runs, work)
            self.assertEqual({words[words.index("--threads") + 1] for words in commands}, {threads}, work)

    def test_fewer_blocks_must_be_found_within_five_loads(self):
        cases = [(["cannot be told"] + ["slower"] * 9, 0), (["same"] * 2 + ["slower"] * 8, 1), (["slower late"] * 2 + ["slower"] * 8, 1), (["faster"], 1)]
        for answers, code in cases:
            result = self.run_bench("ab_exact_counts.py", answers)
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
            self.assertEqual("the bound is missed" in result.stdout, code == 1)

    def test_a_failure_while_blocks_are_counted_is_no_missed_bound(self):
        self.assertEqual(self.run_bench("ab_exact_counts.py", ["fails"]).returncode, 2)

    def test_sides_that_do_not_differ_by_a_thousandth_show_nothing(self):
        for fewer in (0, 400, 3000):
            result = self.run_bench("ab_exact_counts.py", ["slower"], fewer=fewer)
            self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
            self.assertIn("the sides cannot show it", result.stdout)

    def test_numbers_of_which_no_figure_can_be_made_are_refused(self):
        for script, words in (
                ("ab_false_alarms.py", ["--comparisons", "0"]), ("ab_false_alarms.py", ["--time", "0"]), ("ab_power.py", ["--repeats", "0"]),
                ("ab_power.py", ["--slowdowns", "100"]), ("ab_power.py", ["--limit", "-1"]), ("ab_exact_counts.py", ["--repeats", "0"]), ("ab_exact_counts.py", ["--limit", "0"])):
            result = self.run_bench(script, ["same"], *words)
            self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
            self.assertIn(words[0], result.stderr.splitlines()[-1])
            self.assertNotIn("Traceback", result.stderr)


# A stand-in for `testbed ab` with two processes as its sides. The file "answers" says how it ends: correctly, without the figures of the other side, or
# with a file left behind.
SIDES = """#!PYTHON -IS
import json, os, pathlib, signal, subprocess, sys
does = json.loads((pathlib.Path(__file__).parent / "answers").read_text())
words = " ".join(sys.argv)
if "rows=7" in words or "key-size=20" in words:
    sys.exit(print("the sides cannot be compared", file=sys.stderr) or 2)
document = {"errors": [], "samples": [{"side": "b" if does == "loses" else "a"}], "partial": False}
sides = []
def end(code):
    for side in sides:
        side.kill()
        side.wait()
    if does == "leaves":
        pathlib.Path("left").touch()
    pathlib.Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(document))
    os._exit(code)
def stop(*_):
    document["partial"] = True
    end(130)
signal.signal(signal.SIGINT, stop)
why = "it needs more than --ram 32M"
if "ram=32M" not in words:
    sides = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
    os.wait()
    why = "it was ended by signal 9 or signal 11"
document["errors"] = [{"side": "b", "sentence": why}]
print("testbed: side b failed: " + why, file=sys.stderr, flush=True)
end(1)
"""


class FailingSideTest(unittest.TestCase):
    def amiss(self, does):
        """Returns the cases that end otherwise than they must."""
        with tempfile.TemporaryDirectory(dir=DIRECTORY) as name:
            directory = pathlib.Path(name)
            (directory / "answers").write_text(json.dumps(does), encoding="utf-8")
            program = directory / "testbed"
            program.write_text(SIDES.replace("PYTHON", sys.executable), encoding="utf-8")
            program.chmod(0o755)
            command = [sys.executable, str(SOURCE / "bench/ab_failing_side.py"), "--testbed", str(program), "--repeats", "1", "--wait", "0.01"]
            result = subprocess.run(command, cwd=directory, check=False, capture_output=True, text=True)
            self.assertEqual(sorted(path.name for path in directory.iterdir()), ["answers", "testbed"])
        rows = [line for line in result.stdout.splitlines()[1:] if not line.startswith("    ")]
        self.assertEqual(len(rows), 6, result.stdout + result.stderr)
        amiss = {row[:20].strip() for row in rows if row.split()[-1] != "1"}
        self.assertEqual(result.returncode, 1 if amiss else 0, result.stdout + result.stderr)
        return amiss

    def test_what_is_lost_or_left_is_counted(self):
        failed = {"killed, in slices", "killed, in rounds", "out of memory"}
        self.assertEqual(self.amiss("right"), set())
        self.assertEqual(self.amiss("loses"), failed)
        self.assertEqual(self.amiss("leaves"), failed | {"stopped"})


class SweepTest(unittest.TestCase):
    def sweep(self, *words):
        return subprocess.run([sys.executable, str(SOURCE / "bench/cluster_sweep.py"), *words], check=False, capture_output=True, text=True)

    def test_a_sweep_whose_hosts_all_die_is_never_done(self):
        result = self.sweep("--settings", "10", "--rounds", "1", "--hosts", "1", "--slow", "0", "--deaths", "100000", "--seeds", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = result.stdout.splitlines()[2:]
        self.assertEqual([" inf " in row for row in rows], [True] * 8, result.stdout)

    def test_no_hosts_are_refused(self):
        result = self.sweep("--hosts", "0")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--hosts 0 is not accepted", result.stderr)


if __name__ == "__main__":
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    unittest.main()
