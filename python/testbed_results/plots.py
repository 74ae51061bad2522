"""The plots of a report as functions.

A plot takes the table of a reader (readers.py), or the paths of documents. matplotlib is imported by
the first plot that is given no axes.
"""

import math
import pathlib
import re
import statistics

from .readers import ResultsError, _at, _cell, _number, _own, comparison, documents

# Okabe and Ito's colours, which the colour-blind can tell apart.
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000", "#999999"]
# The engines' looks in the plots of a report (tools/html/page/palette.js): colour, line, mark, and whether the mark is hollow.
ENGINES = {"btree": ("#0072b2", "solid", "o", False), "rocksdb": ("#d55e00", "solid", "s", False),
           "wiredtiger": ("#009e73", "solid", "^", False), "lmdb": ("#b3589a", "solid", "D", False),
           "innodb": ("#a87400", "solid", "p", False), "fractal": ("#3a86c8", "dashed", "o", True),
           "mmapv1": ("#6b5b95", "dashed", "s", True), "mdbx": ("#8c3f74", "dashed", "D", True),
           "mysql": ("#7a5200", "dashed", "p", True), "sqlite": ("#117733", "dotted", "^", True),
           "postgres": ("#555555", "dotted", "v", True), "pebble": ("#7a6a00", "dotted", "v", False),
           "bf-tree": ("#332288", "dotted", ">", False)}
LINES, MARKS = ["solid", "dashed", "dotted"], ["o", "s", "^", "D", "v"]
# A second is a stall when its rate is below a tenth of the median, when an operation in it took
# STALL_US or longer, or when it lasted STALL_SECONDS or longer. One that is shorter than
# SHORTEST_SECONDS, the rest of a phase, has no rate. A report of testbed has the same limits
# (tools/live/seconds.h and seconds.cc).
STALL_US, STALL_SECONDS, SHORTEST_SECONDS = 1e6, 2, 0.3


def _dicts(table):
    """The rows of a pandas or polars table, or of a list of dictionaries."""
    if isinstance(table, list):
        return table
    found = table.to_dicts() if hasattr(table, "to_dicts") else table.to_dict("records")
    return [{name: _cell(value) for name, value in row.items()} for row in found]


def _axes(axes, **settings):
    if axes is not None:
        return axes
    import matplotlib.pyplot as pyplot
    return pyplot.subplots(figsize=(7.6, settings.pop("height", 3.6)), layout="constrained", **settings)[1]


def _look(place, engine=None):
    """Colour, line and mark of a curve: of an engine those of the report's plots. The other curves differ by their place;
    the line of an engine that has no look of its own tells it from those that have."""
    if engine in ENGINES:
        colour, line, mark, hollow = ENGINES[engine]
        return {"color": colour, "linestyle": line, "marker": mark, "fillstyle": "none" if hollow else "full"}
    again = place // len(COLOURS)  # how often the colours have been used before
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": "dashdot" if engine is not None else LINES[again % len(LINES)],
            "marker": MARKS[again % len(MARKS)], "fillstyle": "full"}


def _line(place):
    """Colour and line of a curve without marks."""
    look = _look(place)
    return {"color": look["color"], "linestyle": look["linestyle"]}


def _said(name):
    """The name as matplotlib shows it: a pair of dollar signs would make it a formula, and a legend leaves out a name that
    begins with an underscore."""
    text = str(name).replace("$", r"\$")
    return " " + text if text.startswith("_") else text


def _measured(table):
    """Returns the rows of the last phase that measured, or else of the last phase."""
    found = _dicts(table)
    if not found:
        raise ResultsError("there are no rows to plot")
    last = ([row for row in found if row.get("kind") == "measure"] or found)[-1]
    same = ("path", "document", "run", "phase_index")
    return [row for row in found if all(row.get(name) == last.get(name) for name in same)]


def _rates(seconds):
    """Returns (begin, end, rate) of each second of a phase. The rate is NaN when the second is too
    short for one."""
    found, begin = [], 0.0
    for row in seconds:
        end = row["end_seconds"]
        short = end - begin < SHORTEST_SECONDS and len(seconds) > 1 or end <= begin
        found.append((begin, end, math.nan if short else row["operations"] / (end - begin)))
        begin = end
    return found


