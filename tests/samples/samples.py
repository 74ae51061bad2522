#!/usr/bin/env python3
"""Compiles the samples in the comments of headers: a sample that no longer compiles misleads its reader.

A sample is a run of comment lines that are indented by three spaces, of which one ends as C++ does (; { or }). What a sample takes as given (`dir`, `options`, ...) is declared in given.txt, which names as well the
runs of lines that look like code and are none.

    samples.py BUILD_DIR [HEADER...]     compiles them with the flags of BUILD_DIR/compile_commands.json
    samples.py --show [HEADER...]        prints them

Errors name the header and the line of its comment. Exit code 0 when all compile, or there are none, 1 when one does not.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
FLOORS = ("device", "engines", "workloads", "tools", "embed", "tests")
UNITS = 8  # files that are compiled; the headers that they share are read once in each


def samples_of(header):
    """Yields (line number, lines) of each sample in the comments of a header."""
    run, first = [], 0
    text = (TREE / header).read_text().split("\n")
    for number, line in enumerate(text + [""], 1):
        inside = re.match(r"\s*//   (.*\S)\s*$", line)
        open_braces = sum(code.count("{") - code.count("}") for code in run)
        if not inside and open_braces > 0:  # a blank line in a class
            inside = re.match(r"\s*//()$", line)
        if inside:
            first = first if run else number
            run.append(inside.group(1))
            continue
        if any(re.search(r"[;{}]\s*(//.*)?$", code) for code in run):
            yield first, run
        run = []


def read_given():
    """Returns ({header: declarations}, {(header, first words of a run that is no code)})."""
    given, no_code, header = {}, set(), None
    for line in (TREE / "tests/samples/given.txt").read_text().split("\n"):
        if line.startswith("# "):
            continue
        if match := re.fullmatch(r"\[(\S+)\]", line):
            header = match.group(1)
        elif line.startswith("no code: "):
            no_code.add((header, line.removeprefix("no code: ")))
        elif line:
            given[header] = given.get(header, "") + line + "\n"
    return given, no_code


def headers_to_look_at(wanted):
    found = []
    for floor in FLOORS:
        found += sorted(str(path.relative_to(TREE)) for path in (TREE / floor).rglob("*.h"))
    unknown = [header for header in wanted if header not in found]
    if unknown:
        sys.exit(f"samples: there is no header {unknown[0]}")
    return wanted or found


def flags(build_dir):
    """The compiler, and what tells it where headers are and which engines there are, of the whole build."""
    compiler, kept = None, {}
    for command in json.loads((build_dir / "compile_commands.json").read_text()):
        words = shlex.split(command["command"])
        compiler = compiler or next((word for word in words if re.search(r"\+\+(-\d+)?$", word)), None)
        for word, following in zip(words, words[1:] + [""]):
            if word == "-isystem":
                kept[f"-isystem{following}"] = True
            elif word.startswith(("-I", "-DTESTBED_HAVE_", "-std=")):
                kept[word] = True
    return [compiler, *kept]


def is_built(header, command, build_dir):
    """Whether the build has what a header belongs to: an engine, or google-benchmark."""
    if header == "embed/testbed/benchmark.h":
        return "engine_bench.cc" in (build_dir / "compile_commands.json").read_text()
    parts = pathlib.Path(header).parts
    if parts[0] != "engines" or len(parts) < 3 or not (TREE / "engines" / parts[1] / "CMakeLists.txt").exists():
        return True  # the header is of no engine, or of a room that engines share
    return f"-DTESTBED_HAVE_{parts[1].upper()}=1" in command


def without_dots(line):
    """What a sample leaves out, "... the run ..." or "...", is a statement that does nothing."""
    line = re.sub(r"\.\.\. .* \.\.\.", ";", line)
    return re.sub(r"(?<![\w(<])\.\.\.(?![\w)>])", ";", line)


def unit_text(samples, given):
    """A file of functions, one for each sample, whose lines are those of the header."""
    text = "".join(f'#include "{header}"\n' for header in dict.fromkeys(header for header, _, _ in samples))
    text += '#include "tests/samples/prelude.h"\n'
    for number, (header, first, code) in enumerate(samples):
        inside = "\n".join(without_dots(line) for line in code)
        names = given.get(header, "")
        outside = "".join(line + "\n" for line in names.split("\n") if line.startswith("#include"))
        names = "".join(line + "\n" for line in names.split("\n") if line and not line.startswith("#include"))
        text += f"{outside}namespace testbed::sample_{number} {{\n#line 1 \"given.txt of {header}\"\n{names}"
        at_namespace = re.match(r"\s*(class|struct|template|namespace|int main|void \w+\(|TESTBED_)", inside)
        text += "" if at_namespace else f"[[maybe_unused]] static void TheSample() {{\n"
        text += f'#line {first} "{header}"\n{inside}\n'
        text += f"}}\n" if at_namespace else "}\n}\n"
    return text


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.exit(__doc__)
    given, no_code = read_given()
    show = arguments[0] == "--show"
    command = [] if show else flags(pathlib.Path(arguments[0]))
    samples = []
    for header in headers_to_look_at(arguments[1:]):
        if not show and not is_built(header, command, pathlib.Path(arguments[0])):
            continue
        for first, code in samples_of(header):
            if not any(header == h and code[0].startswith(words) for h, words in no_code):
                samples.append((header, first, code))
    if not samples:
        print(", ".join(arguments[1:]) + ":", "no samples to show" if show else "no samples to compile")
        return
    if show:
        for header, first, code in samples:
            print(f"{header}:{first}", *code, "", sep="\n")
        return
    folder = pathlib.Path(arguments[0]) / "samples"
    folder.mkdir(exist_ok=True)
    size = -(-len(samples) // UNITS)
    units = [samples[i:i + size] for i in range(0, len(samples), size)]

    def compile_unit(index):
        path = folder / f"unit_{index}.cc"
        path.write_text(unit_text(units[index], given))
        return subprocess.run([*command, "-w", "-fsyntax-only", f"-I{TREE}", str(path)],
                              capture_output=True, text=True, check=False)

    broken = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(compile_unit, range(len(units))):
            if result.returncode != 0:
                broken = 1
                sys.stdout.write(result.stderr)
    headers = len({header for header, _, _ in samples})
    print(f"{len(samples)} samples of {headers} headers", "do not all compile" if broken else "compile")
    sys.exit(broken)


main()
