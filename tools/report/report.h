// Prints a results document (docs/results.md) as tables, the few figures that decide first. All
// figures come from the document, so a stored file prints the same report as the run that wrote it.
// csv.h has them as data.
#ifndef TESTBED_TOOLS_REPORT_REPORT_H_
#define TESTBED_TOOLS_REPORT_REPORT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/output/report_style.h"

namespace testbed {

// The schemas of the documents that runs and `testbed ab` write, and that this version reads.
inline constexpr char kResultsSchema[] = "testbed-results/1", kAbSchema[] = "testbed-ab/1";

// Throws json::exception when the document lacks a part that every one has (ReadResults checks).
std::string ReportText(const nlohmann::json& document, const ReportStyle& style = {});

// Returns the lines with which the report begins, one for each run that failed: of such a run there
// are only the phases that it had finished. Throws as ReportText does.
std::vector<std::string> FailedRunLines(const nlohmann::json& document);
// Returns the lines of the report that say what makes the figures of the document doubtful, each
// with "! " before it: other programs or virtual machines used the processors, the harness took
// much of the clients' time, clients fell behind their rate, operations got no answer, a setting is
// not in force, a replay ran on another database, tasks of the run did not work at the same time,
// the clock of a task moved, or the budget covers the database itself. Throws as ReportText does.
std::string Doubts(const nlohmann::json& document);
// Returns the lines on how to read the figures: the rates that searches found, phases that ended
// early, readahead around page faults, and that a loop was closed. Throws as ReportText does.
std::string Remarks(const nlohmann::json& document);

// A file that a user names for a report. It is read once, because a pipe gives its text only once,
// and is then asked what it holds: results (ResultsOf), or a comparison (tools/ab/ab_report.h).
struct DocumentFile {
  std::string path;         // "-" is standard input
  std::string text;         // empty for JSON, so that a long document is in memory once
  nlohmann::json document;  // discarded when the text is no JSON
};
// Throws Error (kUsage) when the file cannot be read, or memory has no room for it.
DocumentFile ReadDocumentFile(const std::string& path);
// Throws Error (kUsage), which names the file, when a document of `bytes` has no room in the memory
// that is free by `meminfo`, the text of /proc/meminfo.
void CheckRoomForDocument(const std::string& path, uint64_t bytes, const std::string& meminfo);
// Returns the results document that the file holds. Throws Error (kUsage) as ReadResults does.
nlohmann::json ResultsOf(DocumentFile file);

// Reads a results file; the path "-" is standard input. Throws Error (kUsage) when the file cannot
// be read, is not a results file, has a schema that this version does not know, or lacks something
// that the functions here print.
nlohmann::json ReadResults(const std::string& path);

// Returns the JSON files of a directory, in the order of their names. Throws Error (kUsage) when it
// cannot be read.
std::vector<std::string> JsonFilesIn(const std::string& directory);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_REPORT_H_