def _stalls(seconds):
    """Returns (begin, end) of each second of a phase that is a stall."""
    rates = _rates(seconds)
    known = [rate for _, _, rate in rates if not math.isnan(rate)]
    usual = statistics.median(known) if known else 0
    stalls = []
    for row, (begin, end, rate) in zip(seconds, rates):
        waited = (row["max_us"] or 0) >= STALL_US  # also in the rest of a phase, which has no rate
        slow = not math.isnan(rate) and (usual > 0 and rate < usual / 10 or end - begin >= STALL_SECONDS)
        if end > begin and (waited or slow):
            stalls.append((begin, end))
    return stalls


def _tells(operations, share):
    """Returns whether this number of operations tells the percentile of this share: at least ten of them took longer
    (TellsPercentile of tools/report/figures.h)."""
    return operations * (1 - share) >= 10


def plot_time(table, axes=None):
    """Rate, latency and memory of each second of one phase: the last that measured, unless the rows are of another.

    Stalls are shaded: seconds in which the rate fell below a tenth of the median, in which an operation took a second
    or longer, or which are two seconds or longer themselves, because the whole process stood still. A percentile of a second
    is left out where fewer than ten operations of the second took longer. `table` is of series(); `axes` are three, above each other.
    """
    seconds = _measured(table)
    axes = _axes(axes, height=6.4, nrows=3, sharex=True)
    _, ends, rates = zip(*_rates(seconds))
    axes[0].step(ends, rates, where="pre", color=COLOURS[0])
    axes[0].set(ylabel="operations/s", ylim=(0, None), title=_said(f"{seconds[0]['engine']}, {seconds[0]['phase']}"))
    for name, share, colour in (("max_us", None, 5), ("p99_us", 0.99, 1), ("p50_us", 0.5, 0)):
        told = [row[name] or math.nan if share is None or _tells(row["operations"], share) else math.nan for row in seconds]
        axes[1].plot(ends, told, color=COLOURS[colour], label=name[:-3])
    axes[1].set(ylabel="latency, us", yscale="log")
    axes[1].legend(loc="upper right")
    for name, colour in (("process_memory_bytes", 0), ("page_cache_bytes", 2), ("kernel_memory_bytes", 7)):
        held = [row.get(name) for row in seconds]
        if any(value is not None for value in held):
            axes[2].plot(ends, [math.nan if value is None else value / 2**20 for value in held],
                         color=COLOURS[colour], label=name[:-6].replace("_", " "))
            axes[2].legend(loc="upper right")
    axes[2].set(ylabel="memory, MiB", xlabel="seconds", ylim=(0, None))
    for begin, end in _stalls(seconds):
        for one in axes:
            one.axvspan(begin, end, color="#d55e00", alpha=0.2, linewidth=0)
    return axes


def _clients(run, phase):
    """Returns the clients of the phase and, from the second on, the load and the run on it, as the tables of testbed name
    them: "8 thr", "8 thr x 3 tasks" or "8 thr load 2 #3"."""
    tasks = len(phase.get("tasks") or ())
    which = "".join(f"{word}{run[number] + 1}" for word, number in ((" load ", "load"), (" #", "repeat")) if run.get(number))
    return f"{run['threads']} thr" + (f" x {tasks} tasks" if tasks > 1 else "") + which


def _operations(paths):
    """Yields (name, phase, operation) of what was measured; what differs between the documents is in the name."""
    found = documents(paths)
    for path, document in found:
        prefix = (document.get("label") or pathlib.Path(path).stem) + ": " if len(found) > 1 else ""
        for run in document["runs"]:
            for phase in run["phases"]:
                if phase.get("kind") != "measure":
                    continue
                for operation in phase.get("operations") or ():
                    name = f"{prefix}{document['options']['engine']} {operation['name']}, {_clients(run, phase)}"
                    yield name, phase, operation


def _middle(least):
    """The nanoseconds that stand for a bucket of a histogram which begins at `least`, as in the percentiles of a document."""
    return least + (1 << max(least.bit_length() - 7, 0)) // 2


