#!/usr/bin/env python3
"""Makes the page of an experiment of 10,000 cells, and prints how long `testbed report --html` takes and how much memory.

    bench/page_of_cells.py --testbed build/release/testbed
    bench/page_of_cells.py --testbed build/release/testbed --cells 1000 --keep many

One cell of the null engine is run, and its document multiplied: 1000 settings, each in as many rounds as it takes, with the name, the
settings, the seed and the round of their own and with rates that differ. Exit code 1 when the report takes more than 30 s or 1 GB
(10^9 bytes), 2 when an option is wrong. A loaded machine takes longer; the memory is the same.
"""
import argparse
import json
import os
import random
import subprocess
import sys

import timed_report

MOST_SECONDS, MOST_BYTES = 30, 1e9
THREADS, SKEWS = range(1, 21), range(50)
SETTINGS = len(THREADS) * len(SKEWS)
EXPERIMENT = f"""
name = "many"
title = "Many cells"
about = "One cell of the null engine, multiplied."
[options]
engine = "null"
workload = "insert,point-read"
distribution = "zipfian"
rows = 2000
seconds = 2
warmup = 0
ram = "32M"
[scale.small]
rounds = 1
[[axis]]
name = "threads"
values = {list(THREADS)}
[[axis]]
name = "zipf-theta"
values = {[f"0.{skew:02}" for skew in SKEWS]}
[metrics]
rate = {{ value = "point_read.rate", unit = "1/s" }}
p99 = {{ value = "point_read.operations.point_read.latency_us.p99", unit = "us" }}
[[table]]
title = "Rates"
rows = ["zipf-theta"]
columns = "threads"
metrics = ["rate"]
[[finding]]
id = "X1"
claim = "More clients, more reads"
[[finding.part]]
says = "twenty against one"
published = "twenty times"
holds = "rate[threads=20, zipf-theta=0.00] > rate[threads=1, zipf-theta=0.00]"
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--testbed", metavar="PROGRAM", required=True, help="the program that makes the page")
    parser.add_argument("--cells", type=int, default=10000, metavar="N", help=f"runs in all, a multiple of {SETTINGS} [10000]")
    parser.add_argument("--keep", metavar="DIR", help="directory that keeps the results and the page [a temporary one]")
    options = parser.parse_args()
    if options.cells <= 0 or options.cells % SETTINGS != 0:
        parser.error(f"--cells {options.cells} is not accepted; it takes a multiple of {SETTINGS}, the settings of the experiment")
    timed_report.check_options(parser, options)
    return options


def run(testbed, directory, *words):
    return subprocess.run([testbed, *words], cwd=directory, check=True, stdout=subprocess.PIPE, text=True).stdout


def only_file(directory):
    (file,) = directory.iterdir()
    return file


def write_copy(document, key, rng, directory):
    """Writes a copy of the document for the cell and the round that the key names."""
    setting, number = key.rsplit(".round-", 1)
    threads, skew = setting.removeprefix("threads=").split("-zipf-theta=")
    skew = skew.rsplit("-", 1)[0]
    document["cell"].update(name=f"threads={threads} zipf-theta={skew}", round=int(number), labels={"threads": threads, "zipf-theta": skew})
    document["options"].update({"threads": threads, "zipf_theta": float(skew), "seed": int(number)})
    for one in document["runs"]:
        one["threads"], one["seed"] = int(threads), int(number)
        for phase in one["phases"]:
            if phase["kind"] == "measure":
                phase["threads"] = int(threads)
                phase["rate"] = rng.gauss(1e6, 1e4) * int(threads)
    (directory / "cells" / f"{key}.json").write_text(json.dumps(document, indent=1), encoding="utf-8")


def make_results(testbed, directory, rounds):
    """Runs one cell of the experiment, and makes the results of all its cells out of that one, in the folder `many`."""
    (directory / "many.toml").write_text(EXPERIMENT, encoding="utf-8")
    run(testbed, directory, "experiment", "many.toml", "--rounds", "1", "--only", "threads=1", "--only", "zipf-theta=0.00", "--out", "many", "--quiet")
    many = directory / "many"
    document = json.loads(only_file(many / "cells").read_text(encoding="utf-8"))
    load = only_file(many / "loads")
    for number in range(2, rounds + 1):
        (load.parent / load.name.replace("-1.json", f"-{number}.json")).write_bytes(load.read_bytes())
    header = json.loads((many / "experiment.json").read_text(encoding="utf-8"))
    header.update(only=[{}], rounds=rounds)
    (many / "experiment.json").write_text(json.dumps(header), encoding="utf-8")
    keys = [line.split()[0] for line in run(testbed, directory, "experiment", "cells", "many").splitlines() if ".round-" in line]
    rng = random.Random(1)
    for key in keys:
        write_copy(document, key, rng, many)
    return len(keys)


def measure(options, directory):
    testbed = os.path.abspath(options.testbed)
    cells = make_results(testbed, directory, options.cells // SETTINGS)
    code, seconds, worked, held = timed_report.cost(testbed, directory, ["report", "many", "--html", "many.html"])
    if code != 0:
        sys.exit(f"testbed report ended with exit code {code}")
    size = (directory / "many.html").stat().st_size
    bytes_of_cells = sum(file.stat().st_size for file in (directory / "many/cells").iterdir())
    print(f"{cells} cells, {bytes_of_cells / 1e6:.0f} MB: {seconds:.1f} s ({worked:.1f} s of a processor), {held / 1e9:.2f} GB, a page of {size / 1e6:.1f} MB")
    if cells != options.cells:
        sys.exit(f"the experiment has {cells} cells, not {options.cells}")
    text = (directory / "many.html").read_text(encoding="utf-8")
    shown = json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])["experiments"][0]
    if shown["finished_runs"] != cells or sum(len(cell["runs"]) for cell in shown["cells"]) != cells:
        sys.exit(f"the page has {shown['finished_runs']} of {cells} cells")
    within = seconds <= MOST_SECONDS and held <= MOST_BYTES
    print("within" if within else "beyond", f"{MOST_SECONDS} s and {MOST_BYTES / 1e9:.0f} GB")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(timed_report.in_directory(arguments(), "page_of_cells_", measure))
