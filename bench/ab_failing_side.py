#!/usr/bin/env python3
"""Ends sides of `testbed ab` in every way that a side can end, and counts what is lost by it.

A side is killed at a random time, needs more memory than its --ram, or is stopped with the comparison by an interrupt; sides that must not be
compared are refused. Each is done --repeats times. The figures of the other side must be kept, nothing may be left behind, neither a file nor a
process, and the sentence must name the side and the reason. A refusal must come before anything is loaded.

Ends with 1 when anything is lost or left, with 2 when testbed cannot be run, else with 0. A machine that does not enforce --ram is named.

    bench/ab_failing_side.py --testbed build/release/testbed --repeats 10
"""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

READS = ["--engine", "btree", "--ram", "128M", "--threads", "1", "--workload", "point-read", "--slice", "0.1", "--warmup", "0"]
INSERTS = ["--engine", "btree", "--ram", "128M", "--rows", "20000", "--threads", "1", "--workload", "insert", "--account", "file"]
SAME = ["--a", "", "--b", ""]
ENDED, FAILED, REFUSED, STOPPED = 0, 1, 2, 130
SECONDS_TO_REFUSE = 5  # a load takes longer where a machine is that slow


def works(process):
    """Returns whether the process is alive. A zombie has ended."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(process):
    """Returns the processes of the sides."""
    try:
        found = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8").split()
    except OSError:
        return []
    return [int(pid) for pid in found if works(pid)]


def left_in(directory):
    """Returns the files in the directory, and the processes that work in it, for a sentence."""
    left = [f"the file {name}" for name in os.listdir(directory)]
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and os.readlink(process / "cwd") == str(directory):
                left.append(f"process {process.name}")
        except OSError:
            continue  # it has ended, or is another user's
    return left


class Run:
    """One comparison, in a directory of its own."""

    def __init__(self, testbed, words, directory):
        self.directory = pathlib.Path(directory).resolve()
        self.document = None
        self.began = time.monotonic()
        self.results = tempfile.TemporaryDirectory()
        command = [testbed, "ab", *words, "--quiet", "--json", f"{self.results.name}/ab.json"]
        try:
            self.process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        except OSError as error:
            print(f"{testbed} cannot be run: {error}", file=sys.stderr)
            sys.exit(2)

    def sides(self, number):
        """Waits until `number` sides work, and returns their processes."""
        while self.process.poll() is None:
            found = children(self.process.pid)
            if len(found) >= number:
                return found
            time.sleep(0.01)
        return []

    def end(self):
        """Waits for the end. Returns the exit code, and what is amiss with what was left."""
        self.errors = self.process.communicate()[1]
        self.seconds = time.monotonic() - self.began
        file = pathlib.Path(self.results.name) / "ab.json"
        if file.exists():
            self.document = json.loads(file.read_text(encoding="utf-8"))
        self.results.cleanup()
        return self.process.returncode, [f"{what} is left" for what in left_in(self.directory)]


def failed_alone(run, code, reason):
    """Returns what is amiss with a comparison of which one side failed."""
    if run.document is None or code != FAILED:
        return [f"exit code {code}: {run.errors.strip()}"]
    errors = run.document["errors"]
    if len(errors) != 1 or "side" not in errors[0]:
        return [f"errors {errors}"]
    side, sentence = errors[0]["side"], errors[0]["sentence"]
    amiss = [] if reason in sentence else [f"'{sentence}' does not say {reason}"]
    if f"side {side} failed" not in run.errors:
        amiss.append(f"standard error does not name side {side}")
    if not any(sample["side"] != side for sample in run.document["samples"]):
        amiss.append("no figure of the other side is kept")
    return amiss


def killed(options, words, number, directory, rng):
    run = Run(options.testbed, [*SAME, *words], directory)
    run.sides(number)
    time.sleep(rng.uniform(0, options.wait))
    sides = run.sides(number)
    by, reason = rng.choice([(signal.SIGKILL, "signal 9"), (signal.SIGSEGV, "signal 11"), (signal.SIGTERM, "signal")])
    if sides:
        os.kill(rng.choice(sides), by)
    code, left = run.end()
    return failed_alone(run, code, reason) + left


def out_of_memory(options, directory, _):
    run = Run(options.testbed, ["--a", "", "--b", "ram=32M cache-size=31M", *READS, "--rows", "200000", "--time", "4s", "--loads", "1"], directory)
    code, left = run.end()
    if code == ENDED and run.document is not None and run.document.get("not_in_force"):
        return None
    return failed_alone(run, code, "--ram 32M") + left


def stopped(options, directory, rng):
    run = Run(options.testbed, [*SAME, *READS, "--rows", "20000", "--time", "60s", "--until", "0.001%"], directory)
    run.sides(2)
    time.sleep(rng.uniform(0, 2 * options.wait))
    run.process.send_signal(signal.SIGINT)
    code, left = run.end()
    if code != STOPPED or run.document is None or not run.document["partial"]:
        return [f"exit code {code}: {run.errors.strip()}", *left]
    return left


def refused(options, word, directory, _):
    run = Run(options.testbed, ["--a", "", "--b", word, *READS, "--rows", "20000"], directory)
    code, left = run.end()
    amiss = [] if code == REFUSED and "cannot be compared" in run.errors else [f"exit code {code}: {run.errors.strip()}"]
    if run.seconds > SECONDS_TO_REFUSE:
        amiss.append(f"refused after {run.seconds:.1f} s")
    return amiss + left


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--testbed", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the times at which sides are killed")
    parser.add_argument("--wait", type=float, default=1, help="seconds after which a side is killed, at most")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats {options.repeats} is not accepted; give 1 or more")
    if not 0 <= options.wait < 5:
        parser.error(f"--wait {options.wait:g} is not accepted; give seconds from 0 to 5")
    rng = random.Random(options.seed)
    cases = {
        "killed, in slices": lambda *rest: killed(options, [*READS, "--rows", "20000", "--time", "6s", "--loads", "1"], 2, *rest),
        "killed, in rounds": lambda *rest: killed(options, [*INSERTS, "--time", "60s", "--until", "0.001%"], 1, *rest),
        "out of memory": lambda *rest: out_of_memory(options, *rest),
        "stopped": lambda *rest: stopped(options, *rest),
        "other rows": lambda *rest: refused(options, "rows=7", *rest),
        "other keys": lambda *rest: refused(options, "key-size=20", *rest),
    }
    whole = True
    print(f"{'case':20} {'times':>5} {'as it must be':>13}")
    for name, run in cases.items():
        answers = []
        for _ in range(options.repeats):
            with tempfile.TemporaryDirectory(dir=".", prefix="ab-failing-side-") as directory:
                answers.append(run(directory, rng))
        wrong = [amiss for amiss in answers if amiss]
        skipped = answers.count(None)
        print(f"{name:20} {len(answers):5} {len(answers) - len(wrong) - skipped:13}" + (f"   {skipped} without --ram in force" if skipped else ""), flush=True)
        for amiss in wrong:
            print(f"    {'; '.join(amiss)}", flush=True)
        whole = whole and not wrong
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