def plot_percentiles(paths, axes=None):
    """Latency by percentile, of an open loop from the intended start. Each mark of the axis is ten times rarer than the
    one before (HdrHistogram's axis)."""
    axes = _axes(axes)
    rarest = 10
    for place, (name, _, operation) in enumerate(_operations(paths)):
        intended = operation.get("latency_from_intended_ns_histogram")
        buckets = intended or operation.get("latency_ns_histogram") or ()
        name += ", from the intended start" if intended else ""
        most = operation["latency_from_intended_us" if intended else "latency_us"]["max"]
        total, below, x, y = sum(count for _, count in buckets), 0, [], []
        for least, count in buckets:
            x.append(total / (total - below))
            y.append(min(_middle(least) / 1000, most))
            below += count
        rarest = max(rarest, total)
        if buckets:
            axes.step(x, y, where="post", label=_said(name), **_line(place))
    axes.set(xscale="log", yscale="log", xlabel="percentile", ylabel="latency, us")
    ticks = [10**power for power in range(int(math.log10(rarest)) + 1)]
    axes.set_xticks(ticks, [f"{100 - 100 / tick:.10g} %" for tick in ticks])
    axes.legend()
    return axes


def _limited(search, step):
    """Returns the limited percentile of a step of a search; NaN where too few operations tell it."""
    counted = step.get("latency_count", step["count"])
    return step["limited_us"] or math.nan if _tells(counted, search["limited_share"]) else math.nan


def plot_rates(paths, axes=None):
    """The limited percentile of the latency over the rates that --find-rate tried, and its limit as a dashed line. A rate at
    which too few operations tell the percentile has no point."""
    searches, found = [], documents(paths)
    for path, document in found:
        prefix = (document.get("label") or pathlib.Path(path).stem) + ": " if len(found) > 1 else ""
        for run in document["runs"]:
            for search in run.get("find_rate") or ():
                name = f"{prefix}{document['options']['engine']} {search['name']}, {_clients(run, search)}: {search['limit']}"
                searches.append((name, search))
    if not searches:
        raise ResultsError("there is no search by --find-rate to plot")
    axes = _axes(axes)
    for place, (name, search) in enumerate(searches):
        steps = sorted((step for step in search["steps"] if step.get("target_rate")), key=lambda step: step["target_rate"])
        look = _look(place)
        axes.plot([step["target_rate"] for step in steps], [_limited(search, step) for step in steps], label=_said(name), **look)
        axes.axhline(search["limit_us"], color=look["color"], linestyle="dashed", linewidth=0.8)
    axes.set(yscale="log", xlabel="operations/s asked for", ylabel="latency from the intended start, us")
    axes.legend()
    return axes


def plot_reads(paths, axes=None):
    """Plots how many operations caused none, one, two or more block requests of the kernel, or file
    calls where there is no kernel account."""
    axes = _axes(axes)
    for place, (name, phase, operation) in enumerate(_operations(paths)):
        for cause in phase["account"]["causes"]:
            if cause["name"] != operation["name"]:
                continue
            level = "kernel" if cause.get("kernel") else "file"
            counts = cause.get(f"{level}_reads_histogram") or []
            axes.plot(range(len(counts)), [count or math.nan for count in counts], label=_said(f"{name} ({level})"), **_look(place))
    axes.set(yscale="log", xlabel="reads of one operation (15: or more)", ylabel="operations")
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
    return axes


def _writes(account):
    """The bytes that each work of a phase wrote. All are of one level: the kernel's requests where they were counted, or
    else the calls of files."""
    causes = account.get("causes") or ()
    level = "kernel" if any(cause.get("kernel") for cause in causes) else "file"
    wrote = {}
    for cause in causes:
        wrote[cause["name"]] = wrote.get(cause["name"], 0) + (_at(cause, [level, "write_bytes"]) or 0)
    # Kernel threads write back pages of the run's files.
    others = [thread for thread in account.get("other_threads") or () if thread.get("kind") != "other-file"]
    wrote["kernel threads"] = sum((_at(thread, ["kernel", "write_bytes"]) or 0 for thread in others), 0)
    return wrote


def _amplification(paths):
    """By work and by name of a bar, the bytes written per byte that the user wrote, of all phases of that name together.

    What a settle wrote belongs to the phase before it, as in the report.
    """
    users, written = {}, {}
    for path, document in documents(paths):
        for run in document["runs"]:
            name = None
            for phase in run["phases"]:
                kind, user = phase.get("kind"), phase.get("user_bytes_written") or 0
                if kind in ("load", "measure"):
                    bar = f"{document.get('label') or pathlib.Path(path).stem}\n{document['options']['engine']}\n{phase['name']}"
                    name = bar if user else None
                if kind not in ("load", "measure", "settle") or name is None:
                    continue
                users[name] = users.get(name, 0) + user
                for work, wrote in _writes(phase["account"]).items():
                    of_work = written.setdefault(work, {})
                    of_work[name] = of_work.get(name, 0) + wrote
    return {work: {name: wrote / users[name] for name, wrote in of_work.items()} for work, of_work in written.items()}


