"""Reads results documents, and stores of `testbed results`, into rows and tables.

A store is opened for reading alone. Rows are dictionaries, and take the standard library alone;
tables take pandas or polars, which are imported by the call that needs them.
"""

import json
import math
import pathlib
import shlex
import sqlite3
import urllib.parse
import warnings

SCHEMA = "testbed-results/1"
COMPARISON_SCHEMA = "testbed-ab/1"
WAIT_SECONDS = 10  # how long a reader waits for a process that writes to the store, as testbed does
STORE_APPLICATION, STORE_VERSION = 0x74627273, 1
STORE_BEGIN = b"SQLite format 3\0"  # the first bytes of a SQLite file
COLUMNS = json.loads((pathlib.Path(__file__).parent / "columns.json").read_text(encoding="utf-8"))


class ResultsError(ValueError):
    """A file holds no results; the sentence says why."""


# Reading -------------------------------------------------------------------------------------------


def _files(paths):
    """Yields the files that the paths stand for, in the order of their names, and whether the file was found in a directory of them."""
    for path in [paths] if isinstance(paths, (str, pathlib.Path)) else paths:
        path = pathlib.Path(path)
        if not path.is_dir():
            yield path, False
            continue
        experiment = (path / "experiment.json").exists()
        folders = [path / "cells", path / "loads"] if experiment else [path]
        found = [file for folder in folders for file in sorted(folder.glob("*.json"))]
        if experiment:  # a run that had failed does not count when its cell finished later
            found += [file for file in sorted((path / "failed").glob("*.json")) if path / "cells" / file.name not in found]
        if not found:
            raise ResultsError(f"{path} holds no results; give a directory with files written by --json")
        yield from ((file, not experiment) for file in found)


def _is_store(path):
    try:
        with open(path, "rb") as file:
            return file.read(len(STORE_BEGIN)) == STORE_BEGIN
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error.strerror}") from error


def _read(paths):
    """Yields the files that the paths stand for, each with its document; with None if it is a store. A comparison by `testbed ab`
    in a directory of results has no rows of runs: a warning names those that were left out."""
    left_out, any_results = [], False
    for path, in_directory in _files(paths):
        document = None if _is_store(path) else _document(path, (SCHEMA, COMPARISON_SCHEMA) if in_directory else (SCHEMA,))
        if document is not None and document["schema"] == COMPARISON_SCHEMA:
            left_out.append(path)
            continue
        any_results = True
        yield path, document
    if not left_out:
        return
    why = "a comparison of testbed ab has the figures of two sides and no rows of runs"
    if not any_results:
        raise ResultsError(f"{left_out[0].parent} holds comparisons of testbed ab alone, and {why}; testbed_results.comparison reads one")
    more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
    warnings.warn(f"left out {left_out[0]}{more}: {why}", stacklevel=4)


def _document(path, wanted=(SCHEMA,)):
    try:
        text = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error.strerror}") from error
    if text.startswith(STORE_BEGIN):
        raise ResultsError(f"{path} is a store, which has the rows of documents and not the documents; give the files that --json wrote")
    try:
        document = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path} is no JSON, or it is cut off: {error}") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema not in wanted:
        what = "results document" if wanted[0] == SCHEMA else "comparison by testbed ab"
        raise ResultsError(f"{path} is no {what} of this version: its schema is {schema!r}, not {wanted[0]}")
    return document


def documents(paths):
    """Returns a list of (path, document)."""
    return [(str(path), document or _document(path)) for path, document in _read(paths)]  # _document refuses a store


def comparison(path):
    """Returns the document of a comparison by `testbed ab --json`; its "answers" have the changes and their intervals."""
    return _document(path, (COMPARISON_SCHEMA,))


