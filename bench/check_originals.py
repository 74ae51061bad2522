#!/usr/bin/env python3
"""Runs the originals of testbed's workloads beside testbed, and compares what both ask of a database: operations, keys, sizes.

    bench/check_originals.py --testbed build/release/testbed
    bench/check_originals.py --testbed build/release/testbed --only sysbench,ycsb --markdown table.md

sysbench runs against a MariaDB server of the check's own, whose general log is read. YCSB's client prints its operations (BasicDB). db_bench
records a trace. testbed records traces (--record). A share may differ by 1 per cent point, a number by 1 %, and a test at 99 % must not tell two
distributions apart. A workload in which something differs runs once more with other seeds, and that run decides, so that chance seldom does.
docs/originals.md says what is compared, and why some differences are known.

What the machine lacks is skipped, with how to get it: Debian's sysbench, mariadb-server, rocksdb-tools, default-jre-headless, maven and zstd.

Exit code 0 when nothing differs, 1 when something does or a program failed, 2 when the options are wrong, 77 when every original is skipped.
"""
import argparse
import pathlib
import signal
import sys
import tempfile

import common_options
from originals import db_bench, programs, rows, sysbench, ycsb

ORIGINALS = {"sysbench": sysbench.Sysbench, "ycsb": ycsb.Ycsb, "db_bench": db_bench.DbBench}
SKIPPED = 77


def settled(compare, workload, seed):
    """Returns the rows of a workload; those that differ are the rows of a second run."""
    found = compare(workload, seed)
    if any(row.verdict == rows.DIFFERS for row in found):
        again = {row.what: row for row in compare(workload, seed + 1000)}
        found = [again.get(row.what, row) if row.verdict == rows.DIFFERS else row for row in found]
    return found


def check(original, options, wanted):
    """Returns the name of an original and the rows of its workloads."""
    found = []
    with tempfile.TemporaryDirectory(prefix="testbed-originals-") as directory:
        with original(programs.Testbed(options.testbed, directory), options) as its:
            for number, workload in enumerate(its.workloads):
                if wanted and workload.split()[0] not in wanted:
                    continue
                found += settled(its.compare, workload, options.seed + number)
                print(f"{its.name}: {workload} compared", file=sys.stderr, flush=True)
            return its.name, found


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common_options.add_program_and_parts(parser, ORIGINALS, "original")
    parser.add_argument("--workloads", default="", help="these alone, such as ycsb-d,mixgraph [all]")
    parser.add_argument("--operations", type=int, default=100000, help="of each workload, at least 5000; a quarter as many statements of sysbench [100000]")
    parser.add_argument("--seed", type=int, default=1, help="of testbed, sysbench and db_bench for the first workload, and one more for each further one [1]")
    parser.add_argument("--ycsb-jars", metavar="DIR", help="a folder with YCSB's jars [they are downloaded by Maven]")
    parser.add_argument("--markdown", metavar="FILE", help="writes the tables there")
    options = parser.parse_args()
    common_options.check_parts(parser, options, ORIGINALS, "original")
    known = {workload.split()[0] for original in ORIGINALS.values() for workload in original.workloads}
    wanted = set(filter(None, options.workloads.split(",")))
    if unknown := wanted - known:
        parser.error(f"--workloads {', '.join(sorted(unknown))} is not compared; there are {', '.join(sorted(known))}")
    if options.operations < 5000:
        parser.error(f"--operations {options.operations} is too few to compare; give 5000 or more")
    if not 1 <= options.seed < 1 << 30:
        parser.error(f"--seed {options.seed} is not accepted; give 1 to {(1 << 30) - 1}")
    if options.markdown and not pathlib.Path(options.markdown).resolve().parent.is_dir():
        parser.error(f"--markdown {options.markdown} is in no directory; make it first")
    common_options.check_program(parser, options)
    return options, wanted


def main():
    options, wanted = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # the server ends with the check
    differs, tables, skipped = 0, [], 0
    for name in options.only:
        if wanted and not wanted & {workload.split()[0] for workload in ORIGINALS[name].workloads}:
            continue
        try:
            title, found = check(ORIGINALS[name], options, wanted)
        except programs.Missing as missing:
            print(f"{name}: skipped, {missing}")
            skipped += 1
            continue
        except programs.Failed as failed:
            print(f"{name}: {failed}")
            differs += 1
            continue
        bad = [row for row in found if row.verdict == rows.DIFFERS]
        differs += len(bad)
        print(f"\n{title}: {len(found)} compared, {len(bad)} differ\n{rows.as_text(found)}", flush=True)
        tables.append(f"## {title}\n\n{rows.as_markdown(found)}\n")
    if options.markdown:
        pathlib.Path(options.markdown).write_text("\n".join(tables), encoding="utf-8")
    if differs:
        return 1
    return 0 if tables else SKIPPED if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
