"""sysbench's OLTP scripts against a MariaDB server of the check's own, by the server's general log, beside sysbench-load and oltp-*."""
import collections
import os
import re
import subprocess
import time
from typing import NamedTuple

from originals import programs, rows, two_samples

TABLES, TABLE_SIZE = 3, 10000  # the size is sysbench's default
SCRIPTS = {  # statements of an event that draw an id
    "oltp-point-select": 1, "oltp-read-only": 14, "oltp-read-write": 17, "oltp-write-only": 3, "oltp-update-index": 1, "oltp-update-non-index": 1,
    "oltp-insert": 1, "oltp-delete": 1,
}
RAND_TYPES = ["uniform", "gaussian", "pareto"]  # beside special, the default; zipfian is of sysbench 1.1

LOGGED = re.compile(r"\s\d+ (?:Query|Execute)\t(.*)$")
PATTERNS = [
    ("point select", re.compile(r"SELECT c FROM sbtest(\d+) WHERE id=(\d+)$")),
    ("range select", re.compile(r"SELECT .* FROM sbtest(\d+) WHERE id BETWEEN (\d+) AND (\d+)")),
    ("update of k", re.compile(r"UPDATE sbtest(\d+) SET k=k\+1 WHERE id=(\d+)$")),
    ("update of c", re.compile(r"UPDATE sbtest(\d+) SET c='.*' WHERE id=(\d+)$")),
    ("delete", re.compile(r"DELETE FROM sbtest(\d+) WHERE id=(\d+)$")),
    ("insert", re.compile(r"INSERT INTO sbtest(\d+) \(id, k, c, pad\) VALUES \((\d+), (\d+),")),
    ("begin", re.compile(r"BEGIN()$")),
    ("commit", re.compile(r"COMMIT()$")),
]


class Statement(NamedTuple):
    kind: str
    table: int = 0
    id: int = 0
    number: int = 0  # ids of a range, k of an insert


def parse(lines):
    """Returns the statements of a general log."""
    statements = []
    for line in lines:
        logged = LOGGED.search(line)
        if not logged:
            continue
        for kind, pattern in PATTERNS:
            if found := pattern.match(logged.group(1)):
                table, *numbers = (int(group or 0) for group in found.groups())
                number = numbers[1] - numbers[0] + 1 if kind == "range select" else numbers[1] if kind == "insert" else 0
                statements.append(Statement(kind, table, numbers[0] if numbers else 0, number))
                break
    return statements


# The calls that stand for a statement, a letter each: get, put and erase of a row, Put and Erase of an entry of the index, seek, next, begin
# and commit. An update and a delete begin with a get of their row.
CALLS = re.compile("(?P<update_of_k>gEPp)|(?P<delete>gEe)|(?P<update_of_c>gp)|(?P<point_select>g)|(?P<insert>pP)|(?P<range_select>sn?)|(?P<begin>b)|(?P<commit>c)")


def big_endian(data):
    return int.from_bytes(data[:4], "big")


def letter(call):
    of_index = call.table.endswith("_k") and call.name in ("put", "erase")
    return call.name[0].upper() if of_index else call.name[0]


def ours(operations):
    """Returns the statements that the calls of the operations stand for."""
    statements = []
    for operation in operations:
        calls = [call for call in operation.calls if call.name not in ("open-cursor", "close-cursor", "value")]
        for found in CALLS.finditer("".join(map(letter, calls))):
            first, last = calls[found.start()], calls[found.end() - 1]
            number = 1 + last.number if found.lastgroup == "range_select" else big_endian(last.key) if found.lastgroup == "insert" else 0
            statements.append(Statement(found.lastgroup.replace("_", " "), int(first.table[6:] or 0), big_endian(first.key), number))
    return statements


def drawn_tables(statements):
    """Returns the tables that were drawn: one for all point selects of a transaction, and one for a delete and the insert of its row."""
    drawn, before = [], Statement("")
    in_transactions = any(statement.kind == "begin" for statement in statements) and any(statement.kind == "range select" for statement in statements)
    for statement in statements:
        shared = (statement.kind, before.kind) == ("insert", "delete") or in_transactions and statement.kind == before.kind == "point select"
        if statement.table and not shared:
            drawn.append(statement.table)
        before = statement
    return drawn


class Server:
    """A MariaDB server on a socket in a directory, with a general log; it ends with the block that it is made for."""

    def __init__(self, directory):
        self.program = programs.need("mariadbd", "mariadb-server")
        self.directory = directory
        self.log, self.socket = directory / "general.log", directory / "s"
        self.process, self.read = None, 0

    def start(self):
        (self.directory / "data").mkdir()
        (self.directory / "init.sql").write_text("CREATE DATABASE sbtest;\n", encoding="utf-8")
        with open(self.directory / "server.log", "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [self.program, "--no-defaults", "--skip-grant-tables", "--skip-networking", *(["--user=root"] if os.geteuid() == 0 else []), f"--datadir={self.directory}/data", f"--socket={self.socket}",
                 f"--init-file={self.directory}/init.sql", f"--pid-file={self.directory}/pid", "--general-log=1", f"--general-log-file={self.log}",
                 "--innodb-flush-log-at-trx-commit=0"], stdout=said, stderr=said, stdin=subprocess.DEVNULL)
        for _ in range(600):
            if self.socket.exists() or self.process.poll() is not None:
                break
            time.sleep(0.1)
        if not self.socket.exists():
            raise programs.Failed(f"MariaDB did not start: {(self.directory / 'server.log').read_text(encoding='utf-8')[-500:]}")

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait()

    def statements(self):
        """Returns the lines of the log since the last call."""
        with open(self.log, encoding="utf-8") as file:
            file.seek(self.read)
            lines = file.read().splitlines()
            self.read = file.tell()
        return lines


