#!/usr/bin/env python3
"""Tests that other programs read what testbed writes: Prometheus the metrics of a run, compare.py of google-benchmark two exports.

Usage: other_programs_test.py TESTBED DIRECTORY     (DIRECTORY is made)
Prometheus is in Debian's package prometheus, compare.py in libbenchmark-tools (it needs numpy and scipy). PROMETHEUS and
BENCHMARK_COMPARE name others. A test whose program is not there is skipped with the reason; exit code 77 when all are.
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

TESTBED = os.path.abspath(sys.argv[1])
RUN = ["--engine", "btree", "--ram", "32M", "--rows", "2000", "--warmup", "0", "--threads", "2", "--workload", "insert,point-read", "--quiet"]
COMPARE = os.environ.get("BENCHMARK_COMPARE", "/usr/share/benchmark/compare.py")
PATIENCE = 60  # seconds

PROMETHEUS = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: testbed
    static_configs: [{{targets: ["{target}"]}}]
"""


def unused_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def becomes(ask):
    """Asks until the answer is one, and returns it; None when there is none in time."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.2)
    return None


class OtherProgramsTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(dir=sys.argv[2]))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def start(self, *words, errors):
        with (self.directory / errors).open("w") as file:
            process = subprocess.Popen(words, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def query(self, port, expression):
        """Returns the samples that Prometheus has; none before it answers."""
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)["data"]["result"]
        except OSError:
            return []

    def test_prometheus_scrapes_a_run(self):
        program = os.environ.get("PROMETHEUS") or shutil.which("prometheus")
        if not program:
            self.skipTest("there is no prometheus (Debian: prometheus)")
        run = self.start(TESTBED, *RUN, "--seconds", "120", "--metrics", "0", errors="run.err")
        said = becomes(lambda: re.search(r"http://(127\.0\.0\.1:\d+)/metrics", (self.directory / "run.err").read_text()))
        self.assertTrue(said, (self.directory / "run.err").read_text())
        (self.directory / "prometheus.yml").write_text(PROMETHEUS.format(target=said[1]))
        port = unused_port()
        self.start(program, "--config.file=prometheus.yml", "--storage.tsdb.path=store", f"--web.listen-address=127.0.0.1:{port}",
                   errors="prometheus.err")
        done = becomes(lambda: self.query(port, 'testbed_operations_total{phase="point-read"} > 0'))
        self.assertTrue(done, (self.directory / "prometheus.err").read_text()[-2000:])
        self.assertEqual({name: done[0]["metric"].get(name) for name in ("engine", "threads", "operation")},
                         {"engine": "btree", "threads": "2", "operation": "point-read"})
        self.assertEqual([sample["value"][1] for sample in self.query(port, "up")], ["1"])
        for name in ("testbed_build_info", "testbed_latency_seconds", "testbed_stalled_seconds_total", "testbed_resident_memory_bytes"):
            self.assertTrue(becomes(lambda: self.query(port, name)), name)  # pylint: disable=cell-var-from-loop
        self.assertIsNone(run.poll(), "the run is over")

    def test_compare_of_google_benchmark_sets_two_exports_side_by_side(self):
        if not os.path.isfile(COMPARE):
            self.skipTest("there is no compare.py of google-benchmark (Debian: libbenchmark-tools)")
        if subprocess.run([sys.executable, "-c", "import numpy, scipy"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("compare.py of google-benchmark needs numpy and scipy")
        for label in ("old", "new"):
            for words in ([*RUN, "--seconds", "0.3", "--label", label, "--json", f"{label}.run.json"], ["results", "add", f"{label}.run.json"],
                          ["results", "export", "--benchmark", f"{label}.json", "--where", f"label = '{label}'"]):
                subprocess.run([TESTBED, *words], cwd=self.directory, check=True, stdout=subprocess.DEVNULL)
        compared = subprocess.run([sys.executable, COMPARE, "--no-color", "benchmarks", "old.json", "new.json"], cwd=self.directory,
                                  capture_output=True, text=True, check=False)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        lines = [line.split() for line in compared.stdout.splitlines() if "point-read" in line]
        self.assertTrue(lines, compared.stdout)
        time_old, time_new = float(lines[0][3]), float(lines[0][4])
        for label, shown in (("old", time_old), ("new", time_new)):
            document = json.loads((self.directory / f"{label}.json").read_text())
            written = next(one["real_time"] for one in document["benchmarks"] if "point-read" in one["name"])
            self.assertAlmostEqual(shown, written, delta=0.5 + written / 100)


def main():
    os.makedirs(sys.argv[2], exist_ok=True)
    result = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    if not result.wasSuccessful():
        return 1
    return 77 if len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
