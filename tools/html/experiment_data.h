// Turns the results of an experiment into the data of a page: its verdicts, its tables with the
// cells that each figure comes from, and the metrics of every cell.
#ifndef TESTBED_TOOLS_HTML_EXPERIMENT_DATA_H_
#define TESTBED_TOOLS_HTML_EXPERIMENT_DATA_H_

#include <nlohmann/json.hpp>
#include <string>

#include "tools/html/page_data.h"

namespace testbed {

// Returns the data of the experiment whose results are in the directory `path`:
//
// - "name", "title", "about", "source", "scale" ("" of a sweep), "set", "command", which makes such
//   results anew, "rounds", "finished_runs", "planned_runs", "grades", "machines", "devices",
//   "versions", "first", "last", "failures", "directory";
// - "confidence", how far the figures can be trusted: sentences in the words of the text report
//   ("text"), each with "alarm", which is true when something is amiss. They tell of runs that are
//   missing or failed, settings not in force, other programs, engines on unequal terms, and cells
//   not run;
// - "advice", of the experiment "advise" alone: its text (AdviceText);
// - "findings", as `testbed experiment --json` writes them;
// - "tables", each with "title", "note", "columns", "rows" (a "name", and "figures" with "cells",
//   "mean", "half_width", "n" and "mark": "best", "~" when it cannot be told from the best, or ""),
//   "held" (the memory that each engine held), "under" (lines on what restricts it; one on unequal
//   terms begins with "! "), "published_columns", "published";
// - "axes" ("name", "labels"), "metrics" ("name", "unit", "about"), "main_metric", which is that of
//   the first table, and "series" of metrics (MetricSeries), each with "stem", "over", which names
//   its numbers, "numbers" in their order, and "metrics", the index of the metric of each;
// - "cells": null for one that was not measured, else "name", "labels" (indexes into those of each
//   axis), "figures" (for each metric null, or the mean over the rounds and half of its 95 %
//   interval), "not_in_force", and "runs": for each finished round its "round" (from 1), its "file"
//   and "packed", the index of its document in `data`, null when it had no room.
//
// Throws Error (kUsage) when the directory holds no results of this version.
nlohmann::json ExperimentJson(const std::string& path, PageData* data);

}  // namespace testbed

#endif  // TESTBED_TOOLS_HTML_EXPERIMENT_DATA_H_