def _open_store(path):
    store = sqlite3.connect(f"file:{urllib.parse.quote(str(pathlib.Path(path).absolute()))}?mode=ro", uri=True, timeout=WAIT_SECONDS)
    try:
        known = [store.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    except sqlite3.OperationalError as error:  # a writer holds it, or a killed one left its journal, which a reader may not apply
        store.close()
        raise ResultsError(f"{path} cannot be read now ({error}); `testbed results list --store {shlex.quote(str(path))}` puts back "
                           "what a killed command left") from error
    except sqlite3.DatabaseError as error:
        store.close()
        raise ResultsError(f"{path} is no store of testbed: {error}") from error
    if known != [STORE_APPLICATION, STORE_VERSION]:
        store.close()
        raise ResultsError(f"{path} is no store of this version of testbed; `testbed results add` makes one")
    return store


def _ask(path, sql, parameters=()):
    """Returns the names of the answer's columns, and its rows as dictionaries."""
    store = _open_store(path)
    try:
        answer = store.execute(sql, parameters)
        names = [column[0] for column in answer.description or ()]
        return list(dict.fromkeys(names)), [dict(zip(names, row)) for row in answer]
    except sqlite3.Error as error:
        raise ResultsError(f"{path} cannot answer: {error}") from error
    finally:
        store.close()


def _at(value, steps):
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _number(value):
    """Returns the number that the text of a fact is; the value itself when it is none."""
    if not isinstance(value, str) or not value.lstrip("-")[:1].isdigit():
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value


def _cell(value):
    """Returns a value as a cell has it: None for an empty cell of a CSV, text for a list or
    object."""
    if isinstance(value, list) and not any(isinstance(part, (list, dict)) for part in value):
        value = " ".join(part if isinstance(part, str) else json.dumps(part) for part in value)
    elif isinstance(value, (list, dict)):
        value = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True) if value else ""
    if value == "" or isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _others(account, figure):
    """Returns the IO of other programs on the device."""
    threads = [thread for thread in account.get("other_threads") or () if thread.get("kind") == "other-file"]
    return sum((float(_at(thread, ["kernel", figure]) or 0) for thread in threads), 0.0)


def _own(account, figure):
    device = _at(account, ["device", figure])
    return None if device is None else max(0.0, device - _others(account, figure))


def _unanswered(phase, steps):
    """Returns the sum of a figure over the operations of a phase that got no answer; None for a phase without operations."""
    if not phase or "operations" not in phase:
        return None
    return sum((float(_at(operation, steps) or 0) for operation in phase.get("unanswered") or ()), 0.0)


def _background(second, steps):
    work = second.get("background")
    if not work:
        return None
    if steps == ["name"]:
        return [part.get("name") for part in work]
    return sum((float(_at(part, steps) or 0) for part in work), 0.0)


def _causes(phase):
    """Returns the causes of IO in a phase: those of its account, and the threads outside the run in the form of these."""
    account = phase.get("account") or {}
    outside = [{"name": thread.get("thread", ""), "ground": "other program" if thread.get("kind") == "other-file" else "kernel thread",
                "kernel": thread.get("kernel") or {}, "kernel_by_kind": {thread.get("kind", ""): thread.get("kernel") or {}}}
               for thread in account.get("other_threads") or ()]
    return [*(account.get("causes") or ()), *outside]


def _row(columns, document, run, run_index, phase=None, phase_index=None, operation=None, second=None, cause=None):
    account = (phase or {}).get("account") or {}
    if operation is not None:
        cause = next((one for one in account.get("causes") or () if one.get("name") == operation.get("name")), None)
    sources = {"document": document, "fact": document, "run": run, "phase": phase, "operation": operation, "cause": cause, "second": second}
    row = {}
    for column in columns:
        of, steps = column["of"], column["at"].split("/")[1:]
        if of == "run_index":
            value = run_index
        elif of == "phase_index":
            value = phase_index
        elif of == "own":
            value = _own(account, steps[0])
        elif of == "other_programs":  # only the kernel account, which lists these threads, tells it
            value = _others(account, steps[0]) if "other_threads" in account else None
        elif of == "unanswered":
            value = _unanswered(phase, steps)
        elif of == "background":
            value = _background(second, steps)
        else:
            value = _at(sources[of], steps)
        row[column["name"]] = _cell(_number(value) if of == "fact" else value)
    return row