def plot_written(paths, axes=None):
    """Bytes written per byte that the user wrote, by the work that wrote them, of each phase and the settle after it; of
    several runs their mean.

    The bytes are those of the kernel's requests where they were counted, or else of the calls of files.
    """
    axes = _axes(axes)
    bars = _amplification(paths)
    names = list(dict.fromkeys(name for work in bars.values() for name in work))
    bottoms = [0.0] * len(names)
    for place, (work, heights) in enumerate(sorted(bars.items())):
        values = [heights.get(name, 0) for name in names]
        if any(values):
            axes.bar([_said(name) for name in names], values, bottom=bottoms, color=COLOURS[place % len(COLOURS)], label=_said(work))
            bottoms = [bottom + value for bottom, value in zip(bottoms, values)]
    axes.set(ylabel="bytes written per user byte")
    if names:
        axes.legend()
    return axes


def _block_bytes(document, account):
    """The mean bytes of a block that the engine's cache was asked for: by the engine's own count, or by what the operations read for each
    block that it missed, as in the report's page (blockBytes of tools/html/page/ledger.js), or else the size of pages. None when no one is known."""
    engine = account.get("engine") or {}
    if engine.get("block_reads") and engine.get("block_read_bytes"):
        return engine["block_read_bytes"] / engine["block_reads"]
    missed = engine["block_requests"] - engine["block_hits"] if "block_hits" in engine else 0
    foreground = [cause for cause in account.get("causes") or () if cause.get("ground") == "foreground"]
    read = sum((_at(cause.get("file") or cause.get("kernel") or {}, ["read_bytes"]) or 0 for cause in foreground), 0)
    if missed > 0 and read > 0:
        return read / missed
    return _at(document, ["options", "page_size"])


def _ledger(document, phase, way):
    """The steps of a phase from what was asked down to the device: a list of (step, bytes by the work that caused them). A
    step that was not counted is left out."""
    account, figure, steps = phase.get("account") or {}, f"{way}_bytes", []
    engine = account.get("engine") or {}
    if way == "write" and phase.get("user_bytes_written"):
        steps.append(("keys and values", {"clients": phase["user_bytes_written"]}))
    if way == "read" and engine.get("block_requests"):
        if block := _block_bytes(document, account):
            steps.append(("engine asks its cache", {"clients": engine["block_requests"] * block}))
    for level, step in (("file", "file calls"), ("kernel", "kernel requests")):
        moved = {}
        for cause in account.get("causes") or ():
            moved[cause["name"]] = moved.get(cause["name"], 0) + (_at(cause, [level, figure]) or 0)
        if level == "kernel":  # kernel threads write the run's dirty pages back, besides its own causes
            threads = [thread for thread in account.get("other_threads") or () if thread.get("kind") != "other-file"]
            moved["kernel threads"] = sum((_at(thread, ["kernel", figure]) or 0 for thread in threads), 0)
        steps.append((step, moved))
    steps.append(("device", {"device": _own(account, figure) or 0}))
    return [(step, {work: moved for work, moved in of_step.items() if moved}) for step, of_step in steps if any(of_step.values())]


def plot_ledger(paths, way="read", axes=None):
    """Bytes at each step from the operation down to the device, by the work that caused them, of the last phase that measured,
    or else of the last phase. A step that is longer than the one above it is amplification; a shorter one, what a cache answered.

    `way` is "read" or "write".
    """
    if way not in ("read", "write"):
        raise ResultsError(f"way={way!r} is neither 'read' nor 'write'")
    phases = [(document, phase) for _, document in documents(paths) for run in document["runs"] for phase in run["phases"] if phase.get("operations")]
    if not phases:
        raise ResultsError("there is no phase to plot")
    document, phase = ([one for one in phases if one[1].get("kind") == "measure"] or phases)[-1]
    axes, steps = _axes(axes), _ledger(document, phase, way)
    names, lefts = [step for step, _ in steps], [0.0] * len(steps)
    for place, work in enumerate(dict.fromkeys(work for _, moved in steps for work in moved)):
        values = [moved.get(work, 0) / 2**20 for _, moved in steps]
        axes.barh(names, values, left=lefts, color=COLOURS[place % len(COLOURS)], label=_said(work))
        lefts = [left + value for left, value in zip(lefts, values)]
    axes.set(xlabel="MiB", title=_said(f"{document['options']['engine']}, {phase['name']}: {'reads' if way == 'read' else 'writes'}"))
    if steps:
        axes.invert_yaxis()
        axes.legend()
    return axes


