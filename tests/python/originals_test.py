#!/usr/bin/env python3
"""Tests bench/check_originals.py: its statistics with known answers, its readers of what the originals say, and a run of its own tests on
samples that are and are not alike. Needs no original.

Usage: originals_test.py TESTBED DIRECTORY     (DIRECTORY is made)
"""
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "bench"))
from originals import db_bench, rows, sysbench, trace_file, two_samples, ycsb  # noqa: E402

TESTBED = sys.argv[1]


def testbed(*words, directory):
    return subprocess.run([TESTBED, *words], cwd=directory, check=True, capture_output=True, text=True).stdout


class StatisticsTest(unittest.TestCase):
    def test_chi_square_has_the_published_quantiles(self):
        for statistic, degrees, p in [(3.841, 1, 0.05), (6.635, 1, 0.01), (18.307, 10, 0.05), (23.209, 10, 0.01), (135.807, 100, 0.01)]:
            self.assertAlmostEqual(two_samples.chi_square_p(statistic, degrees), p, delta=2e-5)

    def test_student_has_the_published_quantiles(self):
        for t, degrees, p in [(4.303, 2, 0.05), (2.228, 10, 0.05), (3.169, 10, 0.01), (2.682, 48, 0.01)]:
            self.assertAlmostEqual(two_samples.student_p(t, degrees), p, delta=2e-4)
            self.assertAlmostEqual(two_samples.student_p(-t, degrees), p, delta=2e-4)

    def test_two_by_two_counts_are_pearsons(self):
        # (ad - bc)^2 n / (row sums and column sums) = 4.5714 of one degree of freedom.
        self.assertAlmostEqual(two_samples.counts_p([20, 30], [30, 20]), two_samples.chi_square_p(4, 1), places=10)
        self.assertAlmostEqual(two_samples.counts_p([10, 90], [40, 160]), two_samples.chi_square_p(4.8, 1), places=10)
        self.assertEqual(two_samples.counts_p([50], [70]), 1)

    def test_kolmogorov_and_smirnov_as_tabulated(self):
        a = list(range(1000))
        # A shift by d of the range is a distance of d; 1.628 sqrt(2 / n) is that of 1 %.
        shift = round(1000 * 1.628 * (2 / 1000) ** 0.5)
        self.assertAlmostEqual(two_samples.kolmogorov_smirnov_p(a, [x + shift for x in a]), 0.01, delta=0.001)
        self.assertEqual(two_samples.kolmogorov_smirnov_p(a, a), 1)

    def test_equal_distributions_pass_and_others_do_not(self):
        draw = random.Random(5)
        def zipf(n, theta):
            return draw.choices(range(2000), weights=[(rank + 1) ** -theta for rank in range(2000)], k=n)
        self.assertGreater(two_samples.numbers_p(zipf(5000, 0.9), zipf(5000, 0.9)), 0.01)
        self.assertLess(two_samples.numbers_p(zipf(5000, 0.9), zipf(5000, 0.8)), 0.01)
        a, b, c = zipf(20000, 0.9), zipf(20000, 0.9), zipf(20000, 0.8)
        renamed = [(key * 7919 + 13) % 2003 for key in b]
        self.assertGreater(two_samples.popularity_p(a, renamed), 0.01)
        self.assertLess(two_samples.popularity_p(a, c), 0.01)
        lengths = [draw.gauss(500, 100) for _ in range(400)]
        self.assertGreater(two_samples.mean_p(502, 400, lengths), 0.01)
        self.assertLess(two_samples.mean_p(540, 400, lengths), 0.01)

    def test_logarithmic_cells_hold_each_number_once(self):
        counts = two_samples.logarithmic_cells(range(16))
        self.assertEqual(counts[:8], [1, 1, 1, 1, 2, 2, 4, 4])
        self.assertEqual(sum(two_samples.logarithmic_cells(range(100000))), 100000)

    def test_verdicts(self):
        verdicts = [row.verdict for row in rows.shares("w", {"get": 500, "put": 500}, {"get": 505, "put": 480, "seek": 15})]
        self.assertEqual(verdicts, ["same", "differs", "differs"])
        self.assertEqual(rows.number("w", "n", 100, 101).verdict, "same")
        self.assertEqual(rows.number("w", "n", 100, 102).verdict, "differs")
        self.assertEqual(rows.number("w", "n", 100, 102, known="for a reason").verdict, "known")
        self.assertEqual(rows.tested("w", "t", "", "", 0.009).verdict, "differs")


