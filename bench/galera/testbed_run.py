"""Runs testbed at the first node while another one has a fault, and compares its tables on all nodes."""
import json
import os
import subprocess
import time

from galera import programs

SCHEMA = "testbed"
ROWS = 500
MIX = "insert=80,point-read=20"
PATIENCE = 120


class Beside:
    """testbed beside a fault: it loads rows and then inserts while the fault lasts. The caller
    calls `kill` when the fault has failed."""

    def __init__(self, node, options, directory):
        self._node, self._folder = node, directory / "testbed"
        self._folder.mkdir()
        self._seconds = max(1, round(options.lead + options.down + options.after))
        lazy = ["--lazy-interval", "1000"] if options.durability == "lazy" else []
        self._words = [options.testbed, "--engine", "mysql", "--connect", f"mysql://root@localhost/?socket={node.socket}", "--io", "direct", "--page-size", "16384",
                       "--durability", options.durability, *lazy, "--threads", "2", "--rows", str(ROWS), "--verify", "all", "--quiet", "--dir", f"{self._folder}/db"]
        self._file = f"{self._folder}/run.json"
        self._process = None
        self._start("--workload", "insert", "--account", "off")
        self._wait("before")

    def begin(self):
        """Starts the inserts, and waits until there is a new row, at most PATIENCE seconds."""
        before = self._rows()
        self._start("--reuse", "--workload", "mixed", "--mix", MIX, "--seconds", str(self._seconds), "--warmup", "0", "--json", self._file)
        deadline = time.monotonic() + PATIENCE
        while self._rows() == before and self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)

    def _rows(self):
        with self._node.connect() as connection:
            return rows_of(connection)[0]

    def _start(self, *words):
        self._process = subprocess.Popen([*self._words, *words], cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)

    def _wait(self, when):
        try:
            said = self._process.communicate(timeout=self._seconds + PATIENCE)[1]
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise programs.Failed(f"testbed did not end {when} the fault") from error
        if self._process.returncode != 0:
            raise programs.Failed(f"testbed ended with {self._process.returncode} {when} the fault: {' '.join(said.split())[-300:]}")

    def figures(self):
        """Waits for the end, and returns the figures; raises programs.Failed."""
        self._wait("during")
        with open(self._file, encoding="utf-8") as file:
            return figures(json.load(file))

    def kill(self):
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


def figures(document):
    """Returns the operations of the mix with their latencies, and for one operation what testbed's account charges it: requests, bytes and flushes of the
    device (of the first node alone, whose thread does the operation's work), round trips and bytes between the client and the node."""
    phase = next(phase for phase in document["runs"][0]["phases"] if phase["name"] == "mixed")
    found = {"seconds": phase["seconds"], "wrong": phase["wrong"], "verified": phase["verified"], "grade": phase["grade"],
             "user_bytes_written": phase["user_bytes_written"], "kinds": {}}
    causes = {cause["name"]: cause for cause in phase["account"]["causes"]}
    for one in phase["operations"]:
        told = {"count": one["count"], "rate": one["rate"], **{f"{name}_us": one["latency_us"].get(name) for name in ("p50", "p99", "max")}}
        cause = causes.get(one["name"], {})
        for group, names in (("kernel", ("writes", "write_bytes", "flushes", "reads")), ("wire", ("round_trips", "sent_bytes", "received_bytes"))):
            if group in cause and cause["operations"]:
                told[group] = {name: cause[group][name] / cause["operations"] for name in names}
        found["kinds"][one["name"]] = told
    return found


def line(ours):
    """Returns what `figures` and `rows_alike` found as a sentence."""
    parts = []
    for name, one in ours["kinds"].items():
        part = f"{name} {one['rate']:.0f} a second, p99 {one['p99_us'] / 1000:.1f} ms, longest {one['max_us'] / 1000:.0f} ms"
        if kernel := one.get("kernel"):
            part += f", {kernel['writes']:.1f} writes of the device ({kernel['write_bytes']:.0f} bytes) and {kernel['flushes']:.1f} flushes each"
        parts.append(part)
    return f"testbed at node1: {'; '.join(parts)}; {ours['wrong']} of {ours['verified']} values wrong; its {ours['rows']} rows are alike on all nodes"


def rows_of(connection):
    """Returns the number of rows that testbed's tables have at a node, and the checksum of each table."""
    tables = [name.decode() for name, in connection.run(f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}' ORDER BY table_name")]
    sums = {name: connection.run(f"CHECKSUM TABLE {SCHEMA}.`{name}`")[0][1] for name in tables}
    return sum(int(connection.run(f"SELECT COUNT(*) FROM {SCHEMA}.`{name}`")[0][0]) for name in tables), sums


def rows_alike(nodes):
    """Returns the number of rows that testbed's tables have; raises programs.Failed when two nodes differ in a row."""
    found = []
    for node in nodes:
        with node.connect(120) as connection:
            found.append(rows_of(connection))
    if any(one != found[0] for one in found):
        raise programs.Failed(f"the nodes differ in testbed's tables: {found}")
    return found[0][0]


def is_program(path):
    return os.path.isfile(path) and os.access(path, os.X_OK)