def _sizes(paths):
    """By name of a bar, the bytes of data files and of log files that a phase left on disk; of several runs their means."""
    found, sizes = documents(paths), {}
    for path, document in found:
        prefix = f"{document.get('label') or pathlib.Path(path).stem}\n" if len(found) > 1 else ""
        for run in document["runs"]:
            for phase in run["phases"]:
                size, log = phase.get("database_bytes"), phase.get("log_file_bytes") or 0
                if size is not None and phase.get("kind") not in ("tune", "warm-up"):
                    name = f"{prefix}{document['options']['engine']}\nafter {phase['name']}"
                    sizes.setdefault(name, []).append((size - log, log))
    return {name: tuple(statistics.fmean(part) for part in zip(*of_runs)) for name, of_runs in sizes.items()}


def plot_space(paths, axes=None):
    """What the database had on disk after each phase, by kind of file; of several runs the mean."""
    axes, sizes = _axes(axes), _sizes(paths)
    bottoms = [0.0] * len(sizes)
    for place, part in enumerate(("data files", "log files")):
        values = [of_parts[place] / 2**20 for of_parts in sizes.values()]
        axes.bar([_said(name) for name in sizes], values, bottom=bottoms, color=COLOURS[place], label=part)
        bottoms = [bottom + value for bottom, value in zip(bottoms, values)]
    axes.set(ylabel="MiB on disk")
    axes.legend()
    return axes


# Student's t, two-sided 95 %, for 1 to 10 degrees of freedom; beyond it falls slowly to 1.96.
T_95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]


def _interval(values):
    """The mean, and half of its 95 % interval (0 of a single value)."""
    freedom = len(values) - 1
    if freedom == 0:
        return values[0], 0.0
    t = T_95[freedom - 1] if freedom <= len(T_95) else 1.96 + 2.5 / freedom
    return statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(len(values))


def _order(value):
    """Sorts numbers by their size, those that are text included, before other text."""
    number = _number(value)
    return (1, 0, number) if isinstance(number, str) else (0, number, "")


def _points(found, x, y, by):
    """By the name of a curve and by x, the figures there: one of each load, the mean of its rows. The values of x are numbers
    where all of them are, or else text."""
    if not found:
        raise ResultsError("there are no rows to plot")
    there = dict.fromkeys(name for row in found for name, value in row.items() if value is not None)
    for column in (x, y, by):
        if column not in there:
            raise ResultsError(f"no row has a value in the column {column!r}; there are values in {', '.join(map(str, there))}")
    groups = {}
    used = [row for row in found if row.get(x) is not None and row.get(y) is not None]
    if all(row.get(by) is None for row in used):
        raise ResultsError(f"no row has values in all three columns {x!r}, {y!r} and {by!r}")
    text = any(isinstance(_number(row[x]), str) for row in used)
    for place, row in enumerate(used):
        figure = _number(row[y])
        if isinstance(figure, str):
            raise ResultsError(f"the column {y!r} is no figure: a row has the text {figure!r}")
        at = str(row[x]) if text else _number(row[x])
        document = (row.get("path"), row.get("document"))
        told = row.get("load") is not None and document != (None, None)
        load = (*document, row["load"]) if told else place  # a row that does not tell its load counts by itself
        groups.setdefault(str(row.get(by)), {}).setdefault(at, {}).setdefault(load, []).append(figure)
    return {name: {at: [statistics.fmean(of_load) for of_load in loads.values()] for at, loads in points.items()}
            for name, points in groups.items()}


