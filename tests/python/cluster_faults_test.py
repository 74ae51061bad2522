#!/usr/bin/env python3
"""Tests bench/cluster_faults.py: its check on tables that lack or change what the clients wrote down, its clients with stand-ins for nodes, its
figures with known answers, its networks and accounts. Where Galera's files are, a cluster whose node is killed, and one with a planted loss.

Usage: cluster_faults_test.py TESTBED DIRECTORY     (DIRECTORY is made)

TESTBED_GALERA=DIR names a directory that bench/cluster_faults.py --fetch has filled.
"""
import argparse
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import types
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "bench"))
import cluster_faults  # noqa: E402
from galera import account, check, client, clients, network, node, programs, report, testbed_run  # noqa: E402

PROGRAM = SOURCE / "bench" / "cluster_faults.py"
TESTBED, DIRECTORY = sys.argv[1], pathlib.Path(sys.argv[2])
SEED, SIZE = 7, 20


def commit(number_of_client, first, state=clients.ACKNOWLEDGED, rows=2, begin=0.0, end=0.1, at=0):
    return clients.Commit(number_of_client, first, rows, state, at, begin, end)


def writer(number, commits, home=0):
    return types.SimpleNamespace(number=number, commits=commits, home=home, errors={})


def rows_of(commits):
    return [(b"%d" % c.client, b"%d" % n, clients.value_of(SEED, c.client, n, SIZE)) for c in commits for n in range(c.first, c.first + c.rows)]


