// Results as tables for programs: one row for each run, phase and operation, with raw numbers and,
// in each row, the settings, versions and machine they belong to. docs/results.md ("As CSV")
// describes the columns (rows.h), whose names are stable. Warm-ups and trials of --cache-pct auto
// are rows, too; their "kind" tells them.
//
// Both throw json::exception when a document lacks a part that every one has (ReadResults checks).
#ifndef TESTBED_TOOLS_REPORT_CSV_H_
#define TESTBED_TOOLS_REPORT_CSV_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

// Returns ResultRows of all documents under one header.
std::string RunsCsv(const std::vector<const nlohmann::json*>& documents);

// Returns SeriesRows of all documents: a row for each second of each phase.
std::string SeriesCsv(const std::vector<const nlohmann::json*>& documents);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_CSV_H_
