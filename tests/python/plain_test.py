#!/usr/bin/env python3
"""Tests the Python package on results of the real program, with Python's standard library alone.

Usage: plain_test.py TESTBED DIRECTORY     (DIRECTORY is made, and emptied at the end)
"""
import ast
import contextlib
import csv
import json
import math
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "python"))
import testbed_results as tr  # noqa: E402

TESTBED = sys.argv[1]
MEASURE = ("--engine btree --ram 64M --rows 2000 --seconds 1.2 --warmup 0.1 --threads 1,2 --quiet "
           "--workload insert,mixed --mix point-read=70,update=30").split()


def testbed(*words, directory):
    return subprocess.run([TESTBED, *words], cwd=directory, check=True, capture_output=True, text=True).stdout


def as_in_csv(value):
    return {None: "", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else value


class PlainTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(dir=sys.argv[2]))
        testbed(*MEASURE, "--json", "run.json", "--csv", "run.csv", "--csv-series", "series.csv",
                "--label", "a \"name\", with\nlines <script>", directory=cls.directory)
        cls.file = cls.directory / "run.json"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.directory)

    def compare(self, found, name):
        with open(self.directory / name, newline="", encoding="utf-8") as file:
            expected = list(csv.DictReader(file))
        self.assertEqual(len(found), len(expected))
        compared = 0
        for row, record in zip(found, expected):
            self.assertEqual([column for column in row if column not in ("path", "document")], list(record))
            for column, text in record.items():
                value = as_in_csv(row[column])
                if isinstance(value, (int, float)):
                    self.assertEqual(value, float(text), column)
                else:
                    self.assertEqual(value, text, column)
                compared += 1
        self.assertGreater(compared, 50)

    def test_rows_are_those_of_the_csv(self):
        self.compare(tr.rows(self.file), "run.csv")
        self.compare(tr.rows(self.file, "series"), "series.csv")
        self.assertEqual([row["threads"] for row in tr.rows(self.file, "runs")], [1, 2])

    def test_the_io_of_other_programs_is_known_by_the_kernel_account_alone(self):
        accounts = {"device": {"reads": 5}}, {"device": {"reads": 5}, "other_threads": []}
        found = [tr.readers._row(tr.COLUMNS["results"], {}, {}, 0, {"account": account}, 0) for account in accounts]
        self.assertEqual([(row["phase_own_reads"], row["phase_other_programs_reads"]) for row in found], [(5, None), (5, 0)])

    def test_operations_without_an_answer_are_counted(self):
        lost = {"operations": [], "unanswered": [{"name": "insert", "count": 3, "max_us": 9}, {"name": "update", "count": 4, "max_us": 5}]}
        found = [tr.readers._row(tr.COLUMNS["results"], {}, {}, 0, phase, 0) for phase in (lost, {"operations": []}, {"kind": "settle"}, None)]
        self.assertEqual([row["phase_unanswered"] for row in found], [7, 0, None, None])

    def test_causes_are_all_that_the_account_has(self):
        document = json.loads(self.file.read_text(encoding="utf-8"))
        phase = document["runs"][-1]["phases"][-1]
        phase["account"]["other_threads"] = [{"thread": "jbd2", "kind": "fs-journal", "kernel": {"writes": 2, "write_bytes": 8192}},
                                             {"thread": "rsync", "kind": "other-file", "kernel": {"writes": 1, "write_bytes": 4096}}]
        changed = self.directory / "causes.json"
        changed.write_text(json.dumps(document), encoding="utf-8")
        names = [cause["name"] for cause in phase["account"]["causes"]] + ["jbd2", "rsync"]
        found = tr.rows(changed, "causes")[-len(names):]  # of the last phase
        changed.unlink()
        self.assertEqual([(row["phase"], row["cause"]) for row in found], [(phase["name"], name) for name in names])
        self.assertEqual([(row["ground"], row["kernel_by_kind_fs_journal_write_bytes"], row["kernel_by_kind_other_file_write_bytes"]) for row in found[-2:]],
                         [("kernel thread", 8192, None), ("other program", None, 4096)])
        for row, cause in zip(found, phase["account"]["causes"]):
            self.assertEqual((row["file_write_bytes"], row["file_by_kind_data_write_bytes"]),
                             (cause["file"]["write_bytes"], cause["file_by_kind"].get("data", {}).get("write_bytes")))

    def test_the_label_of_a_plot_names_the_tasks(self):
        document = json.loads(self.file.read_text(encoding="utf-8"))
        one = [name for name, _, _ in tr.plots._operations(self.file)]
        self.assertIn("btree update, 2 thr", one)
        for phase in document["runs"][-1]["phases"]:
            phase["tasks"] = [{"task": 0}, {"task": 1}, {"task": 2}]
        changed = self.directory / "tasks.json"
        changed.write_text(json.dumps(document), encoding="utf-8")
        several = [name for name, _, _ in tr.plots._operations(changed)]
        changed.unlink()
        self.assertIn("btree update, 2 thr x 3 tasks", several)
        self.assertIn("btree update, 1 thr", several)

    def test_columns_are_the_programs(self):
        now = testbed("results", "columns", "--json", "-", directory=self.directory)
        kept = (SOURCE / "python/testbed_results/columns.json").read_text(encoding="utf-8")
        self.assertEqual(now, kept, "make it anew: testbed results columns --json python/testbed_results/columns.json")

    def test_a_store_has_the_same_rows(self):
        try:
            testbed("results", "add", "run.json", directory=self.directory)
        except subprocess.CalledProcessError as error:
            if "no SQLite" in error.stderr:
                self.skipTest("this build has no SQLite")
            raise
        store = self.directory / "testbed-results.db"
        for table in ("results", "series", "causes", "runs"):
            of_file, of_store = tr.rows(self.file, table), tr.rows(store, table)
            self.assertEqual(len(of_file), len(of_store))
            for one, other in zip(of_file, of_store):
                for name in tr.COLUMNS[table]:
                    self.assertEqual(one[name["name"]], other[name["name"]], name)
        with self.assertRaisesRegex(tr.ResultsError, "cannot answer"):
            tr.query(store, "drop table results")

    def test_true_and_false_of_documents_and_of_stores_are_one_type(self):
        def types(*values):
            return [type(row["partial"]) for row in tr.readers._of_one_type([{"partial": value} for value in values])]

        self.assertEqual(types(True, None, False), [bool, type(None), bool])
        self.assertEqual(types(True, None, 0), [int, type(None), int])
        self.assertEqual(types(True, 0, "x"), [str, str, str])

    def test_a_store_in_use_is_no_other_file(self):
        store, wait = self.directory / "used.db", tr.readers.WAIT_SECONDS
        with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as writer:
            writer.execute(f"PRAGMA application_id = {tr.STORE_APPLICATION}")
            writer.execute(f"PRAGMA user_version = {tr.STORE_VERSION}")
            writer.execute("CREATE TABLE results (a)")
            writer.execute("BEGIN EXCLUSIVE")
            try:
                tr.readers.WAIT_SECONDS = 0
                with self.assertRaisesRegex(tr.ResultsError, r"used\.db cannot be read now \(.*locked\); `testbed results list --store "):
                    tr.rows(store)
            finally:
                tr.readers.WAIT_SECONDS = wait
        self.assertEqual(tr.rows(store), [])
        store.unlink()

    def test_directories_are_read(self):
        (self.directory / "d").mkdir()
        for name in ("a", "b"):
            shutil.copy(self.file, self.directory / "d" / f"{name}.json")
        self.assertEqual(len(tr.rows(self.directory / "d")), 2 * len(tr.rows(self.file)))
        self.assertEqual(len(tr.documents([self.file, self.directory / "d"])), 3)

    def test_a_comparison_in_a_directory_is_left_out_and_named(self):
        mixed = self.directory / "mixed"
        mixed.mkdir()
        (mixed / "ab.json").write_text('{"schema": "testbed-ab/1"}', encoding="utf-8")
        with self.assertRaisesRegex(tr.ResultsError, "holds comparisons of testbed ab alone"):
            tr.rows(mixed)
        shutil.copy(self.file, mixed / "run.json")
        with self.assertWarnsRegex(UserWarning, "left out .*ab.json: a comparison of testbed ab"):
            self.assertEqual(len(tr.rows(mixed)), len(tr.rows(self.file)))
        with self.assertWarnsRegex(UserWarning, "left out .*ab.json"):
            self.assertEqual(len(tr.documents(mixed)), 1)
        with self.assertRaisesRegex(tr.ResultsError, "its schema is 'testbed-ab/1'"):
            tr.rows(mixed / "ab.json")

    def test_stalls_are_those_of_the_report(self):
        def stalls(*seconds):
            return tr.plots._stalls([{"end_seconds": end, "operations": operations, "max_us": worst} for end, operations, worst in seconds])
        usual = [(1.0, 1000, 100), (2.0, 1000, 100), (3.0, 1000, 100)]
        self.assertEqual(stalls(*usual), [])
        self.assertEqual(stalls(*usual, (3.01, 0, 0)), [], "a rest has no rate")
        self.assertEqual(stalls(*usual, (7.0, 4000, 100)), [(3.0, 7.0)], "the process stood still between two operations")
        self.assertEqual(stalls(*usual, (4.0, 50, 100)), [(3.0, 4.0)])
        self.assertEqual(stalls(*usual, (4.0, 1000, 1e6)), [(3.0, 4.0)])
        self.assertEqual(stalls(*usual, (3.2, 1, 1e6)), [(3.0, 3.2)], "an operation ended in the rest")

    def test_written_bytes_of_several_runs_are_one_ratio(self):
        def phase(user, kernel, other):
            causes = [{"name": "insert", "file": {"write_bytes": 900}, "kernel": {"write_bytes": kernel}},
                      {"name": "checkpoint", "file": {"write_bytes": 7000}, "kernel": {"write_bytes": 0}}]
            others = [{"kind": "data", "thread": "flush", "kernel": {"write_bytes": other}},
                      {"kind": "other-file", "thread": "rsync", "kernel": {"write_bytes": 5555}}]
            return {"name": "insert", "kind": "load", "user_bytes_written": user, "account": {"causes": causes, "other_threads": others}}
        document = {"schema": tr.SCHEMA, "options": {"engine": "btree"}, "label": "x",
                    "runs": [{"phases": [phase(100, 300, 50)]}, {"phases": [phase(300, 500, 150)]}]}
        file = self.directory / "written.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        bar = "x\nbtree\ninsert"
        self.assertEqual(tr.plots._amplification(file), {"insert": {bar: 2.0}, "checkpoint": {bar: 0.0}, "kernel threads": {bar: 0.5}})
        # A settle's writes belong to the phase before it; what follows a phase that wrote nothing is of no bar.
        settled = json.loads(json.dumps(document))
        settled["runs"][0]["phases"] += [{**phase(0, 400, 0), "name": "settle", "kind": "settle"}, {**phase(0, 9, 9), "name": "point-read", "kind": "measure"},
                                         {**phase(0, 77, 7), "name": "settle", "kind": "settle"}]
        file.write_text(json.dumps(settled), encoding="utf-8")
        self.assertEqual(tr.plots._amplification(file), {"insert": {bar: 3.0}, "checkpoint": {bar: 0.0}, "kernel threads": {bar: 0.5}})
        for run in document["runs"]:
            run["phases"][0]["account"].pop("other_threads")
            for cause in run["phases"][0]["account"]["causes"]:
                cause.pop("kernel")
        file.write_text(json.dumps(document), encoding="utf-8")
        self.assertEqual(tr.plots._amplification(file)["checkpoint"], {bar: 35.0}, "without the kernel's account the files' calls count")
        file.unlink()

    def test_engines_look_as_in_the_report(self):
        palette = (SOURCE / "tools/html/page/palette.js").read_text(encoding="utf-8")
        look = r"'?([a-z0-9-]+)'?: \{light: '(#[0-9a-f]+)', dark: '#[0-9a-f]+', dash: '(\w+)', symbol: '(\w+)'\}"
        report = {name: (colour, line, symbol.startswith("empty")) for name, colour, line, symbol in re.findall(look, palette)}
        self.assertEqual({name: (colour, line, hollow) for name, (colour, line, _, hollow) in tr.ENGINES.items()}, report)
        self.assertEqual(len(set(tr.ENGINES.values())), len(report), "two engines look the same")
        curves = [tuple(tr.plots._look(place).items()) for place in range(24)]
        self.assertEqual(len(set(curves)), 24, "two curves of a plot look the same")
        named = {tuple(tr.plots._look(0, engine).items()) for engine in tr.ENGINES}
        self.assertNotIn(tuple(tr.plots._look(0, "an engine of an extension").items()), named)

    def test_the_ledger_goes_down_to_the_device(self):
        causes = [{"name": "point-read", "file": {"read_bytes": 8192, "write_bytes": 0}, "kernel": {"read_bytes": 4096}}]
        others = [{"kind": "data", "kernel": {"write_bytes": 50}}, {"kind": "other-file", "kernel": {"write_bytes": 7}}]
        account = {"engine": {"block_requests": 10, "block_reads": 2, "block_read_bytes": 8192}, "causes": causes, "other_threads": others,
                   "device": {"read_bytes": 4096, "write_bytes": 57}}
        phase, document = {"user_bytes_written": 100, "account": account}, {"options": {"page_size": 8192}}
        self.assertEqual(tr.plots._ledger(document, phase, "read"),
                         [("engine asks its cache", {"clients": 40960}), ("file calls", {"point-read": 8192}),
                          ("kernel requests", {"point-read": 4096}), ("device", {"device": 4096})])
        self.assertEqual(tr.plots._ledger(document, phase, "write"),
                         [("keys and values", {"clients": 100}), ("kernel requests", {"kernel threads": 50}), ("device", {"device": 50})])
        # An engine that does not count the bytes of its blocks missed two, for which the operations read 4,096 bytes each.
        account["engine"] = {"block_requests": 10, "block_hits": 8, "block_reads": 2}
        causes[0]["ground"] = "foreground"
        causes.append({"name": "compaction", "ground": "background", "file": {"read_bytes": 1 << 20}})
        self.assertEqual(tr.plots._ledger(document, phase, "read")[0], ("engine asks its cache", {"clients": 40960}))
        account["engine"] = {"block_requests": 10}
        self.assertEqual(tr.plots._ledger(document, phase, "read")[0], ("engine asks its cache", {"clients": 81920}), "all hits: pages")
        self.assertEqual(tr.plots._ledger({"options": {}}, {}, "read"), [])

    def test_the_changes_of_a_comparison_have_their_intervals(self):
        def answer(metric, told, effect, low, high, **more):
            return {"side": "b", "metric": metric, "answer": told, "scale": "ratio", "effect": effect, "low": low, "high": high, **more}
        document = {"schema": "testbed-ab/1", "until": 0.02, "answers": [
            answer("rate", "faster", 1.1, 1.05, 1.16, asked=True), answer("p99", "cannot be told", 0.9, 0.8, 1.05),
            answer("engine_misses", "higher", 100.0, 90.0, 110.0), answer("file_reads", "same", 0.0, 0.0, 0.0),
            answer("flushes", "higher", 3.0, 2.0, 4.0, scale="difference")]}
        file = self.directory / "ab.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        axes = unittest.mock.MagicMock()
        tr.plot_changes(file, axes)
        self.assertEqual([call.args[0] for call in axes.plot.call_args_list[::2]],
                         [[math.log(low), math.log(high)] for low, high in ((1.05, 1.16), (0.8, 1.05), (90, 110))])
        self.assertEqual([call.kwargs["fillstyle"] for call in axes.plot.call_args_list[1::2]], ["full", "none", "full"])
        self.assertEqual(axes.set_yticks.call_args.args[1], ["rate", "p99", "engine_misses"])
        self.assertAlmostEqual(axes.set.call_args.kwargs["xlim"][1], 1.12 * math.log(1 / 0.8), msg="the hundredfold one does not stretch the axis")
        self.assertEqual([tr.plots._ratio(math.log(ratio)) for ratio in (1, 1.05, 0.5, 2, 8)], ["0 %", "+5 %", "÷ 2", "× 2", "× 8"])
        with self.assertRaisesRegex(tr.ResultsError, "is no results document"):
            tr.documents(file)
        file.write_text(json.dumps({**document, "answers": []}), encoding="utf-8")
        with self.assertRaisesRegex(tr.ResultsError, "no answer with an interval"):
            tr.plot_changes(file, axes)
        file.unlink()
        with self.assertRaisesRegex(tr.ResultsError, "is no comparison by testbed ab"):
            tr.plot_changes(self.file, axes)

    def test_space_is_the_mean_over_the_runs(self):
        document = json.loads(self.file.read_text(encoding="utf-8"))
        after = [phase for run in document["runs"] for phase in run["phases"] if phase["name"] == "mixed" and phase["kind"] == "measure"]
        self.assertEqual(len(after), 2)
        data, log = tr.plots._sizes(self.file)["btree\nafter mixed"]
        self.assertAlmostEqual(data + log, sum(phase["database_bytes"] for phase in after) / 2)
        self.assertAlmostEqual(log, sum(phase["log_file_bytes"] for phase in after) / 2)

    def test_a_run_without_a_phase_is_a_row(self):
        document = json.loads(self.file.read_text(encoding="utf-8"))
        document["runs"].append({"threads": 7, "repeat": 0, "phases": [], "partial": True,
                                 "error": {"sentence": "the disk is gone", "exit_code": 2}})
        file = self.directory / "failed.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        for table in ("results", "series", "causes"):
            found, before = tr.rows(file, table), len(tr.rows(self.file, table))
            self.assertEqual(len(found), before + (table == "results"))
        failed = tr.rows(file)[-1]
        file.unlink()
        self.assertEqual((failed["error_sentence"], failed["threads"], failed["engine"]), ("the disk is gone", 7, "btree"))
        for name in ("phase_index", "phase", "kind", "count", "phase_own_reads", "phase_other_programs_reads"):
            self.assertIsNone(failed[name], name)

    def test_failed_runs_of_an_experiment_are_rows(self):
        results = self.directory / "e"
        for folder in ("cells", "loads", "failed"):
            (results / folder).mkdir(parents=True)
        (results / "experiment.json").write_text("{}", encoding="utf-8")
        for place in ("cells/a.json", "failed/a.json", "failed/b.json"):
            shutil.copy(self.file, results / place)
        self.assertEqual([pathlib.Path(path).relative_to(results).as_posix() for path, _ in tr.documents(results)],
                         ["cells/a.json", "failed/b.json"])

    def test_what_is_no_results_file_is_a_sentence(self):
        whole = self.file.read_text(encoding="utf-8")
        broken = self.directory / "broken"
        for text, sentence in ((whole[:len(whole) // 2], "cut off"), ("{\"schema\": \"testbed-results/0\"}", "its schema is"),
                               ("[1]", "its schema is"), ("SQLite format 3\0" + "x" * 200, "is no store"),
                               ("{\"schema\": \"testbed-results/1\", \"runs\": 7}", "is damaged"), ("[" * 100000, "is no JSON")):
            broken.write_text(text, encoding="utf-8")
            with self.assertRaisesRegex(tr.ResultsError, sentence):
                tr.rows(broken)
        # A text where a number belongs was a ValueError without the file's name.
        document = json.loads(whole)
        account = document["runs"][0]["phases"][0].setdefault("account", {})
        account["device"] = {"reads": 5}
        account["other_threads"] = [{"kind": "other-file", "kernel": {"reads": "many"}}]
        broken.write_text(json.dumps(document), encoding="utf-8")
        with self.assertRaisesRegex(tr.ResultsError, "broken is damaged"):
            tr.rows(broken)
        # A plot of a store said that it was no JSON, or cut off.
        broken.write_text("SQLite format 3\0" + "x" * 200, encoding="utf-8")
        for of_documents in (tr.documents, lambda path: list(tr.plots._operations(path)), tr.plots._sizes):
            with self.assertRaisesRegex(tr.ResultsError, "broken is a store, which has the rows of documents"):
                of_documents(broken)
        for path in (self.directory / "none.json", SOURCE / "python"):
            with self.assertRaises(tr.ResultsError):
                tr.rows(path)
        with self.assertRaisesRegex(tr.ResultsError, "none.json cannot be read"):
            tr.documents(self.directory / "none.json")

    def test_a_column_of_a_table_has_numbers_or_text(self):
        found = [{"size": 400, "rate": 1.5, "why": None}, {"size": "100-1000", "rate": None, "why": "x"}, {"size": None}]
        self.assertEqual(tr.readers._of_one_type(found), [
            {"size": "400", "rate": 1.5, "why": None}, {"size": "100-1000", "rate": None, "why": "x"}, {"size": None}])
        self.assertEqual(found[0]["size"], 400)
        self.assertEqual(tr.readers._of_one_type([]), [])

    def test_a_table_without_rows_has_its_columns(self):
        file, store = self.directory / "empty.json", self.directory / "empty.db"
        file.write_text(json.dumps({"schema": tr.SCHEMA, "runs": []}), encoding="utf-8")
        with contextlib.closing(sqlite3.connect(store)) as writer:
            writer.execute(f"PRAGMA application_id = {tr.STORE_APPLICATION}")
            writer.execute(f"PRAGMA user_version = {tr.STORE_VERSION}")
            writer.execute("CREATE TABLE runs (document, engine)")
        for library in ("pandas", "polars"):
            module = unittest.mock.MagicMock()

            def columns():  # the columns that the library was last asked for
                call = module.DataFrame.call_args
                return call.kwargs["columns"] if library == "pandas" else list(call.args[0])
            with unittest.mock.patch.dict(sys.modules, {library: module}):
                for table in (tr.results, tr.series, tr.runs):
                    table(file, library=library)
                    self.assertEqual(columns(), ["path", *(column["name"] for column in tr.COLUMNS[table.__name__])])
                tr.runs(store, library=library)
                self.assertEqual(columns()[:3], ["path", "document", "engine"])
                tr.query(store, "select engine, document as d from runs", library=library)
                self.assertEqual(columns(), ["engine", "d"])
        for path in (file, store):
            path.unlink()

    def curves(self, found, *words, **settings):
        """The curves that are drawn of these rows: their names, and what they are drawn through."""
        axes = unittest.mock.MagicMock()
        tr.plot_curve(found, *words, axes=axes, **settings)
        return {call.kwargs["label"]: (call.args[0], list(call.args[1])) for call in axes.plot.call_args_list}, axes

    def test_a_percentile_of_a_second_of_too_few_operations_has_no_point(self):
        seconds = [{"engine": "e", "phase": "p", "end_seconds": end, "operations": operations, "p50_us": 5.0, "p99_us": 50.0, "max_us": 90.0}
                   for end, operations in ((1.0, 1000), (2.0, 999), (3.0, 19))]
        axes = [unittest.mock.MagicMock() for _ in range(3)]
        tr.plot_time(seconds, axes=axes)
        drawn = {call.kwargs["label"]: [None if math.isnan(us) else us for us in call.args[1]] for call in axes[1].plot.call_args_list}
        self.assertEqual(drawn, {"max": [90.0] * 3, "p99": [50.0, None, None], "p50": [5.0, 5.0, None]})

    def test_a_rate_with_too_few_operations_has_no_point(self):
        steps = [{"target_rate": rate, "count": count, "limited_us": us, **more} for rate, count, us, more in
                 ((300, 5000, 90.0, {"latency_count": 999}), (100, 999, 70.0, {}), (200, 1000, 80.0, {}), (400, 5000, None, {}))]
        search = {"name": "mixed", "limit": "p99 < 5ms", "limit_us": 5000, "limited_share": 0.99, "steps": [{"count": 9, "limited_us": 1.0}, *steps]}
        document = {"schema": tr.SCHEMA, "options": {"engine": "btree"}, "runs": [{"threads": 2, "phases": [], "find_rate": [search]}]}
        file, axes = self.directory / "search.json", unittest.mock.MagicMock()
        file.write_text(json.dumps(document), encoding="utf-8")
        tr.plot_rates(file, axes=axes)
        file.unlink()
        rates, latencies = axes.plot.call_args.args
        self.assertEqual(rates, [100, 200, 300, 400])
        self.assertEqual([None if math.isnan(us) else us for us in latencies], [None, 80.0, None, None])

    def test_a_curve_goes_through_numbers_in_their_order(self):
        found = [{"engine": "btree", "size": size, "rate": rate} for size, rate in (("10", 1), ("20", 2), (5, 3), ("5", 5))]
        self.assertEqual(self.curves(found, "size", "rate")[0], {"btree": ([5, 10, 20], [4, 1, 2])})
        found = [{"engine": "btree", "size": size, "rate": rate} for size, rate in (("100-1000", 1), ("400", 2), (50, 3))]
        curves, axes = self.curves(found, "size", "rate")
        self.assertEqual(curves, {"btree": (["50", "400", "100-1000"], [3, 2, 1])})
        axes.xaxis.update_units.assert_called_once_with(["50", "400", "100-1000"])
        found = [{"threads": threads, "size": 1, "rate": 7} for threads in (16, 2, 1)]
        self.assertEqual(list(self.curves(found, "size", "rate", by="threads")[0]), ["1", "2", "16"])

    def test_a_curve_of_columns_that_have_no_values_is_refused(self):
        found = [{"engine": "btree", "size": 1, "rate": 2, "phase": "x", "why": None}, {"engine": "btree", "size": 2, "seconds": 3}]
        for x, y, by, sentence in (("size", "rate", "label", r"in the column 'label'; there are values in engine, size, rate, phase, seconds$"),
                                   ("size", "rate", "why", "in the column 'why'; there are"), ("sizes", "rate", "engine", "in the column 'sizes'"),
                                   ("size", "rates", "engine", "in the column 'rates'"), ("rate", "seconds", "engine", "in all three columns 'rate', 'seconds' and 'engine'"),
                                   ("size", "seconds", "phase", "in all three columns 'size', 'seconds' and 'phase'"),
                                   ("size", "phase", "engine", "'phase' is no figure: a row has the text 'x'")):
            with self.assertRaisesRegex(tr.ResultsError, sentence):
                self.curves(found, x, y, by=by)
        with self.assertRaisesRegex(tr.ResultsError, "there are no rows to plot"):
            self.curves([], "size", "rate")

    def test_a_series_goes_over_the_numbers_of_its_metrics(self):
        found = [{"cell_name": cell, "metric": metric, "value": value} for cell, metric, value in
                 (("a", "rows_10", 4), ("a", "rows_2", 6), ("a", "rows_2", 8), ("b", "rows_2", 5), ("a", "rows", 1), ("a", "rows_all", 1),
                  ("a", "qps_qr100", 3), ("a", "more_rows_2", 1))]
        for stem, curves in (("rows", {"a": ([2, 10], [7, 4]), "b": ([2], [5])}), ("qps_qr", {"a": ([100], [3])})):
            axes = unittest.mock.MagicMock()
            tr.plot_series(found, stem, "round", axes=axes)
            self.assertEqual({call.kwargs["label"]: (call.args[0], list(call.args[1])) for call in axes.plot.call_args_list}, curves)
            axes.set.assert_called_with(xlabel="round", ylabel=stem)
        with self.assertRaisesRegex(tr.ResultsError, "there are no rows to plot"):
            tr.plot_series(found, "row", axes=unittest.mock.MagicMock())

    def test_the_package_has_the_public_names_of_its_modules(self):
        of_modules = [value for module in (tr.readers, tr.plots) for name, value in vars(module).items()
                      if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__]
        self.assertEqual({value.__name__ for value in of_modules}, set(tr.__all__))
        for value in of_modules:
            self.assertIs(getattr(tr, value.__name__), value)
        constants = {"COLUMNS", "COMPARISON_SCHEMA", "SCHEMA", "STORE_APPLICATION", "STORE_BEGIN", "STORE_VERSION", "WAIT_SECONDS", "COLOURS", "ENGINES", "LINES", "MARKS",
                     "SHORTEST_SECONDS", "STALL_SECONDS", "STALL_US", "T_95"}
        self.assertEqual({name for module in (tr.readers, tr.plots) for name in vars(module) if name.isupper()}, constants)
        self.assertLessEqual(constants, set(vars(tr)))

    def test_the_notebook_is_one(self):
        notebook = json.loads((SOURCE / "python/results.ipynb").read_text(encoding="utf-8"))
        self.assertEqual(notebook["nbformat"], 4)
        names = {"run", "store", "results", "measured", "series", "worst", "os", "tr"}
        called = set()
        for cell in notebook["cells"]:
            self.assertIn(cell["cell_type"], ("code", "markdown"))
            if cell["cell_type"] == "code":
                self.assertEqual(cell["outputs"], [], "outputs are not kept")
                for node in ast.walk(ast.parse("".join(cell["source"]))):
                    if isinstance(node, ast.Name):
                        self.assertIn(node.id, names)
                    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tr":
                        called.add(node.attr)
        self.assertLessEqual(called, set(tr.__all__))
        self.assertGreater(len(called), 6)


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1])
