#!/usr/bin/env python3
"""Runs the notebook of the Python package on results of the real program, and tries its tables and plots.

Usage: notebook_test.py TESTBED DIRECTORY     (needs testbed_results, pandas and matplotlib; polars and pyarrow if they are there)
"""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

os.environ["MPLBACKEND"] = "Agg"
import matplotlib.pyplot as pyplot  # noqa: E402
import pandas  # noqa: E402

import testbed_results as tr  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TESTBED = sys.argv[1]
MEASURE = "--engine btree --ram 64M --rows 20000 --seconds 2.2 --warmup 0 --threads 1,2 --repeat 2 --quiet --json run.json --label x"


def has(package):
    return importlib.util.find_spec(package) is not None


class NotebookTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(dir=sys.argv[2]))
        for words in (MEASURE.split(), ["results", "add", "run.json"]):
            subprocess.run([TESTBED, *words], cwd=cls.directory, check=True)
        cls.file = cls.directory / "run.json"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.directory)

    def test_every_cell_runs_in_order(self):
        notebook = json.loads((SOURCE / "python/results.ipynb").read_text(encoding="utf-8"))
        names, before = {}, os.getcwd()
        os.chdir(self.directory)
        try:
            for place, cell in enumerate(notebook["cells"]):
                code = "".join(cell["source"])
                if cell["cell_type"] != "code" or "to_parquet" in code and not has("pyarrow"):
                    continue
                exec(compile(code, f"cell {place}", "exec"), names)
        finally:
            os.chdir(before)
        self.assertIsInstance(names["results"], pandas.DataFrame)
        self.assertGreater(len(names["worst"]), 0)
        self.assertGreaterEqual(len(pyplot.get_fignums()), 5)
        for number in pyplot.get_fignums():
            file = self.directory / f"plot{number}.png"
            pyplot.figure(number).savefig(file)
            self.assertGreater(file.stat().st_size, 5000, file)
        pyplot.close("all")
        if has("pyarrow"):
            again = pandas.read_parquet(self.directory / "results.parquet")
            self.assertEqual(list(again.rate.dropna()), list(names["results"].rate.dropna()))

    def test_a_table_has_the_figures_of_the_document(self):
        document = json.loads(self.file.read_text(encoding="utf-8"))
        results = tr.results(self.file)
        rates = [operation["rate"] for run in document["runs"] for phase in run["phases"]
                 for operation in phase.get("operations", [])]
        self.assertEqual(list(results.rate.dropna()), rates)
        self.assertEqual(set(results.machine_cpus), {int(document["machine"]["cpus"])})
        if has("polars"):
            of_polars = tr.results(self.file, library="polars")
            self.assertEqual([rate for rate in of_polars["rate"].to_list() if rate is not None], rates)
            tr.plot_time(tr.series(self.file, library="polars"))

    def test_a_table_without_rows_has_its_columns(self):
        nothing, columns = "select engine, rate from results where kind = 'none'", list(tr.results(self.file).columns)
        for library in ("pandas", "polars") if has("polars") else ("pandas",):
            found = tr.query(self.directory / "testbed-results.db", nothing, library=library)
            self.assertEqual((list(found.columns), len(found)), (["engine", "rate"], 0))
            document = {**json.loads(self.file.read_text(encoding="utf-8")), "runs": []}
            empty = self.directory / "empty.json"
            empty.write_text(json.dumps(document), encoding="utf-8")
            found = tr.results(empty, library=library)
            self.assertEqual((list(found.columns), len(found)), (columns, 0))

    def test_text_on_the_axis_is_in_order(self):
        found = [{"engine": engine, "size": size, "rate": 1} for engine, size in (("btree", "100-1000"), ("rocksdb", "400"), ("btree", 50))]
        axes = tr.plot_curve(found, "size", "rate")
        axes.figure.canvas.draw()
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["50", "400", "100-1000"])
        pyplot.close("all")

    def test_loads_are_the_repeats_of_a_curve(self):
        def points(*rows):
            names = ("path", "document", "load", "rate")
            return tr.plots._points([{"engine": "btree", "threads": 1, **dict(zip(names, row))} for row in rows], "threads", "rate", "engine")

        runs = [("a.json", None, load, rate) for load, rate in ((0, 100), (0, 101), (0, 99), (1, 200), (1, 202), (1, 198))]
        self.assertEqual(points(*runs), {"btree": {1: [100, 200]}})
        self.assertEqual(tr.plots._interval(points(*runs[:3])["btree"][1]), (100, 0), "one load has no interval, however many runs")
        of_stores = [("s.db", document, 0, rate) for document, rate in ((1, 100), (1, 300), (2, 400))]
        self.assertEqual(points(*of_stores), {"btree": {1: [200, 400]}}, "another document, another load")
        self.assertEqual(points((None, None, 0, 100), (None, None, 0, 300)), {"btree": {1: [100, 300]}}, "nobody knows of which document")
        self.assertEqual(points(("a.json", None, None, 100), ("a.json", None, None, 300)), {"btree": {1: [100, 300]}})

    def test_plots_draw_the_figures(self):
        axes = tr.plot_curve(tr.results(self.file).query("kind == 'measure'"), "threads", "rate", by="operation")
        line = axes.get_lines()[0]
        self.assertEqual(list(line.get_xdata()), [1, 2])
        series = tr.rows(self.file, "series")
        measured = [row for row in series if row["kind"] == "measure"]
        stalled = [row for row in measured if all(row[name] == measured[-1][name] for name in ("run", "phase_index"))][0]
        stalled["max_us"] = 2e6  # the phase's first second: the last one may be a rest
        axes = tr.plot_time(series)
        shaded = [patch for patch in axes[0].patches if patch.get_alpha() == 0.2]
        self.assertEqual(len(shaded), 1, "the stall is shaded")
        bars = tr.plot_written(self.file)
        heights = {}
        for patch in bars.patches:
            heights[round(patch.get_x(), 3)] = heights.get(round(patch.get_x(), 3), 0) + patch.get_height()
        document = json.loads(self.file.read_text(encoding="utf-8"))
        loads = [phase for run in document["runs"] for phase in run["phases"] if phase["name"] == "insert"]
        self.assertGreater(len(loads), 1)
        written = 0
        for run in document["runs"]:
            before = None  # the phase to which a settle belongs
            for phase in run["phases"]:
                before = before if phase["kind"] == "settle" else phase["name"]
                written += sum(tr.plots._writes(phase["account"]).values()) if before == "insert" else 0
        self.assertAlmostEqual(min(heights.items())[1], written / sum(phase["user_bytes_written"] for phase in loads))
        stored = [part for parts in tr.plots._sizes(self.file).values() for part in parts]
        self.assertAlmostEqual(sum(patch.get_height() for patch in tr.plot_space(self.file).patches), sum(stored) / 2**20)
        asked = tr.plot_ledger(self.file)
        asked.figure.canvas.draw()
        self.assertEqual(asked.get_yticklabels()[0].get_text(), "engine asks its cache")
        self.assertGreater(sum(patch.get_width() for patch in asked.patches), 0)
        results = tr.results(self.file).query("kind == 'measure'")
        look = tr.plot_curve(results, "threads", "rate").get_lines()[0]
        self.assertEqual((look.get_color(), look.get_marker()), (tr.ENGINES["btree"][0], tr.ENGINES["btree"][2]))
        pyplot.close("all")
        with self.assertRaises(tr.ResultsError):
            tr.plot_time([])
        with self.assertRaises(tr.ResultsError):
            tr.plot_ledger(self.file, "both")

    def test_names_are_no_formulas(self):
        document = json.loads(self.file.read_text(encoding="utf-8"))
        document["label"] = r"_$\frac$ <b>"
        hostile = self.directory / "hostile.json"
        hostile.write_text(json.dumps(document), encoding="utf-8")
        results = tr.results(hostile)
        for axes in (tr.plot_percentiles([self.file, hostile]), tr.plot_written(hostile),
                     tr.plot_curve(results, "threads", "rate", by="label"), tr.plot_curve(results, "label", "rate")):
            axes.figure.canvas.draw()
            shown = [text.get_text() for text in (*axes.get_legend().get_texts(), *axes.get_xticklabels())]
            self.assertTrue(any(r"\$\frac\$ <b>" in text for text in shown), shown)
        pyplot.close("all")

    def test_percentiles_are_those_of_the_tables(self):
        document = json.loads(self.file.read_text(encoding="utf-8"))
        operations = [operation for run in document["runs"] for phase in run["phases"] if phase["kind"] == "measure"
                      for operation in phase["operations"]]
        lines = tr.plot_percentiles(self.file).get_lines()
        self.assertEqual(len(lines), len(operations))
        self.assertEqual(sum(" thr load 2" in line.get_label() for line in lines) * 2, len(lines), "the loads are told apart")
        for line, operation in zip(lines, operations):
            median = [y for x, y in zip(line.get_xdata(), line.get_ydata()) if x < 2][-1]
            self.assertEqual(median, operation["latency_us"]["p50"])
        pyplot.close("all")

    def test_a_search_is_drawn_from_the_lowest_rate_up(self):
        document = json.loads(self.file.read_text(encoding="utf-8"))
        steps = [{"rate": 900, "count": 9000, "limited_us": 10}, {"target_rate": 450, "rate": 450, "count": 4500, "limited_us": 20},
                 {"target_rate": 225, "rate": 225, "count": 2250, "limited_us": 5}]
        search = {"name": "point-read", "limit": "p99 < 15us", "limit_us": 15, "limited_share": 0.99, "steps": steps}
        document["runs"][0]["find_rate"] = [search]
        searched = self.directory / "searched.json"
        searched.write_text(json.dumps(document), encoding="utf-8")
        curve, limit = tr.plot_rates(searched).get_lines()
        self.assertEqual((list(curve.get_xdata()), list(curve.get_ydata())), ([225, 450], [5, 20]))
        self.assertEqual(list(limit.get_ydata()), [15, 15])
        pyplot.close("all")
        with self.assertRaises(tr.ResultsError):
            tr.plot_rates(self.file)


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1])