def plot_curve(table, x, y, by="engine", axes=None):
    """A column over another, one line for each value of `by`; a band is the 95 % interval of the mean over the loads. Engines
    look as in the plots of a report.

    Rows with the same `x` and `by` are repeats. Those of one load are averaged first, because runs on a load tell nothing about
    the next one (docs/comparing.md). `table` is of any function above, or a part of one.
    """
    groups = _points(_dicts(table), x, y, by)
    axes = _axes(axes)
    at = sorted({one for points in groups.values() for one in points}, key=_order)
    if isinstance(at[-1], str):  # an axis of text has its places in the order in which they are named to it
        axes.xaxis.update_units([_said(one) for one in at])
    for place, name in enumerate(sorted(groups, key=_order)):
        points = groups[name]
        at = sorted(points, key=_order)
        means, halves = zip(*(_interval(points[one]) for one in at))
        at = [_said(one) if isinstance(one, str) else one for one in at]
        look = _look(place, name if by == "engine" else None)
        axes.plot(at, means, label=_said(name), **look)
        axes.fill_between(at, [m - h for m, h in zip(means, halves)], [m + h for m, h in zip(means, halves)],
                          color=look["color"], alpha=0.2, linewidth=0)
    axes.set(xlabel=x, ylabel=y, ylim=(0, None))
    axes.legend(title=by)
    return axes


def plot_series(table, stem, over="number", axes=None):
    """The metrics of an experiment that are one series (docs/experiments.md) over their numbers, one line for each cell: rows_1,
    rows_2 and rows_10 of the stem "rows". `over` names the numbers.

    `table` is of cells(), or the part of one that is of one experiment.
    """
    name = re.compile(re.escape(stem) + r"_?([0-9]+)")
    numbered = [(name.fullmatch(str(row.get("metric"))), row) for row in _dicts(table)]
    found = [{"number": int(match[1]), "value": row.get("value"), "cell": row.get("cell_name")} for match, row in numbered if match]
    axes = plot_curve(found, "number", "value", by="cell", axes=axes)
    axes.set(xlabel=over, ylabel=stem)
    return axes


def _farthest(answer):
    return max(abs(math.log(answer["low"])), abs(math.log(answer["high"])))


def _reach(answers, until):
    """How far the axis of changes reaches, as the logarithm of a ratio: as in the report, to the intervals that were asked for
    and to half of the others. One metric that changed a hundredfold would make the others a line."""
    ends = sorted(_farthest(answer) for answer in answers)
    asked = [_farthest(answer) for answer in answers if answer.get("asked")]
    return 1.12 * max([3 * math.log1p(until), ends[(len(ends) - 1) // 2], *asked])


def _ratio(log):
    """The label of a place on such an axis."""
    if abs(log) < math.log(2) - 1e-9:
        return f"{math.expm1(log) * 100:+.3g} %" if abs(log) > 1e-9 else "0 %"
    return f"× {math.exp(log):.3g}" if log > 0 else f"÷ {math.exp(-log):.3g}"


def plot_changes(path, axes=None):
    """The change of each metric with its interval, of a comparison by `testbed ab`. The band is --until, within which sides are
    the same; a hollow mark is a change that cannot be told."""
    document = comparison(path)
    figures = ("effect", "low", "high")
    answers = [answer for answer in document["answers"]
               if answer.get("scale") == "ratio" and all(isinstance(answer.get(one), (int, float)) and answer[one] > 0 for one in figures)]
    if not answers:
        raise ResultsError(f"{path} has no answer with an interval")
    axes, until = _axes(axes, height=1.2 + 0.28 * len(answers)), document["until"]
    several = len({answer["side"] for answer in answers}) > 1
    looks = {"faster": COLOURS[2], "lower": COLOURS[2], "slower": COLOURS[1], "higher": COLOURS[1]}
    for place, answer in enumerate(answers):
        look = {"color": looks.get(answer["answer"], COLOURS[7]), "fillstyle": "none" if answer["answer"] == "cannot be told" else "full"}
        effect, low, high = (math.log(answer[one]) for one in figures)
        axes.plot([low, high], [place, place], color=look["color"])
        axes.plot([effect], [place], marker="o", **look)
    axes.axvspan(-math.log1p(until), math.log1p(until), color=COLOURS[7], alpha=0.2, linewidth=0)
    axes.axvline(0, color=COLOURS[6], linewidth=0.8)
    reach = _reach(answers, until)
    axes.set_yticks(range(len(answers)), [_said(f"{answer['side']}: {answer['metric']}" if several else answer["metric"]) for answer in answers])
    axes.set(xlim=(-reach, reach), xlabel="change")
    axes.xaxis.set_major_formatter(lambda log, _: _ratio(log))
    axes.invert_yaxis()
    return axes
