#!/usr/bin/env python3
"""Changes one line at a time in the accounting, log and recovery code, and says which changes no test notices.

rooms.toml names the files and their tests. In each file --each lines are drawn, and in each of them one change: another comparison, a
condition that is always true, a call that is left out (the rules of universalmutator, Groce et al., ICSE 2018). A change that does not
compile, or that compiles to the same code, is replaced by another one. The tests run until the first one fails; without a change none may
fail. The answers are kept in --results. A change has a "why" there when somebody has explained why no test needs to notice it. A change that has an answer is not tried
again.

    tests/mutants/mutants.py --tree ../mutated --results tests/mutants/results.json --each 10
    tests/mutants/mutants.py --tree ../mutated --results tests/mutants/results.json --again
    tests/mutants/mutants.py --results tests/mutants/results.json --markdown

--again tries the changes of --results once more and adds none; it skips a change whose line is no longer in its file. The exit code is 1
when a change is neither noticed by a test nor explained.

--tree is a checkout of its own, configured with tests in build/release: its files are changed and put back.
    cmake --preset release -DTESTBED_TESTS=ON -DTESTBED_BY_ROOM=OFF
Needs: pip install --no-deps -r tests/mutants/requirements.txt
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RULES = ["universal.rules", "c_like.rules", "cpp.rules"]
# Lines that are never changed, because no test could notice it: text for people, declarations, and what only the compiler reads.
LEFT_ALONE = [r"^\s*//", r"^#", r"^\s*\"", r"^(namespace|using|})", r"static_assert", r"\b(throw|Error\()", r"^\s*[})\]]+[;,]?\s*$", r"^\w.*\{$"]
SECONDS = 300  # the longest time of a test program, because a change may make it hang
INTRO = """# Changes that the tests notice

Would a test fail if the accounting, the log or recovery were wrong? `tests/mutants/mutants.py` changes one line of them at a time
(mutation testing; DeMillo, Lipton and Sayward, IEEE Computer 1978), runs the tests of that room and keeps the answer in `tests/mutants/results.json`.
A change is *noticed* when a test fails or hangs. Each of the others is explained below, or its test is missing.
"""


def changes_of(path):
    """Returns the possible changes of a file: for each line number a list of texts that may replace the line."""
    from universalmutator import mutator

    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):
        found = mutator.mutants_regexp(lines, ruleFiles=RULES, ignorePatterns=LEFT_ALONE, ignoreStringOnly=True)
    by_line = {}
    for number, changed, *_ in found:
        if "#" not in changed and changed.count("\n") == 1:  # others are for other languages, or add a line
            by_line.setdefault(number, []).append(changed)
    return lines, by_line


def suites_of(folder):
    """Returns a filter of googletest for the suites of a folder of tests/unit."""
    names = set()
    for file in sorted((ROOT / "tests/unit" / folder).rglob("*.cc")):
        names |= set(re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),", file.read_text(encoding="utf-8"), re.MULTILINE))
    return [pattern for name in sorted(names) for pattern in (f"{name}.*", f"*/{name}.*")]


class Tree:
    """A checkout whose files are changed, built and tested."""

    def __init__(self, path, jobs):
        self.path = path.resolve()
        self.build = self.path / "build/release"
        self.jobs = jobs
        if not (self.build / "build.ninja").exists():
            sys.exit(f"mutants: --tree {path} is not configured: cmake --preset release -DTESTBED_TESTS=ON -DTESTBED_BY_ROOM=OFF there")
        if self.run(["git", "status", "--porcelain", "--untracked-files=no"]).stdout.strip():
            sys.exit(f"mutants: --tree {path} has changes that are not committed; it must be a checkout of its own")

    def run(self, words, seconds=None):
        """Runs a command in a session of its own, and kills all processes of the session when the time is over."""
        with subprocess.Popen(words, cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              start_new_session=True) as process:
            try:
                out, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, _ = process.communicate()
                return subprocess.CompletedProcess(words, None, out)
        return subprocess.CompletedProcess(words, process.returncode, out)

    def object_of(self, file):
        """Returns ninja's name of the object file of a source file."""
        targets = self.run(["ninja", "-C", str(self.build), "-t", "query", str(self.path / file)]).stdout
        objects = [word for word in targets.split() if word.endswith(".o")]
        if not objects:
            sys.exit(f"mutants: nothing is compiled from {file} alone; configure --tree with -DTESTBED_BY_ROOM=OFF")
        return objects[0]

    def compile(self, target):
        """Returns the hash of an object file, or None when it does not compile."""
        if self.run(["ninja", "-C", str(self.build), target]).returncode != 0:
            return None
        return hashlib.sha256((self.build / target).read_bytes()).hexdigest()

    def has_tests(self, program, tests):
        """Returns whether a program has tests that the filter names."""
        words = [str(self.build / "tests" / program), "--gtest_list_tests", f"--gtest_filter={tests}-EveryWay/*"]
        return any(line.startswith("  ") for line in self.run(words).stdout.split("\n"))

    def first_failure(self, program, tests):
        """Returns the name of the first test that fails, or None."""
        done = self.run(["ninja", "-C", str(self.build), "-j", str(self.jobs), program])
        if done.returncode != 0:
            return "the link"
        chosen = f"{tests}-EveryWay/*"  # without the cases that take the nightly run's time (tests/every_way.h)
        words = [str(self.build / "tests" / program), f"--gtest_filter={chosen}", "--gtest_fail_fast", "--gtest_brief=1"]
        done = self.run(words, SECONDS)
        if done.returncode == 0:
            return None
        failed = re.search(r"\[  FAILED  \] ([\w/]+\.[\w/]+)", done.stdout)
        running = re.findall(r"\[ RUN      \] ([\w/.]+)", done.stdout)
        if failed:
            return failed.group(1)
        name = running[-1] if running else program
        return f"{name} (hangs)" if done.returncode is None else f"{name} (ends the program)"


