#!/usr/bin/env python3
"""Drives the page of `testbed report --html` in headless Chromium.

Usage: page_test.py TESTBED BROWSER DIRECTORY   (run.sh calls it)
Makes results by TESTBED in DIRECTORY, opens their page from disk and checks what a reader relies on: nothing is fetched or
complained of, each figure is the document's, links, folds, tooltips and themes work, unequal terms are said,
it fits 400 pixels, axe-core finds nothing, and names of any content are text. Exit code 1 with a line for each thing that is not so.
"""
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
"""
HELD = {"btree": 100 << 20, "null": 60 << 20}
APART = "engines held memory more than 10 % apart"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]

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
    run("report", "results", "run.json", "--html", "page.html")
    run("report", "hostile.json", "--html", "hostile.html")
    return document


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


def a_reader_uses_it(browser, path, directory, document):
    one = Page(browser, path)
    page = one.page
    print(f"ready after {one.seconds:.2f} s, {os.path.getsize(path) / 1e6:.1f} MB")
    check(os.path.getsize(path) < 10e6, "the page has 10 MB or more")
    answer = page.locator("#document-0 .answer").first.inner_text()
    check(answer.startswith("mixed"), f"the answer is not about what was measured: {answer}")
    print(figures_are_the_documents(page, document), "figures read back")
    table_is_the_cells(page, directory)
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
    check("false if the log costs nothing" in page.locator(".finding td").first.inner_text(), "a part does not say when it would be false")
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
    check("not a verdict" not in one.page.locator("#comparison").inner_text(), "a told answer is called no verdict")
    one.draw_all()
    one.close("two results")
    one = Page(browser, os.path.join(directory, "other.html"))
    says = one.page.locator("#comparison .answers").first.inner_text()
    check("The machines differ" in says and "slower" not in says, f"results of two machines are judged: {says}")
    one.close("two machines")


def is_accessible(browser, path, scheme, width):
    one = Page(browser, path, width=width, scheme=scheme)
    one.draw_all()
    where = f"{scheme}, {width} pixels"
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


def main():
    testbed, executable, directory = sys.argv[1:4]
    directory = os.path.abspath(directory)
    document = make_results(os.path.abspath(testbed), directory)
    page, hostile = os.path.join(directory, "page.html"), os.path.join(directory, "hostile.html")
    unequal = os.path.join(directory, "unequal.html")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        a_reader_uses_it(browser, page, directory, document)
        unequal_terms_are_said(browser, unequal)
        comparisons_say_their_answer(browser, directory, os.path.abspath(testbed))
        for scheme, width in (("light", 1200), ("dark", 1200), ("light", 400), ("dark", 400)):
            is_accessible(browser, page, scheme, width)
            is_accessible(browser, unequal, scheme, width)
            is_accessible(browser, os.path.join(directory, "ab.html"), scheme, width)
            is_accessible(browser, os.path.join(directory, "told.html"), scheme, width)
        prints(browser, page)
        one = Page(browser, hostile)
        one.draw_all()
        check("onerror" in one.page.inner_text("body"), "a hostile name is not shown as it is")
        for plot in one.page.locator(".plot").all():
            plot.scroll_into_view_if_needed()
            plot.hover(position={"x": 250, "y": 60})
            one.page.wait_for_timeout(100)
        one.close("hostile names")
        browser.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
