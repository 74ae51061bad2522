#!/usr/bin/env python3
"""Makes a results file of 200 MB, and prints how long testbed takes to report it in each form and how much memory that needs.

    bench/page_of_long_run.py --testbed build/release/testbed
    bench/page_of_long_run.py --testbed build/release/testbed --megabytes 20 --keep long

One run of the null engine is made, its measured phase given an hour of seconds, and the run multiplied, as --repeat does, until the file
is as long as was asked. Exit code 1 when a form takes more than 90 s or 2.5 GB (10^9 bytes), or fails; 2 when an option is wrong. A
loaded machine takes longer; the memory is the same.
"""
import argparse
import json
import os
import subprocess
import sys

import timed_report

MOST_SECONDS, MOST_BYTES = 90, 2.5e9
HOUR = 3600
RUN = ["--engine", "null", "--rows", "2000", "--seconds", "1.2", "--warmup", "0", "--threads", "2", "--account", "off", "--quiet"]
FORMS = {
    "tables": ["report", "run.json"],
    "csv": ["report", "run.json", "--csv"],
    "csv-series": ["report", "run.json", "--csv-series"],
    "series": ["report", "run.json", "--series"],
    "page": ["report", "run.json", "--html", "run.html"],
    "compare": ["compare", "run.json", "run.json"],
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--testbed", metavar="PROGRAM", required=True, help="the program that reads the file")
    parser.add_argument("--megabytes", type=int, default=200, metavar="N", help="length of the file, 1 to 1000 [200]")
    parser.add_argument("--keep", metavar="DIR", help="directory that keeps the file and the page [a temporary one]")
    options = parser.parse_args()
    if not 1 <= options.megabytes <= 1000:
        parser.error(f"--megabytes {options.megabytes} is not accepted; it takes a number from 1 to 1000")
    timed_report.check_options(parser, options)
    return options


def lengthen(phase):
    """Gives the phase an hour of seconds like its first one."""
    first = phase["series"][0]
    phase["series"] = [{**first, "end_seconds": float(second + 1)} for second in range(HOUR)]
    phase["seconds"] = float(HOUR)


def write_long(document, file, megabytes):
    """Writes the document with its run repeated until the file has that many megabytes."""
    run = document["runs"][0]
    for phase in run["phases"]:
        if phase["kind"] == "measure":
            lengthen(phase)
    length = len(json.dumps(run, indent=1))
    runs = max(1, megabytes * 1_000_000 // length)
    document["runs"] = [{**run, "load": load, "seed": load + 1} for load in range(runs)]
    with file.open("w", encoding="utf-8") as out:
        json.dump(document, out, indent=1)
    return runs


def measure(options, directory):
    testbed = os.path.abspath(options.testbed)
    subprocess.run([testbed, *RUN, "--json", "run.json"], cwd=directory, check=True, stdout=subprocess.DEVNULL)
    file = directory / "run.json"
    runs = write_long(json.loads(file.read_text(encoding="utf-8")), file, options.megabytes)
    print(f"{runs} runs of an hour, {file.stat().st_size / 1e6:.0f} MB")
    beyond = 0
    for form, words in FORMS.items():
        code, seconds, _, held = timed_report.cost(testbed, directory, words)
        within = code == 0 and seconds <= MOST_SECONDS and held <= MOST_BYTES
        beyond += not within
        failed = "" if code == 0 else f", exit code {code}"
        print(f"{form}: {seconds:.1f} s, {held / 1e9:.2f} GB{failed}{'' if within else ', beyond the bound'}", flush=True)
    print("beyond" if beyond else "within", f"{MOST_SECONDS} s and {MOST_BYTES / 1e9:.1f} GB")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(timed_report.in_directory(arguments(), "page_of_long_run_", measure))
