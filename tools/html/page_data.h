// Turns results documents (docs/results.md) into the data of a page: the documents as they are,
// with the parts that only a plot needs made smaller.
//
//   PageData data;
//   data.AddDocument("run.json", ReadResults("run.json"));
//   std::string html = PageHtml(data.Json());   // page.h
#ifndef TESTBED_TOOLS_HTML_PAGE_DATA_H_
#define TESTBED_TOOLS_HTML_PAGE_DATA_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/output/table.h"

namespace testbed {

// Returns a table of a report as a page has it: its "title", "columns" and "rows" as text.
nlohmann::json TextsOfTable(const Table& table);

// Collects what a page shows. Every figure keeps its JSON pointer of the document, so that a reader
// can look it up. What differs from the document:
//
// - "series" has a list for each figure in place of an object for each second. A series of more
//   than kMostSeconds entries is thinned: neighbours are joined, counts added, percentiles and
//   maxima the largest of them, parts of the memory those of the last one; "joined" says how many.
//   "stalls" are those of its single seconds (tools/live/seconds.h): "from" and "to", the lowest
//   "rate", and "worst", the slowest operation.
// - An operation has "latency_curve", pairs of a percentile (0 to 1) and microseconds, in place of
//   its histograms: from the intended start where that is known.
// - "doubts" and "remarks" are the lines of the report that it prints above its tables, each
//   without its "! ", and below them (Doubts and Remarks of report.h).
// - "tables" are the tables of the report whose figures the page has in no other form
//   (TablesWithoutPlots of run_tables.h), as TextsOfTable has them.
// - "data" is absent unless the loader `insert` made the rows: the other loaders make their own.
// - "effective", "machine" and "device" are indexes into "shared", which holds equal ones once.
// - A phase of the search of --cache-pct auto or --find-rate has only its name and kind.
// - A run has no "population".
//
// Not thread-safe.
class PageData {
 public:
  // Adds a document of the schema testbed-results/1. `source` names the file.
  void AddDocument(const std::string& source, nlohmann::json document);
  // Adds the results of an experiment (experiment_data.h). Its documents stand packed in the page
  // and are unpacked when a reader opens them: an experiment has too many documents to hold them as
  // text.
  void AddExperiment(nlohmann::json experiment) { experiments_.push_back(std::move(experiment)); }
  // Adds a comparison by `testbed ab` (AbComparisonJson of comparison_data.h).
  void AddComparison(nlohmann::json comparison);
  // Sets the comparison of the two documents of the page (DocumentsComparisonJson).
  void SetCompared(nlohmann::json compared) { compared_ = std::move(compared); }
  // Returns whether there is room for another packed document.
  bool HasRoom() const { return packed_bytes_ < kMostPackedBytes; }
  // Adds a packed document, and returns its index.
  size_t PackDocument(const std::string& source, nlohmann::json document);
  // Returns the page's data: "schema" (testbed-page/1), "testbed", "shared", "documents" (each with
  // "source" and "document"), "experiments", "comparisons", "compared" (null without one), and
  // "packed", texts of JSON documents like those of "documents", compressed (zlib) and in base64.
  nlohmann::json Json() const;

  static constexpr size_t kMostSeconds = 1200;
  static constexpr size_t kMostPackedBytes = 4 << 20;

 private:
  nlohmann::json Entry(const std::string& source, nlohmann::json document);
  nlohmann::json Share(const nlohmann::json& part);
  void ShareFacts(nlohmann::json* document);
  std::vector<nlohmann::json> documents_, shared_, experiments_, comparisons_;
  nlohmann::json compared_;
  std::vector<std::string> packed_;
  size_t packed_bytes_ = 0;
  std::map<std::string, size_t> shared_index_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_HTML_PAGE_DATA_H_