class StandInConnection:
    """Answers each statement by the next of `answers`: rows, or an error's code."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    def run(self, sql):
        self.asked.append(sql)
        if sql.startswith("SET"):
            return []
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, int):
            raise client.ServerError(answer, "as planned")
        return answer

    def rows(self, sql):
        return iter(self.run(sql))

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class StandInNode:
    def __init__(self, number, answers):
        self.number, self.name, self.connection = number, f"node{number + 1}", StandInConnection(answers)

    def connect(self, _):
        return self.connection


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.commits = [commit(1, 0), commit(1, 2), commit(1, 4, clients.UNKNOWN), commit(1, 6, clients.REFUSED_STATE), commit(1, 8)]
        self.there = rows_of([c for c in self.commits if c.state == clients.ACKNOWLEDGED])

    def faults(self, *tables):
        return check.check_nodes([StandInNode(i, [table]) for i, table in enumerate(tables)], [writer(1, self.commits)], SEED, SIZE)

    def test_what_was_acknowledged_suffices(self):
        found, faults, unknown = self.faults(self.there, self.there)
        self.assertEqual((faults, unknown, found[1]["rows"], found[1]["acknowledged_rows"]), ([], 0, 6, 6))
        with_unknown = self.there + rows_of([self.commits[2]])
        self.assertEqual(self.faults(with_unknown, with_unknown)[1:], ([], 1), "an unknown commit may be there, on all nodes")

    def test_each_fault_is_told_of_its_node(self):
        lost, torn, wrong = self.there[2:], self.there[1:], [(*self.there[0][:2], b"other"), *self.there[1:]]
        for table, sentences in [(lost, ["node2: 1 acknowledged commits are not there"]),
                                 (torn, ["node2: 1 acknowledged commits are not there", "node2: 1 commits are there in part"]),
                                 (wrong, ["node2: 1 rows have another value than was written"]),
                                 (self.there + [(b"2", b"0", b"x")], ["node2: 1 rows are there that no client wrote, or are there twice"]),
                                 (self.there + rows_of([self.commits[3]]), ["node2: 1 commits are there that the client was told had failed",
                                                                            "the nodes differ in which commits of an unknown outcome are there"]),
                                 (self.there + rows_of([self.commits[2]]), ["the nodes differ in which commits of an unknown outcome are there"])]:
            self.assertEqual(self.faults(self.there, table)[1], sentences)

    def test_a_row_twice_cannot_hide_a_lost_one(self):
        faults = self.faults([self.there[0], self.there[0], *self.there[2:]])[1]
        self.assertIn("node1: 1 acknowledged commits are not there", faults)
        self.assertIn("node1: 1 rows are there that no client wrote, or are there twice", faults)


class ClientsTest(unittest.TestCase):
    def options(self, **more):
        return argparse.Namespace(**{"rows": 1, "rate": 0, "value_size": SIZE, "client_timeout": 1, "sync_wait": 0, **more})

    def test_a_writer_says_what_it_knows_and_goes_on_elsewhere(self):
        # A deadlock leaves the client where it is; a lost connection and a node that is not ready do not.
        nodes = [StandInNode(0, [[], 1213, [], 2013]), StandInNode(1, [[], 1047]), StandInNode(2, [[]])]
        one = clients.Writer(0, nodes, self.options(), SEED)
        one._connect()
        for number in range(7):
            if one._connection is None:
                one._connect()
            one._commit(number)
        self.assertEqual([(c.first, c.state, c.node) for c in one.commits],
                         [(0, "acknowledged", 0), (1, "refused", 0), (2, "acknowledged", 0), (3, "unknown", 0), (4, "acknowledged", 1), (5, "refused", 1), (6, "acknowledged", 2)])
        self.assertEqual(one.errors, {1213: 1, 2013: 1, 1047: 1})

    def test_a_reader_tells_an_answer_that_comes_late(self):
        commits = [commit(0, 0, end=time.monotonic())]
        reader = clients.Reader(StandInNode(1, [[(b"1",)], [], [], [(b"1",)]]), [writer(0, commits)], self.options(), SEED)
        connection = reader._connect()
        reader._ask(connection)
        reader._ask(connection)
        self.assertEqual([there for _, _, there in reader.answers], [True, False])
        self.assertEqual(len(reader.late), 1)
        self.assertGreater(reader.late[0][1], 0)

    def test_a_reader_keeps_a_stale_answer_whose_node_then_answers_no_more(self):
        reader = clients.Reader(StandInNode(1, [[], [], 1047]), [writer(0, [commit(0, 0, end=time.monotonic())])], self.options(), SEED)
        with self.assertRaises(client.ServerError):
            reader._ask(reader._connect())
        self.assertEqual([there for _, _, there in reader.answers], [False])
        self.assertEqual([seconds for _, seconds in reader.late], [None])

    def test_the_value_follows_from_the_key(self):
        self.assertEqual(clients.value_of(1, 2, 3, 10), clients.value_of(1, 2, 3, 10))
        self.assertEqual(len({clients.value_of(*key, 10) for key in [(1, 2, 3), (1, 2, 4), (1, 3, 3), (2, 2, 3), (1, 23, 3)]}), 5)


class FiguresTest(unittest.TestCase):
    def test_the_longest_gap_counts_both_ends(self):
        self.assertEqual(report.longest_gap([2, 3, 7], 0, 8), (4, 3))
        self.assertEqual(report.longest_gap([], 1, 5), (4, 1))
        self.assertEqual(report.longest_gap([0, 1, 9], 2, 4), (2, 2), "times before and after do not count")

    def test_percentiles_and_rates(self):
        self.assertEqual([report.percentile(list(range(1, 101)), share) for share in (0.5, 0.99, 1)], [50, 99, 100])
        self.assertIsNone(report.percentile([], 0.5))
        self.assertEqual(report.rate([0.5, 1, 1.5, 2], 1, 2), 2)
        self.assertEqual(report.histogram([0.05, 0.11, 0.19, 0.3], 0, 0.3), [1, 2, 1])

    def phase(self):
        acknowledged = [commit(0, i, rows=1, begin=i / 10, end=i / 10 + 0.05) for i in range(20)]
        # The client of the other node stalls for a second from 0.5 s on, that of the victim till the end.
        mine = [c for c in acknowledged if not 0.5 < c.end < 1.5]
        theirs = [c for c in acknowledged if c.end < 0.5]
        figures = {"written": 5000, "read": 1, "transfer_written": 10, "transfer_read": 0, "innodb.redo_log": 1000, "innodb.pages": 2000,
                   "innodb.doublewrite": 500, "innodb.write_sets": 300, "network.sent": 70, "network.received": 60}
        return types.SimpleNamespace(name="kill", begin=0.0, end=2.0, nodes=[figures, dict(figures)], writers=[writer(0, mine, home=0), writer(1, theirs, home=1)], readers=[],
                                     victim=1, transfer={"snapshot": False, "increments": 3}, testbed={}, events={"fault": 0.4, "back": 1.0, "caught_up": 1.6})

    def test_stalls_are_told_by_who_has_them(self):
        stalls = report.stalls_of(self.phase())
        self.assertAlmostEqual(stalls["all_clients_seconds"], 1.1)  # from 0.45 s to 1.55 s
        self.assertAlmostEqual(stalls["all_clients_begin_after_fault_seconds"], 0.05)
        self.assertAlmostEqual(stalls["client_of_other_nodes_seconds"], 1.1)
        self.assertAlmostEqual(stalls["client_of_victim_seconds"], 1.55)

    def test_bytes_add_up_and_are_for_a_byte_of_the_user(self):
        phase = self.phase()
        found = report.bytes_of(phase, 10, 988)  # rows of 1000 bytes with their keys
        self.assertEqual((found["user"], found["written"], found["network_sent"]), (10000, 10020, 140))
        self.assertEqual(found["nodes"][0]["by_cause"]["rest"], 1200)
        phase.testbed = {"user_bytes_written": 10020}
        self.assertAlmostEqual(report.bytes_of(phase, 10, 988)["written_per_user_byte"], 10020 / 20020)
        phase.nodes[1].pop("network.sent")
        phase.nodes[1].pop("network.received")
        self.assertIsNone(report.bytes_of(phase, 10, 988)["network_sent"], "of one node alone it would be too little")

    def test_the_text_names_the_stall_and_the_loss(self):
        phase = self.phase()
        phase.readers = [types.SimpleNamespace(node=1, answers=[(0.1, 0.1, False), (0.2, 0.1, False)], late=[(0.1, 0.3), (0.2, None)], errors={})]
        told = report.figures(phase, 988)
        document = {"settings": {"nodes": 2, "clients": 2, "rows": 1, "value_size": 988, "durability": "sync"}, "versions": {"mariadb": "1", "galera": "2"},
                    "network": {"kind": "namespaces", "why": ""}, "phases": [told], "check": {"nodes": [], "faults": ["node2: lost"], "unknown": 0, "unknown_there": 0}}
        text = report.text(document)
        self.assertIn("no client had a commit for 1.10 s, from 0.05 s after the fault", text)
        self.assertIn("it took 3 write sets", text)
        self.assertIn("2 answers, 2 stale (up to 300 ms), 1 of them until the node answered no more or the phase ended", text)
        self.assertIn("! node2: lost", text)
        self.assertNotIn("no acknowledged row was lost", text)
        json.dumps(document)

    def test_what_testbed_reports_is_found(self):
        document = {"runs": [{"phases": [{"name": "mixed", "seconds": 2.0, "wrong": 0, "verified": 9, "grade": "C", "user_bytes_written": 800,
                                          "operations": [{"name": "insert", "count": 4, "rate": 2.0, "latency_us": {"p50": 1000.0, "p99": 2000.0, "max": 6e6}}],
                                          "account": {"causes": [{"name": "insert", "operations": 4, "kernel": {"writes": 8, "write_bytes": 32768, "flushes": 4, "reads": 0}}]}}]}]}
        found = testbed_run.figures(document)
        self.assertEqual(found["kinds"]["insert"]["kernel"], {"writes": 2, "write_bytes": 8192, "flushes": 1, "reads": 0})
        self.assertIn("insert 2 a second, p99 2.0 ms, longest 6000 ms, 2.0 writes of the device (8192 bytes)", testbed_run.line({**found, "rows": 1}))

    def test_the_way_of_a_transfer_is_read_from_the_log(self):
        said = "WSREP: Receiving IST...  0.0% (0/209 events) complete.\nWSREP: Receiving IST...100.0% (209/209 events) complete.\n"
        stand_in = types.SimpleNamespace(said=lambda: said)
        self.assertEqual(node.Node.transfer(stand_in), {"snapshot": False, "increments": 209})
        stand_in.said = lambda: said + "WSREP_SST: [INFO] rsync SST completed on joiner\nWSREP: SST received: 1-2:3\n"
        self.assertTrue(node.Node.transfer(stand_in)["snapshot"])


class MachineTest(unittest.TestCase):
    def test_a_process_is_charged_to_its_end(self):
        words = ["python3", "-c", f"import os; f = open({str(DIRECTORY / 'written')!r}, 'wb'); f.write(bytes(1 << 20)); f.flush(); os.fsync(f.fileno())"]
        child = subprocess.Popen(words)
        while not account.has_ended(child.pid):
            time.sleep(0.005)
        found = account.process_io(child.pid)  # it has ended, and nobody has waited for it
        self.assertEqual(child.wait(), 0)
        if found == {"written": 0, "read": 0}:
            self.skipTest("the file system of the build folder writes to no device")
        self.assertGreaterEqual(found["written"], 1 << 20)
        self.assertTrue(account.has_ended(child.pid))
        self.assertIsNone(account.process_io(child.pid))

    def test_descendants_are_found(self):
        child = subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            grandchild = int(child.stdout.readline())
            self.assertIn(grandchild, account.descendants(os.getpid()))
            self.assertEqual(account.descendants(child.pid), [grandchild])
        finally:
            os.killpg(child.pid, 9)
            child.wait()
            child.stdout.close()

    def test_a_cable_is_counted_and_can_be_pulled(self):
        try:
            cables = network.Namespaces(2)
        except programs.Missing as error:
            self.skipTest(str(error))
        try:
            listener, descriptors = cables.within(1)
            server = subprocess.Popen([*listener, "python3", "-c", "import socket\ns = socket.create_server(('', 9999))\nprint(flush=True)\nwhile True: s.accept()[0].recv(9)"],
                                      pass_fds=descriptors, stdout=subprocess.PIPE)
            self.addCleanup(lambda: (server.kill(), server.wait(), server.stdout.close()))
            server.stdout.readline()
            caller, descriptors = cables.within(0)
            def call(seconds):
                script = f"import socket; s = socket.create_connection(('{cables.address(1)}', 9999), {seconds}); s.send(bytes(50000))"
                return subprocess.run([*caller, "python3", "-c", script], pass_fds=descriptors, stderr=subprocess.DEVNULL, check=False).returncode
            before = cables.counters(0)
            self.assertEqual(call(60), 0)
            self.assertGreaterEqual(cables.counters(0)["sent"] - before["sent"], 50000)
            cables.cut(1)
            self.assertNotEqual(call(0.3), 0)
            cables.join(1)
            self.assertEqual(call(60), 0)
        finally:
            cables.close()

    def test_what_is_missing_is_named_with_where_it_is(self):
        with tempfile.TemporaryDirectory(dir=DIRECTORY) as empty:
            path, providers = os.environ["PATH"], programs.PROVIDERS
            try:
                programs.PROVIDERS = ()
                os.environ["PATH"] = f"{empty}:{path}"
                server = pathlib.Path(empty) / "mariadbd"
                server.write_text("#!/bin/sh\n")
                server.chmod(0o755)
                with self.assertRaisesRegex(programs.Missing, "no libgalera_smm.so.*--fetch DIR"):
                    programs.find(None)
            finally:
                programs.PROVIDERS, os.environ["PATH"] = providers, path


def run_it(*words):
    return subprocess.run([sys.executable, PROGRAM, *words], cwd=DIRECTORY, capture_output=True, text=True, check=False)


class CommandTest(unittest.TestCase):
    def test_wrong_words_are_one_sentence(self):
        for words, sentence in [(["--fault", "fire"], "--fault fire is not accepted; there are kill, pause, partition, or none"), (["--nodes", "2"], "--nodes 2 is not accepted; give 3 to 9"),
                                (["--pool", "1k"], "1k is no size"), (["--provider", "a"], "give NAME=VALUE"), (["--testbed", "/none"], "--testbed /none is no program"),
                                (["--fault", "none", "--testbed", TESTBED], "--testbed runs beside a fault"), (["--fault", "partition", "--network", "loopback"], "cannot be cut"),
                                (["--json", "/none/x"], "is in no directory"), (["--dir", "/none"], "is no directory")]:
            said = io.StringIO()
            with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(said):
                cluster_faults.options_of(words)
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(sentence, said.getvalue().splitlines()[-1])
        self.assertEqual(run_it("--fault", "fire").returncode, 2)

    def test_a_failure_leaves_what_the_servers_said(self):
        options = argparse.Namespace(dir=DIRECTORY, keep=False)
        with self.assertRaises(programs.Failed), contextlib.redirect_stderr(io.StringIO()), cluster_faults.directory_of(options, None) as made:
            (made / "node1").mkdir()
            (made / "node1" / "ibdata1").write_text("data")
            (made / "node1.log").write_text("why")
            raise programs.Failed("as planned")
        self.assertEqual([path.name for path in made.rglob("*")], ["node1.log"])
        shutil.rmtree(made)
        with cluster_faults.directory_of(options, None) as made:
            (made / "node1.log").write_text("nothing")
        self.assertFalse(made.exists())


class ClusterTest(unittest.TestCase):
    """Real nodes, where there are their programs."""

    SHORT = ["--clients", "3", "--rate", "40", "--no-baseline", "--seconds", "2", "--lead", "3", "--down", "5", "--after", "2", "--pool", "32M", "--log", "32M"]

    def setUp(self):
        self.files = os.environ.get("TESTBED_GALERA")
        try:
            programs.find(self.files)
            node.free_user()
            client._load()
        except (programs.Missing, client.ClientMissing) as error:
            self.skipTest(str(error))
        self.words = [*self.SHORT, *(["--files", self.files] if self.files else [])]

    def test_a_killed_node_loses_nothing_and_comes_back(self):
        with_testbed = ["--testbed", TESTBED] if " mysql " in subprocess.run([TESTBED, "list"], capture_output=True, text=True, check=False).stdout else []
        done = run_it(*self.words, *with_testbed, "--json", "kill.json")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        document = json.loads((DIRECTORY / "kill.json").read_text())
        steady, kill = document["phases"][:2]
        fault, acknowledged = kill["fault"], document["check"]["nodes"][0]["acknowledged_rows"]
        self.assertEqual(acknowledged, sum(phase["clients"]["rows_acknowledged"] for phase in document["phases"]))
        self.assertGreater(steady["clients"]["rows_acknowledged"], 0)
        for one in document["check"]["nodes"]:
            self.assertGreaterEqual(one["rows"], acknowledged)
            self.assertEqual(one["lost_commits"], 0)
        self.assertGreater(sum(count for code, count in kill["clients"]["errors"].items() if code in ("2002", "2013")), 0, "the clients of the killed node notice")
        self.assertGreater(fault["stalls"]["all_clients_seconds"], 1, "the others wait until they have agreed that the node is gone")
        self.assertLess(fault["stalls"]["all_clients_seconds"], fault["seconds_after_fault"]["caught_up"] + 2)
        self.assertGreater(fault["stalls"]["commits_per_second_after"], 0)
        self.assertTrue(fault["transfer"]["increments"] or fault["transfer"]["snapshot"])
        for phase in document["phases"]:
            for one in phase["bytes"]["nodes"]:
                self.assertGreater(one["written"], one["by_cause"]["redo_log"] + one["by_cause"]["write_sets"])
                if document["network"]["kind"] == "namespaces":
                    self.assertGreater(one["network"]["received"], 0)
        if with_testbed:
            ours = document["phases"][2]["testbed"]
            self.assertEqual(ours["wrong"], 0)
            self.assertGreaterEqual(ours["rows"], testbed_run.ROWS + ours["kinds"]["insert"]["count"])
            self.assertGreater(ours["kinds"]["insert"]["max_us"], 1e6, "its own figures have the stall")
        self.assertEqual(list(DIRECTORY.glob("testbed-galera-*")), [])

    def test_a_planted_loss_is_found(self):
        done = run_it(*self.words, "--fault", "none", "--plant", "lost")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("! node3: 1 acknowledged commits are not there", done.stdout)
        self.assertNotIn("! node1", done.stdout)


if __name__ == "__main__":
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    DIRECTORY.chmod(0o755)
    unittest.main(argv=[sys.argv[0]], verbosity=2)
