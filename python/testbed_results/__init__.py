"""The results of testbed as tables and plots.

    import testbed_results as tr
    results = tr.results("run.json")     # a row for each run, phase and operation, as pandas

Paths are results documents (docs/results.md), directories of them, the results of experiments, and
stores of `testbed results` (docs/store.md), which have rows alone: documents() and the plots that
take paths refuse them. The columns are those of `testbed --csv`; columns.json, which the program
made, says what each is read from. Reading takes the standard library alone; tables take pandas or
polars, plots matplotlib.
"""

from .plots import (COLOURS, ENGINES, LINES, MARKS, SHORTEST_SECONDS, STALL_SECONDS, STALL_US, T_95, plot_changes, plot_curve, plot_ledger,
                    plot_percentiles, plot_rates, plot_reads, plot_series, plot_space, plot_time, plot_written)
from .readers import (COLUMNS, COMPARISON_SCHEMA, SCHEMA, STORE_APPLICATION, STORE_BEGIN, STORE_VERSION, WAIT_SECONDS, ResultsError, causes, cells,
                      comparison, documents, query, results, rows, runs, series)

__all__ = ["ResultsError", "comparison", "documents", "rows", "results", "series", "causes", "runs", "cells", "query", "plot_time",
           "plot_percentiles", "plot_rates", "plot_reads", "plot_ledger", "plot_written", "plot_space", "plot_curve",
           "plot_series", "plot_changes"]