class ReadersTest(unittest.TestCase):
    def test_ycsb(self):
        self.assertEqual(ycsb.key_of(0), "user6284781860667377211")
        lines = ["READ usertable user1 [ <all fields>]\n", "UPDATE usertable user1 [ field1=a b field0=] ]c ]\n", "SCAN usertable user22 47 [ <all fields>]\n",
                 "READ usertable user1 [ <all fields>]\n", "READ usertable user3 [ <all fields>]\n", "[READ], Operations, 3\n"]
        operations = ycsb.join_read_modify_writes(ycsb.parse(lines))
        self.assertEqual([(o.kind, o.key, o.scan_rows, o.written) for o in operations],
                         [("read-modify-write", "user1", 0, 7), ("scan", "user22", 47, 0), ("point-read", "user1", 0, 0), ("point-read", "user3", 0, 0)])
        inserted = [ycsb.Operation("point-read", "a"), ycsb.Operation("insert", "c"), ycsb.Operation("point-read", "c"), ycsb.Operation("point-read", "a")]
        self.assertEqual(ycsb.ages(inserted, {"a": 0, "b": 1}, 1), [1, 0, 2])

    def test_sysbench(self):
        log = ["261127  1:21:31\t     5 Execute\tBEGIN", "\t\t     5 Execute\tSELECT c FROM sbtest1 WHERE id=5410", "\t\t     5 Execute\tSELECT DISTINCT c FROM sbtest2 WHERE id BETWEEN 5031 AND 5130 ORDER BY c",
               "\t\t     5 Execute\tUPDATE sbtest2 SET k=k+1 WHERE id=4808", "\t\t     5 Execute\tUPDATE sbtest2 SET c='18-64' WHERE id=7", "\t\t     5 Prepare\tDELETE FROM sbtest1 WHERE id=?",
               "\t\t     5 Execute\tDELETE FROM sbtest1 WHERE id=9", "\t\t     5 Query\tINSERT INTO sbtest1 (id, k, c, pad) VALUES (9, 4989, '76', '1')", "\t\t     5 Execute\tCOMMIT"]
        self.assertEqual([tuple(s) for s in sysbench.parse(log)], [("begin", 0, 0, 0), ("point select", 1, 5410, 0), ("range select", 2, 5031, 100), ("update of k", 2, 4808, 0),
                                                                  ("update of c", 2, 7, 0), ("delete", 1, 9, 0), ("insert", 1, 9, 4989), ("commit", 0, 0, 0)])
        both = [sysbench.Statement(kind, table) for kind, table in
                [("begin", 0), ("point select", 2), ("point select", 2), ("range select", 1), ("range select", 3), ("delete", 3), ("insert", 3), ("commit", 0)]]
        self.assertEqual(sysbench.drawn_tables(both * 2), [2, 1, 3, 3] * 2)
        self.assertEqual(sysbench.drawn_tables(both[1:3]), [2, 2], "selects outside of a transaction each have a draw")


@unittest.skipIf(shutil.which("zstd") is None, "there is no zstd (Debian: apt install zstd)")
class TraceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(dir=sys.argv[2]))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.directory)

    def trace(self, workload, *words):
        testbed("--engine", "btree", "--ram", "64M", "--rows", "2000", "--threads", "1", "--warmup", "0", "--account", "off", "--quiet", "--workload", workload, "--record", "t.trace", *words,
                directory=self.directory)
        return trace_file.read(self.directory / "t.trace")

    def test_a_transaction_of_sysbench_is_its_statements(self):
        statements = sysbench.ours(self.trace("sysbench-load,oltp-read-write", "--operations", "20").operations)
        kinds = ["begin", *["point select"] * 10, *["range select"] * 4, "update of k", "update of c", "delete", "insert", "commit"]
        self.assertEqual([s.kind for s in statements], kinds * 20)
        self.assertTrue(all(s.number == 100 for s in statements if s.kind == "range select" and s.id < 1900))
        self.assertEqual([(s.table, s.id) for s in statements if s.kind == "delete"], [(s.table, s.id) for s in statements if s.kind == "insert"])

    def test_an_inserted_row_may_be_the_next_that_is_read(self):
        loaded = {o.key: number for number, o in enumerate(ycsb.ours(self.trace("ycsb-load")))}
        ages = ycsb.ages(ycsb.ours(self.trace("ycsb-load,ycsb-d", "--operations", "6000")), loaded, len(loaded) - 1)
        zeta = sum(rank ** -0.99 for rank in range(1, 2001))
        self.assertAlmostEqual(ages.count(0) / len(ages), 1 / zeta, delta=0.02)
        self.assertAlmostEqual(ages.count(1) / len(ages), 0.5 ** 0.99 / zeta, delta=0.015)

    def test_inserted_keys_are_hashes_as_those_of_the_load(self):
        for workload in ("ycsb-d", "ycsb-e"):
            order = ycsb.ascending(ycsb.ours(self.trace(f"ycsb-load,{workload}", "--operations", "6000")))
            self.assertAlmostEqual(order["below"] / sum(order.values()), 0.5, delta=0.15, msg=workload)

    def test_the_facts_of_a_trace_count_what_it_holds(self):
        for workload in ("fillseq", "fillrandom,multireadrandom", "ycsb-load,ycsb-e"):
            trace = self.trace(workload, *([] if workload == "fillseq" else ["--operations", "300"]))
            calls = [call for operation in trace.operations for call in operation.calls]
            for name, count in trace.facts["calls"].items():
                mine = sum(call.number if name.startswith(("next", "prev")) else 1 for call in calls if call.name == name)
                self.assertIn(count, (mine, sum(call.name == name for call in calls)), f"{workload} {name}")
            self.assertEqual(len(trace.operations), trace.facts["operations"])
        self.assertEqual(db_bench.Calls(self.trace("fillseq")).puts, list(range(2000)))


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0]])