class Sysbench:
    workloads = ["sysbench-load", *SCRIPTS, *(f"oltp-point-select {kind}" for kind in RAND_TYPES)]

    def __init__(self, testbed, options):
        self.testbed, self.count = testbed, max(1000, options.operations // 4)
        self.program = programs.need("sysbench", "sysbench")
        self.name = " ".join(programs.run([self.program, "--version"], ".").split()[:2])
        directory = testbed.directory / "mariadb"
        directory.mkdir()
        self.server, self.prepared = Server(directory), False

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop()

    def sysbench(self, script, command, seed, words=()):
        programs.run([self.program, script.replace("-", "_"), f"--mysql-socket={self.server.socket}", "--mysql-user=root", f"--table-size={TABLE_SIZE}",
                      f"--tables={TABLES}", "--threads=1", "--time=0", f"--rand-seed={seed}", *words, command], self.testbed.directory)

    def prepare(self, seed):
        """Makes the tables anew and returns the lines of the log that are about them."""
        self.sysbench("oltp-read-write", "cleanup", seed)
        self.server.statements()
        self.sysbench("oltp-read-write", "prepare", seed)
        self.prepared = True
        return self.server.statements()

    def mine(self, workload, seed, words=()):
        return self.testbed.trace(workload, ["--rows", TABLE_SIZE, "--seed", seed, "--workload-option", f"tables={TABLES}", "--workload-option", "check=off", *words])

    def compare(self, workload, seed):
        """Returns the rows of one workload."""
        if workload == "sysbench-load":
            return self.compare_load(seed)
        script, _, rand_type = workload.partition(" ")
        events = self.count // SCRIPTS[script]
        if not self.prepared:  # what a script asks for does not depend on what an earlier one has left
            self.prepare(seed)
        self.server.statements()
        self.sysbench(script, "run", seed, [f"--events={events}", *([f"--rand-type={rand_type}"] if rand_type else [])])
        theirs = parse(self.server.statements())
        words = ["--operations", events, *(["--workload-option", f"rand_type={rand_type}"] if rand_type else [])]
        mine = ours(self.mine(f"sysbench-load,{script}", seed, words).operations)
        return self.rows(workload, events, theirs, mine)

    def rows(self, workload, events, theirs, mine):
        sides = (theirs, mine)
        counts = [collections.Counter(s.kind for s in side) for side in sides]
        if workload == "oltp-delete":  # a delete of a row that is gone is a get without an erase
            counts[1] = collections.Counter(delete=counts[1]["delete"] + counts[1]["point select"])
        found = []
        if not workload.startswith("oltp-point-select "):
            for kind in sorted({*counts[0], *counts[1]}, key=lambda kind: (-counts[0][kind], kind)):
                alone = kind in ("begin", "commit") and counts[0]["begin"] == 0
                found.append(rows.number(workload, f"a transaction: {kind}", *(count[kind] / events for count in counts),
                                         known="a statement by itself is a transaction in both; here it is several calls" if alone else ""))
        ids = [[s.id for s in side if s.id and s.kind != "insert"] for side in sides]
        if ids[0]:
            found.append(rows.numbers(workload, "ids: quartiles", *ids))
        ks = [[s.number for s in side if s.kind == "insert"] for side in sides]
        if ks[0]:
            found.append(rows.numbers(workload, "k of an insert: quartiles", *ks))
        ranges = [[s.number for s in side if s.kind == "range select"] for side in sides]
        if ranges[0]:
            found.append(rows.number(workload, "ids of a range", *(sum(side) / len(side) for side in ranges)))
        tables = [[side_tables.count(table) for table in range(1, TABLES + 1)] for side_tables in map(drawn_tables, sides)]
        found.append(rows.tested(workload, "draws of each table", *(", ".join(map(str, side)) for side in tables), two_samples.counts_p(*tables)))
        return found

    def compare_load(self, seed):
        lines = self.prepare(seed)
        values = [re.findall(r"\((\d+), '[^']*', '[^']*'\)", line) for line in lines if "INSERT INTO sbtest" in line]
        loaded = [int(k) for line in values for k in line]
        operations = self.mine("sysbench-load", seed).operations
        entries = [call for operation in operations for call in operation.calls if letter(call) == "P"]
        puts = [[call for call in operation.calls if letter(call) == "p" and call.table != "sbtest"] for operation in operations]
        mine = [call for operation in puts for call in operation]
        columns = dict(re.findall(r"^  (id|k|c|pad) (INTEGER|CHAR\(\d+\))", "\n".join(lines), re.MULTILINE))
        bytes_of_row = sum(4 if kind == "INTEGER" else int(kind[5:-1]) for kind in columns.values())
        ids = [big_endian(call.key) for call in mine if call.table == "sbtest1"]
        name = "sysbench-load"
        return [
            rows.number(name, "tables", sum(line.split("\t")[-1].startswith("CREATE TABLE") for line in lines), len({call.table for call in mine})),
            rows.number(name, "indexes", sum("CREATE INDEX" in line for line in lines), len({call.table for call in entries})),
            rows.number(name, "rows", len(loaded), len(mine)),
            rows.number(name, "bytes of a row's columns", bytes_of_row, len(mine[0].key) + mine[0].number),
            rows.number(name, "greatest id, ids ascending from 1", TABLE_SIZE, ids[-1] if ids == list(range(1, len(ids) + 1)) else 0),
            rows.numbers(name, "k: quartiles", loaded, [big_endian(call.key) for call in entries]),
            rows.number(name, "rows of a transaction", max(map(len, values)), max(map(len, puts)), known="sysbench's statements of 512 KiB are a transaction each"),
        ]