def _rows_of(document, table):
    columns = COLUMNS[table]
    for run_index, run in enumerate(document["runs"]):
        if table == "runs":
            yield _row(columns, document, run, run_index)
            continue
        for phase_index, phase in enumerate(run["phases"]):
            place = (columns, document, run, run_index, phase, phase_index)
            if table == "series":
                for second in phase.get("series") or ():
                    yield _row(*place, second=second)
                continue
            if table == "causes":
                for cause in _causes(phase):
                    yield _row(*place, cause=cause)
                continue
            for operation in phase.get("operations") or [None]:
                yield _row(*place, operation=operation)
        if table == "results" and not run["phases"]:
            yield _row(columns, document, run, run_index)  # it tells the error of the run


def _table(paths, table):
    """Returns the names of the columns, and the rows as dictionaries."""
    if table not in COLUMNS:
        raise ResultsError(f"there is no table {table!r} of documents; there are {', '.join(COLUMNS)}")
    names, found = ["path"], []
    for path, document in _read(paths):
        if document is None:
            of_store, answer = _ask(path, f"SELECT * FROM {table} ORDER BY rowid")
            names += of_store
            found += [{"path": str(path), **row} for row in answer]
            continue
        try:
            found += [{"path": str(path), **row} for row in _rows_of(document, table)]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ResultsError(f"{path} is damaged, or no results document of this version: {error!r}") from error
    return list(dict.fromkeys(names + [column["name"] for column in COLUMNS[table]])), found


def rows(paths, table="results"):
    """Returns the rows of "results", "series", "causes" or "runs" as a list of dictionaries; "path" is the file of each."""
    return _table(paths, table)[1]


# Tables --------------------------------------------------------------------------------------------


def _of_one_type(found):
    """Returns the rows with each column made text that has numbers and texts, as of --value-size
    400 and 100-1000, and with 1 and 0 for true and false in a column that has numbers, too: a
    store has these for those of a document. Parquet and polars accept no column of both."""
    text = {name for row in found for name, value in row.items() if isinstance(value, str)}
    mixed = {name for row in found for name in text if isinstance(row.get(name), (int, float))}
    truths = {name for row in found for name, value in row.items() if isinstance(value, bool)} - mixed
    truths = {name for row in found for name in truths if isinstance(row.get(name), (int, float)) and not isinstance(row[name], bool)}

    def of_type(name, value):
        if name in mixed and isinstance(value, (int, float)):
            return json.dumps(value)
        return int(value) if name in truths and isinstance(value, bool) else value

    return [{name: of_type(name, value) for name, value in row.items()} for row in found] if mixed or truths else found


def _frame(names, found, library):
    """Returns the rows as a table. One without rows has the columns of these names."""
    found = _of_one_type(found)
    if library == "pandas":
        import pandas
        return pandas.DataFrame(found) if found else pandas.DataFrame(columns=names)
    if library == "polars":
        import polars
        return polars.DataFrame(found, infer_schema_length=None) if found else polars.DataFrame({name: [] for name in names})
    raise ResultsError(f"library={library!r} is neither 'pandas' nor 'polars'")


def results(paths, library="pandas"):
    """A row for each run, phase and operation."""
    return _frame(*_table(paths, "results"), library)


def series(paths, library="pandas"):
    """A row for each second of each phase."""
    return _frame(*_table(paths, "series"), library)


def causes(paths, library="pandas"):
    """A row for each cause of IO in each phase: kinds of operations, background work, and threads outside the run."""
    return _frame(*_table(paths, "causes"), library)


def runs(paths, library="pandas"):
    """A row for each run, those that failed included."""
    return _frame(*_table(paths, "runs"), library)


def cells(store, library="pandas"):
    """A row for each cell, round and metric of the experiments in a store."""
    return query(store, "SELECT * FROM cells ORDER BY rowid", library=library)


def query(store, sql, parameters=(), library="pandas"):
    """The answer of a store to a question in SQL. The store is opened for reading."""
    _is_store(store)
    return _frame(*_ask(store, sql, parameters), library)