def read_results(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def write_results(path, results):
    results.sort(key=lambda one: (one["file"], one["line"], one["after"]))
    partial = path.with_suffix(".partial")
    partial.write_text("[\n" + ",\n".join(json.dumps(one) for one in results) + "\n]\n", encoding="utf-8")
    partial.replace(path)


def stages_of(room):
    """Returns the stages of a room's tests: pairs of a program and a filter of googletest."""
    return [["testbed_unit_tests", ":".join(pattern for folder in room["unit"] for pattern in suites_of(folder))], *room["then"]]


def check_unchanged(tree, room):
    """Ends the program when a test of the room fails without a change, as it would notice every change, or when a filter names no test."""
    for program, tests in stages_of(room):
        if failed := tree.first_failure(program, tests):
            sys.exit(f"mutants: room {room['name']}: {failed} fails in the unchanged --tree, so it would notice every change")
    for program, tests in room["then"]:
        for pattern in tests.split(":"):
            if not tree.has_tests(program, pattern):
                sys.exit(f"mutants: room {room['name']}: {program} has no test {pattern}")


def ask(tree, room, file, number, lines, changed, target, original):
    """Tries one change and returns the answer; None when the changed file does not compile, or compiles to the same code."""
    path = tree.path / file
    path.write_text("".join(lines[:number - 1] + [changed] + lines[number:]), encoding="utf-8")
    if tree.compile(target) in (None, original):
        return None
    by = next(filter(None, (tree.first_failure(program, tests) for program, tests in stages_of(room))), None)
    return {"file": file, "line": number, "before": lines[number - 1].strip(), "after": changed.strip(), "noticed by": by}


def draw_changes(options, file, path, known):
    """Yields line numbers, each with changes of that line. The first of them that compiles to other code is to be tried."""
    lines, by_line = changes_of(path)
    draw = random.Random(f"{options.seed} {file}")
    numbers = list(by_line)
    draw.shuffle(numbers)
    for number in numbers:
        if all(one["before"] != lines[number - 1].strip() for one in known):
            draw.shuffle(by_line[number])
            yield number, by_line[number][:4]


def same_changes(path, known):
    """Yields the known changes, each with the present number of its line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for one in known:
        places = [number for number, line in enumerate(lines, 1) if line.strip() == one["before"]]
        if places:
            number = min(places, key=lambda place: abs(place - one["line"]))
            line = lines[number - 1]
            yield number, [line[:len(line) - len(line.lstrip())] + one["after"] + "\n"]


def change_file(options, tree, room, file, results):
    path = tree.path / file
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    target = tree.object_of(file)
    original = tree.compile(target)
    known = [one for one in results if one["file"] == file]
    left = len(known) if options.again else options.each - len(known)
    for number, choices in same_changes(path, known) if options.again else draw_changes(options, file, path, known):
        if left <= 0:
            break
        try:
            answer = next(filter(None, (ask(tree, room, file, number, lines, choice, target, original) for choice in choices)), None)
        finally:
            path.write_text(text, encoding="utf-8")
        if answer is None:
            continue
        left -= 1
        for one in [one for one in known if (one["before"], one["after"]) == (answer["before"], answer["after"])]:
            results.remove(one)
            answer |= {"why": one["why"]} if "why" in one else {}
        results.append(answer)
        write_results(options.results, results)
        print(f"{file}:{number}: {answer['before']}  ->  {answer['after']}: {answer['noticed by'] or 'NOT NOTICED'}", flush=True)


def print_markdown(rooms, results):
    print(INTRO)
    print("| room | file | changes | noticed | explained | not noticed |")
    print("|---|---|---|---|---|---|")
    for room in rooms:
        for file in room["files"]:
            of_file = [one for one in results if one["file"] == file]
            noticed = sum(one["noticed by"] is not None for one in of_file)
            explained = sum("why" in one and one["noticed by"] is None for one in of_file)
            print(f"| {room['name']} | `{file}` | {len(of_file)} | {noticed} | {explained} | {len(of_file) - noticed - explained} |")
    print("\n## Not noticed\n")
    for one in results:
        if one["noticed by"] is None:
            print(f"- `{one['file']}`: `{one['before']}` changed to `{one['after']}`. {one.get('why', 'A test is missing.')}")
    print("\n## Noticed\n\n| file | line | changed to | first test that failed |\n|---|---|---|---|")
    for one in results:
        if one["noticed by"] is not None:
            before, after = (one[name].replace("|", "\\|") for name in ("before", "after"))
            print(f"| `{one['file']}` | `{before}` | `{after}` | {one['noticed by']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=pathlib.Path, help="the checkout that is changed")
    parser.add_argument("--results", type=pathlib.Path, required=True, help="file of the answers, which are added to it")
    parser.add_argument("--each", type=int, default=10, help="changes of each file, those in --results included")
    parser.add_argument("--again", action="store_true", help="ask the changes of --results anew")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="compilers at once")
    parser.add_argument("--files", nargs="+", default=[], help="only these of rooms.toml")
    parser.add_argument("--markdown", action="store_true", help="print the tables of what was tried")
    options = parser.parse_args()
    rooms = tomllib.loads((HERE / "rooms.toml").read_text(encoding="utf-8"))["room"]
    results = read_results(options.results)
    if options.markdown:
        print_markdown(rooms, results)
        return
    if not options.tree:
        parser.error("--tree names the checkout that is changed")
    tree = Tree(options.tree, options.jobs)
    for room in rooms:
        files = [file for file in room["files"] if not options.files or file in options.files]
        if files:
            check_unchanged(tree, room)
        for file in files:
            change_file(options, tree, room, file, results)
    sys.exit(any(one["noticed by"] is None and "why" not in one for one in results))


if __name__ == "__main__":
    main()
