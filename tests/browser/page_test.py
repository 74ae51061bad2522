#!/usr/bin/env python3
"""Drives the page of `testbed report --html` in headless Chromium.

Usage: page_test.py TESTBED BROWSER DIRECTORY   (run.sh calls it)
       page_test.py --page FILE BROWSER
Makes results by TESTBED in DIRECTORY, opens their page from disk and checks what a reader relies on: it is there within two
seconds, nothing is fetched or complained of, each figure is the document's, links, folds, tooltips and themes work, unequal
terms are said, a stall is shaded at its seconds, it fits 1200, 800 and 400 pixels, axe-core finds nothing, and names of any
content are text. With --page it takes a page that is there, and checks the seconds, the size, the console and the network.
TESTBED_PICTURES names a directory for a picture of each page, width and theme. Exit code 1 with a line for each thing that
is not so.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import axe_playwright_python
from playwright.sync_api import sync_playwright

HOSTILE = "</script><script>window.hit=1</script><img src=x onerror=window.hit=2> \" ' & \n,"
EXPERIMENT = """
name = "mine"
title = "Rates by clients"
about = "How rates grow."
[options]
engine = "null"
workload = "insert,point-read"
rows = 2000
seconds = 0.1
warmup = 0
ram = "32M"
[scale.tiny]
rounds = 2
[[axis]]
name = "threads"
values = [1, 2, 4]
[[axis]]
name = "value-size"
values = [100, 400]
[metrics]
rate = { value = "point_read.rate", unit = "1/s" }
[[table]]
title = "Rates"
rows = ["threads"]
columns = "value-size"
metrics = ["rate"]
published = { columns = ["clients", "100", "400"], rows = [["1", "10", "20"]] }
[[finding]]
id = "X1"
claim = "More clients, more reads"
[[finding.part]]
says = "two against one"
published = "twice"
holds = "rate[threads=2, value-size=100] > 0"
"""
# Two engines whose documents are given other memory than they held: unequal_results.
UNEQUAL = """
name = "unequal"
title = "Two engines"
[options]
workload = "insert"
rows = 2000
ram = "32M"
[[axis]]
name = "engine"
values = ["btree", "null"]
[scale.tiny]
rounds = 1
[metrics]
rate = { value = "insert.rate", unit = "1/s" }
[[table]]
title = "Inserts"
rows = ["engine"]
metrics = ["rate"]
published = { columns = ["engine", "rate"], rows = [["btree", "10"]] }
[[finding]]
id = "M1"
claim = "btree is slower"
[[finding.part]]
says = "btree against null"
holds = "rate[engine=btree] > 0 * rate[engine=null]"
false_if = "the log costs nothing"
stand_in = "another engine"
"""
HELD = {"btree": 100 << 20, "null": 60 << 20}
APART = "engines held memory more than 10 % apart"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]

WIDTHS, SCHEMES = (1200, 800, 400), ("light", "dark")
MOST_SECONDS, MOST_BYTES = 2, 10e6
# The entry of the series that stalled() makes a stall of, counted from 0: the second that ends at second 2.
STALLED = 1

failures = []


def check(condition, says):
    if not condition:
        failures.append(says)
        print("FAILED:", says)


def at(document, pointer):
    for part in pointer.split("/")[1:]:
        document = document[int(part)] if isinstance(document, list) else document[part.replace("~1", "/").replace("~0", "~")]
    return document


class Page:
    """A page in a context of its own, which remembers what it asked for and complained of."""

    def __init__(self, browser, path, width=1200, scheme="light", media=None):
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("dialog " + dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        begin = time.monotonic()
        self.page.goto("file://" + path)
        self.page.wait_for_selector("html[data-ready]", timeout=60000)
        self.seconds = time.monotonic() - begin

    def draw_all(self):
        height = self.page.evaluate("document.documentElement.scrollHeight")
        for y in range(0, height, 600):
            self.page.evaluate("y => window.scrollTo(0, y)", y)
            self.page.wait_for_timeout(40)
        self.page.evaluate("window.scrollTo(0, 0)")

    def picture(self, name):
        """Keeps what the page looks like, where somebody wants to see it."""
        if os.environ.get("TESTBED_PICTURES"):
            os.makedirs(os.environ["TESTBED_PICTURES"], exist_ok=True)
            self.page.screenshot(full_page=True, path=os.path.join(os.environ["TESTBED_PICTURES"], name + ".png"))

    def close(self, what):
        check(self.said == [], f"{what}: the console says {self.said}")
        elsewhere = [url for url in self.asked if not url.startswith(("file:", "data:"))]
        check(elsewhere == [], f"{what}: asks for {elsewhere}")
        check(self.page.evaluate("window.hit === undefined"), f"{what}: a name was executed")
        self.context.close()


def unequal_results(run, directory):
    """Makes unequal.html, of an experiment whose engines held what HELD says, whatever the machine can measure."""
    with open(os.path.join(directory, "unequal.toml"), "w", encoding="utf-8") as file:
        file.write(UNEQUAL)
    run("experiment", "unequal.toml", "--scale", "tiny", "--out", "unequal", "--quiet")
    cells = os.path.join(directory, "unequal", "cells")
    for name in os.listdir(cells):
        with open(os.path.join(cells, name), encoding="utf-8") as file:
            cell = json.load(file)
        held = HELD[cell["options"]["engine"]]
        for one in cell["runs"]:
            for phase in one["phases"]:
                phase["memory"] = {"held_mean": held, "held_most": held, "limit": held}
        with open(os.path.join(cells, name), "w", encoding="utf-8") as file:
            json.dump(cell, file)
    run("report", "unequal", "--html", "unequal.html")


def comparisons(run, directory):
    """Makes ab.html, of a comparison of which a copy has hostile settings, and told.html and other.html, of two results each: the
    second of told.html is slower for sure, that of other.html is of another machine."""
    null = ("--engine", "null", "--ram", "64M", "--rows", "2000", "--threads", "1", "--workload", "insert", "--account", "off", "--quiet")
    run("ab", *null, "--a", "", "--b", "added-delay=50000", "--way", "rounds", "--time", "300s", "--loads", "3", "--json", "ab.json")
    with open(os.path.join(directory, "ab.json"), encoding="utf-8") as file:
        hostile = json.load(file)
    hostile["workload"] = HOSTILE
    hostile["sides"][1]["settings"] = HOSTILE
    hostile["notes"] = [HOSTILE]
    with open(os.path.join(directory, "hostile_ab.json"), "w", encoding="utf-8") as file:
        json.dump(hostile, file)
    run("report", "ab.json", "hostile_ab.json", "--html", "ab.html")
    run(*null, "--repeat", "3", "--json", "loads.json")
    with open(os.path.join(directory, "loads.json"), encoding="utf-8") as file:
        document = json.load(file)
    for name, rate, model in (("first", 2000, None), ("second", 1000, None), ("other", 1000, "Another")):
        for i, one in enumerate(document["runs"]):
            for phase in one["phases"]:
                phase["rate"] = rate + i  # whatever the machine did
        if model:
            document["machine"]["cpu_model"] = model
        with open(os.path.join(directory, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(document, file)
    run("report", "first.json", "second.json", "--html", "told.html")
    run("report", "first.json", "other.json", "--html", "other.html")


def stalled_results(run, directory, document):
    """Makes stall.html, of a run whose second STALLED stood still."""
    stalled = json.loads(json.dumps(document))
    for one in stalled["runs"]:
        for phase in one["phases"]:
            if phase["kind"] == "measure":
                phase["series"][STALLED].update(operations=0, by_operation=[], max_us=900000)
    with open(os.path.join(directory, "stall.json"), "w", encoding="utf-8") as file:
        json.dump(stalled, file)
    run("report", "stall.json", "--html", "stall.html")
    return stalled


def open_loop(run, directory):
    """Makes open.html, of a run whose clients were asked for more than they can do."""
    run("--engine", "btree", "--ram", "32M", "--rows", "20000", "--seconds", "1", "--warmup", "0", "--threads", "1", "--workload", "insert,mixed",
        "--rate", "20000000", "--quiet", "--json", "open.json")
    run("report", "open.json", "--html", "open.html")


def rate_search(run, directory):
    """Makes rates.html, of a search by --find-rate. A known cost of each operation makes the rates alike on any machine."""
    run("--engine", "null", "--ram", "64M", "--rows", "2000", "--threads", "1", "--seconds", "0.2", "--warmup", "0", "--added-delay", "200000",
        "--find-rate", "p50 < 2ms", "--account", "off", "--quiet", "--json", "rates.json")
    run("report", "rates.json", "--html", "rates.html")


def make_results(testbed, directory):
    def run(*words):
        subprocess.run([testbed, *words], cwd=directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    run("--engine", "btree", "--ram", "32M", "--rows", "20000", "--seconds", "3.2", "--warmup", "0", "--threads", "1,2", "--workload", "insert,mixed",
        "--quiet", "--json", "run.json")
    with open(os.path.join(directory, "mine.toml"), "w", encoding="utf-8") as file:
        file.write(EXPERIMENT)
    run("experiment", "mine.toml", "--scale", "tiny", "--out", "results", "--quiet")
    unequal_results(run, directory)
    with open(os.path.join(directory, "run.json"), encoding="utf-8") as file:
        document = json.load(file)
    hostile = json.loads(json.dumps(document))
    hostile["notes"] = [HOSTILE]
    hostile["options"]["engine"] = HOSTILE
    hostile["command"] = ["testbed", HOSTILE]
    for one in hostile["runs"]:
        one["engine"]["name"] = HOSTILE
        for phase in one["phases"]:
            phase["name"] += HOSTILE
            for cause in phase["account"]["causes"]:
                cause["name"] += HOSTILE
            for operation in phase.get("operations", []):
                operation["name"] += HOSTILE
    with open(os.path.join(directory, "hostile.json"), "w", encoding="utf-8") as file:
        json.dump(hostile, file)
    comparisons(run, directory)
    open_loop(run, directory)
    rate_search(run, directory)
    run("report", "results", "run.json", "--html", "page.html")
    run("report", "hostile.json", "--html", "hostile.html")
    return document, stalled_results(run, directory, document)


def figures_are_the_documents(page, document):
    """Reads the figures of every phase of the document back from the page."""
    read = 0
    for i in range(page.locator(".choose").count()):
        page.locator(".choose").nth(i).click()
        for pointer, value, text in page.eval_on_selector_all(
                "td[data-at]", "cells => cells.map(cell => [cell.dataset.at, Number(cell.dataset.value), cell.textContent])"):
            check(at(document, pointer) == value, f"{pointer} is {value} on the page, {at(document, pointer)} in the document")
            check(text not in ("", "–", "NaN"), f"{pointer} is shown as '{text}'")
            read += 1
    check(read >= 200, f"only {read} figures were read back")
    return read


def figures_of_a_phase_are_its_own(page):
    """The CPU of a phase of several operations stands in the row of the phase, and in that of no operation."""
    row = "#document-0 table:has(caption:text-is('Operations')) tbody tr"
    phases = page.locator(row, has_text="mixed: all operations")
    check(phases.count() == page.locator(row, has_text="mixed: update").count() > 0, "a phase of several operations has no row of its own")
    check(phases.first.locator("td").last.inner_text() not in ("", "–"), "the row of a phase lacks its CPU")
    for operation in ("mixed: point-read", "mixed: update"):
        check(page.locator(row, has_text=operation).first.locator("td").last.inner_text() == "", f"the CPU of the phase stands at {operation}")


def table_is_the_cells(page, directory):
    cells = page.eval_on_selector_all("table.measured td[data-cells]", "cells => cells.map(c => [Number(c.dataset.value), c.querySelector('a').hash])")
    check(len(cells) == 6, f"the table has {len(cells)} figures, not 6")
    data = json.loads(page.locator("#data").text_content())
    for value, link in cells:
        experiment, cell = (int(part) for part in link.removeprefix("#cell-").split("-"))
        rates = []
        for run in data["experiments"][experiment]["cells"][cell]["runs"]:
            with open(os.path.join(directory, "results", run["file"]), encoding="utf-8") as file:
                phases = json.load(file)["runs"][0]["phases"]
            rates += [phase["rate"] for phase in phases if phase["name"] == "point-read"]
        check(abs(value - sum(rates) / len(rates)) <= 1e-9 * value, f"{link}: {value} is not the mean of {rates}")


def opens_at_once(browser, path):
    """Opens the page up to three times, since other programs may be at work, and checks the fastest opening and the size."""
    size, seconds = os.path.getsize(path), []
    for _ in range(3):
        one = Page(browser, path)
        seconds.append(one.seconds)
        one.close(f"{path}, opened")
        if one.seconds < MOST_SECONDS:
            break
    print(f"ready after {min(seconds):.2f} s, {size / 1e6:.1f} MB")
    check(min(seconds) < MOST_SECONDS, f"{path} is ready after {min(seconds):.2f} s at the earliest, not within {MOST_SECONDS} s")
    check(size < MOST_BYTES, f"{path} has {size / 1e6:.1f} MB, not below {MOST_BYTES / 1e6:.0f}")


def a_reader_uses_it(browser, path, directory, document):
    one = Page(browser, path)
    page = one.page
    answer = page.locator("#document-0 .answer").first.inner_text()
    check(answer.startswith("mixed"), f"the answer is not about what was measured: {answer}")
    print(figures_are_the_documents(page, document), "figures read back")
    table_is_the_cells(page, directory)
    figures_of_a_phase_are_its_own(page)
    one.draw_all()
    plots = page.eval_on_selector_all(".plot", "plots => plots.map(plot => plot.querySelectorAll('svg path').length)")
    check(len(plots) >= 6 and all(paths > 0 for paths in plots), f"plots without a line: {plots}")
    # A tooltip.
    plot = page.locator("figure", has_text="Latency by percentile").locator(".plot").first
    plot.scroll_into_view_if_needed()
    plot.hover(position={"x": 400, "y": 120})
    page.wait_for_timeout(400)
    check(" %" in plot.inner_text() and "s" in plot.inner_text(), "no tooltip on the latency plot")
    # Folds.
    page.locator(".finding summary").first.click()
    check(page.get_by_text("two against one").first.is_visible(), "a finding does not open")
    page.locator("summary", has_text="How to repeat it").last.click()
    check(page.locator("pre.command").last.is_visible(), "the command does not show")
    # Curves follow the choice.
    before = page.locator("figure", has_text="Curves").inner_html()
    page.locator(".controls select").nth(1).select_option(index=1)
    page.wait_for_timeout(300)
    check(page.locator("figure", has_text="Curves").inner_html() != before, "the curves do not change with their axis")
    # A figure leads to its run.
    page.locator("table.measured td a").nth(1).click()
    page.wait_for_selector("html[data-cell]")
    check(page.locator(".cell h2").first.is_visible() and "Cell: " in page.locator(".cell h2").first.inner_text(), "a figure does not lead to its run")
    check(page.locator(".cell .answers").first.is_visible(), "the cell's run is not shown")
    # The theme.
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("button.theme").click()
    check(page.evaluate(ground) != light, "the toggle changes nothing")
    page.locator("button.theme").click()
    check(page.evaluate(ground) == light, "the toggle does not go back")
    one.close("page")


def the_last_click_counts(browser, path):
    """Holds back the cell of a first click until the reader has gone to a second cell, and then to the top. A cell that cannot
    be unpacked says so."""
    one = Page(browser, path)
    page, links = one.page, one.page.locator("table.measured td a")
    second = links.nth(2).evaluate("link => link.hash")
    page.evaluate("""() => {
      const text = Response.prototype.text, data = document.documentElement.dataset;
      Response.prototype.text = function () {
        if ('held' in data) return text.call(this);
        data.held = 'yes';
        return new Promise((done) => { window.letGo = () => done(text.call(this)); });
      };
    }""")
    for elsewhere in (second, "#experiment-0"):
        links.nth(1).click()
        page.wait_for_selector("html[data-held]")
        page.evaluate("hash => { location.hash = hash; }", elsewhere)
        page.wait_for_selector(f"html[data-cell='{second[1:]}']")
        page.evaluate("letGo()")
        page.wait_for_timeout(300)
        shown = page.locator(".cell").evaluate_all("cells => cells.map(cell => '#' + cell.id)")
        check(shown == [second], f"a reader who has gone to {elsewhere} is shown {shown}")
        page.evaluate("delete document.documentElement.dataset.held")
    page.evaluate("Response.prototype.text = () => Promise.reject(new Error('cut off')); undefined")
    links.nth(3).click()
    page.wait_for_selector(".opened .alarm:has-text('cannot be unpacked here (cut off)')")
    one.close("two clicks")


def unequal_terms_are_said(browser, path):
    one = Page(browser, path)
    page, line, held = one.page, f"! {APART}: btree 100 MiB, null 60 MiB", "memory held: btree 100 MiB, null 60 MiB"
    above = page.locator(".experiment > .confidence .alarm").all_inner_texts()
    check(any(says.startswith(APART) for says in above), f"unequal memory is not said above: {above}")
    check(page.locator(".tables p", has_text=held).is_visible(), "a table does not say what its engines held")
    check(page.locator(".tables p.alarm").all_inner_texts() == [line], "a table does not say that the memory was unequal")
    check("unequal memory" in page.locator(".finding summary").inner_text(), "a closed finding does not say that the memory was unequal")
    page.locator(".finding summary").click()
    check(page.locator(".finding p", has_text=held).is_visible(), "a finding does not say what its engines held")
    check(page.locator(".finding p.alarm").inner_text() == line + " (of “btree against null”)", "a finding does not say that the memory was unequal")
    part = page.locator(".finding td").first.inner_text()
    check("false if the log costs nothing" in part, "a part does not say when it would be false")
    check("(measured on another engine, which stands in)" in part, f"a part of a stand-in, which alone counts, is said not to count: {part}")
    one.close("unequal terms")


def comparisons_say_their_answer(browser, directory, testbed):
    one = Page(browser, os.path.join(directory, "ab.html"))
    page = one.page
    with open(os.path.join(directory, "ab.json"), encoding="utf-8") as file:
        answers = {answer["metric"]: answer for answer in json.load(file)["answers"]}
    says = page.locator("#ab-0 .answer").inner_text()
    told = subprocess.run([testbed, "report", "ab.json"], cwd=directory, check=True, capture_output=True, text=True).stdout.split("\n")[0]
    check(says == told, f"the comparison's answer is {says} on the page, {told} in the report")
    rows = page.eval_on_selector_all("#ab-0 tr[data-metric]", "rows => rows.map(row => [row.dataset.metric, row.dataset.low, row.dataset.high])")
    check(len(rows) == len(answers), f"the comparison has {len(rows)} metrics, not {len(answers)}")
    for metric, low, high in rows:
        for bound, shown in (("low", low), ("high", high)):
            check(shown is not None and float(shown) == answers[metric][bound], f"{bound} of {metric} is {shown} on the page, {answers[metric][bound]} in the document")
    one.draw_all()
    plots = page.eval_on_selector_all("#ab-0 .plot", "plots => plots.map(plot => plot.querySelectorAll('svg path').length)")
    check(len(plots) == 2 and all(paths > 0 for paths in plots), f"plots of the comparison: {plots}")
    check("onerror" in page.locator("#ab-1").inner_text(), "hostile settings are not shown as they are")
    one.close("comparison")
    one = Page(browser, os.path.join(directory, "told.html"))
    says = one.page.locator("#comparison .answer").first.inner_text()
    check("the second is slower by" in says, f"two results have no answer: {says}")
    beside = one.page.locator("#comparison").inner_text()
    check("not a verdict" not in beside, "a told answer is called no verdict")
    check("first (mean of 3 loads)" in beside and "2,001" in beside, "what stands side by side is not the mean of the loads")
    alone = one.page.locator("#document-0").inner_text()
    check("the mean of 3 loads" in alone and "insert load 2" in alone, "a result of three loads does not tell them apart")
    one.draw_all()
    one.close("two results")
    one = Page(browser, os.path.join(directory, "other.html"))
    says = one.page.locator("#comparison .answers").first.inner_text()
    check("The machines differ" in says and "slower" not in says, f"results of two machines are judged: {says}")
    one.close("two machines")


def an_open_loop_is_one(browser, path):
    one = Page(browser, path)
    page, said = one.page, one.page.locator(".confidence .alarm").all_inner_texts()
    check(any("fell behind" in says for says in said), f"clients that fell behind raise no alarm: {said}")
    check("from the intended start" in page.locator(".answer").first.inner_text(), "the answer is not of the intended start")
    table = page.locator("table", has_text="Latency from the intended start")
    check(table.locator("td[data-at$='/latency_from_intended_us/p99']").count() > 0, "there is no table of latencies from the intended start")
    for figure in ("/target_rate", "/lateness_us/p99"):
        shown = table.locator(f"td[data-at$='{figure}']").evaluate_all("cells => cells.map(cell => cell.dataset.at)")
        check(0 < len(shown) == len(set(shown)), f"a figure of the phase stands at each of its operations: {shown}")
    check("From the intended start" in page.locator("figure", has_text="Latency by percentile").first.inner_text(), "the curve does not say its start")
    check("asked for" in table.inner_text() and "null" not in page.inner_text("body"), "the table lacks its words")
    one.draw_all()
    one.close("open loop")


def a_search_is_the_documents(browser, directory):
    """Reads the rates that --find-rate tried back from the page."""
    with open(os.path.join(directory, "rates.json"), encoding="utf-8") as file:
        document = json.load(file)
    found = document["runs"][-1]["find_rate"][0]
    one = Page(browser, os.path.join(directory, "rates.html"))
    says = one.page.locator("#document-0 .answer").first.inner_text()
    check(says == found["sentence"], f"the answer of a search is {says}, not {found['sentence']}")
    shown = one.page.eval_on_selector_all("td[data-at*='/find_rate/']", "cells => cells.map(cell => [cell.dataset.at, Number(cell.dataset.value)])")
    check(len(shown) >= 5 * len(found["steps"]), f"only {len(shown)} figures of {len(found['steps'])} rates")
    for pointer, value in shown:
        check(at(document, pointer) == value, f"{pointer} is {value} on the page, {at(document, pointer)} in the document")
    check(one.page.locator("caption", has_text=f"tried: {found['name']}, 1 client").count() == 1, "the rates do not tell whose they are")
    one.draw_all()
    lines = one.page.locator("figure", has_text="Latency over the rate").locator(".plot svg path").count()
    check(lines > 0, "the latency over the rate has no line")
    one.close("search of a rate")


def space_is_the_documents(browser, path, document):
    """Reads the parts of the space back from the plot: bars of bytes, a row for each phase."""
    one = Page(browser, path)
    plot = one.page.locator("figure", has_text="Space by part").locator(".plot").first
    plot.scroll_into_view_if_needed()
    one.page.wait_for_selector("figure:has-text('Space by part') svg path", state="attached")
    shown = plot.evaluate("""plot => Object.fromEntries(echarts.getInstanceByDom(plot).getOption().series.map(
        series => [series.name, series.data.map(bar => bar.value)]))""")
    phases = [phase for phase in document["runs"][0]["phases"] if phase["kind"] not in ("tune", "warm-up")]
    check(shown.get("log files") == [phase["log_file_bytes"] for phase in phases], f"the space of log files is {shown}")
    data = [phase["database_bytes"] - phase["log_file_bytes"] for phase in phases]
    parts = [sum(bars) for bars in zip(*(shown.get(name, [0] * len(data)) for name in ("data files", "free pages")))]
    check(parts == data, f"the space of data files is {parts}, not {data}")
    one.close("space")


def a_stall_is_shaded(browser, path, document, width):
    """Looks for the band of the stall in the drawing: its colour, and its edges where the axes of all panels have the seconds."""
    series = next(phase["series"] for run in document["runs"] for phase in run["phases"] if phase["kind"] == "measure")
    begin, end = series[STALLED - 1]["end_seconds"], series[STALLED]["end_seconds"]
    one = Page(browser, path, width=width)
    plot = one.page.locator("figure", has_text="Rate and latency over time").locator(".plot").first
    plot.scroll_into_view_if_needed()
    one.page.wait_for_selector("figure:has-text('Rate and latency over time') svg path", state="attached")
    check(f"stall {begin:.3g}–{end:.3g} s" in plot.inner_text(), f"no label of a stall from {begin:.3g} to {end:.3g} s")
    bands, axes = plot.evaluate("""(plot, seconds) => {
      const left = plot.querySelector('svg').getBoundingClientRect().left, fill = testbed.theme(testbed.themeName()).band.replace(/ /g, '');
      const [, color, opacity] = fill.match(/^rgba[(](.*),([0-9.]+)[)]$/);
      const bands = [...plot.querySelectorAll('svg path')].filter((path) => {
        const is = (path.getAttribute('fill') || '').replace(/ /g, '');
        return is === fill || (is === `rgb(${color})` && Number(path.getAttribute('fill-opacity')) === Number(opacity));
      }).map((path) => path.getBoundingClientRect()).map((box) => [box.left - left, box.right - left]);
      const chart = echarts.getInstanceByDom(plot);
      return [bands, chart.getOption().xAxis.map((axis, i) => seconds.map((second) => chart.convertToPixel({xAxisIndex: i}, second)))];
    }""", [begin, end])
    check(len(bands) >= 2, f"the stall is shaded in {len(bands)} panels, not in those of rate and latency")
    for edges in bands + axes:
        check(all(abs(a - b) < 2 for a, b in zip(edges, axes[0])), f"{width} pixels: a panel has the stall from {edges[0]:.0f} to {edges[1]:.0f}, not {axes[0]}")
    one.close("stall")


def looks_right(browser, path, scheme, width):
    one = Page(browser, path, width=width, scheme=scheme)
    one.draw_all()
    one.picture(f"{os.path.splitext(os.path.basename(path))[0]}-{width}-{scheme}")
    where = f"{os.path.basename(path)}, {scheme}, {width} pixels"
    wide = one.page.evaluate("document.documentElement.scrollWidth")
    check(wide <= width, f"{where}: the page is {wide} pixels wide")
    check(one.page.evaluate("document.documentElement.dataset.theme") == scheme, f"{where}: another theme")
    with open(os.path.join(os.path.dirname(axe_playwright_python.__file__), "axe.min.js"), encoding="utf-8") as file:
        one.page.evaluate(file.read() + "; undefined")
    for violation in one.page.evaluate("axe.run().then(result => result.violations)"):
        nodes = [node["html"][:120] for node in violation["nodes"][:3]]
        check(False, f"{where}: axe-core, {violation['id']}: {violation['help']}: {nodes}")
    one.close(where)


def prints(browser, path):
    one = Page(browser, path, scheme="dark")
    pdf = one.page.pdf()
    check(pdf.startswith(b"%PDF") and len(pdf) > 50000, "the page does not print")
    one.close("print")


def a_page_that_is_there(browser, path):
    """Checks a page of any results."""
    opens_at_once(browser, path)
    one = Page(browser, path)
    one.draw_all()
    one.picture(os.path.splitext(os.path.basename(path))[0])
    one.close(path)


def hostile_names_are_text(browser, path):
    one = Page(browser, path)
    one.draw_all()
    check("onerror" in one.page.inner_text("body"), "a hostile name is not shown as it is")
    for plot in one.page.locator(".plot").all():
        plot.scroll_into_view_if_needed()
        plot.hover(position={"x": 250, "y": 60})
        one.page.wait_for_timeout(100)
    one.close("hostile names")


def pages_of_results(browser, testbed, directory):
    """Makes results, and checks all that their pages promise."""
    document, stalled = make_results(testbed, directory)
    page, hostile, unequal, stall = (os.path.join(directory, name + ".html") for name in ("page", "hostile", "unequal", "stall"))
    opens_at_once(browser, page)
    a_reader_uses_it(browser, page, directory, document)
    the_last_click_counts(browser, page)
    unequal_terms_are_said(browser, unequal)
    comparisons_say_their_answer(browser, directory, testbed)
    for width in WIDTHS:
        a_stall_is_shaded(browser, stall, stalled, width)
    space_is_the_documents(browser, stall, document)
    an_open_loop_is_one(browser, os.path.join(directory, "open.html"))
    a_search_is_the_documents(browser, directory)
    for scheme in SCHEMES:
        for width in WIDTHS:
            looks_right(browser, page, scheme, width)
            looks_right(browser, unequal, scheme, width)
            looks_right(browser, stall, scheme, width)
            looks_right(browser, os.path.join(directory, "open.html"), scheme, width)
            looks_right(browser, os.path.join(directory, "rates.html"), scheme, width)
            looks_right(browser, os.path.join(directory, "ab.html"), scheme, width)
            looks_right(browser, os.path.join(directory, "told.html"), scheme, width)
    prints(browser, page)
    hostile_names_are_text(browser, hostile)


def main():
    parser = argparse.ArgumentParser(usage="page_test.py TESTBED BROWSER DIRECTORY | --page FILE BROWSER")
    parser.add_argument("--page", metavar="FILE", help="a page of `testbed report --html` that is there")
    parser.add_argument("words", nargs="+")
    arguments = parser.parse_args()
    if len(arguments.words) != (1 if arguments.page else 3):
        parser.error("it takes TESTBED BROWSER DIRECTORY, or --page FILE and BROWSER")
    if arguments.page and not os.path.isfile(arguments.page):
        parser.error(f"--page {arguments.page} is not there; it takes a file that `testbed report --html` has written")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.words[0 if arguments.page else 1], args=FLAGS)
        if arguments.page:
            a_page_that_is_there(browser, os.path.abspath(arguments.page))
        else:
            pages_of_results(browser, os.path.abspath(arguments.words[0]), os.path.abspath(arguments.words[2]))
        browser.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
