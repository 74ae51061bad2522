// Turns comparisons into the data of a page, in the words of the reports: sentences, tables and
// figures are made here, and the page shows them as they are.
#ifndef TESTBED_TOOLS_HTML_COMPARISON_DATA_H_
#define TESTBED_TOOLS_HTML_COMPARISON_DATA_H_

#include <nlohmann/json.hpp>
#include <string>

namespace testbed {

// Returns the data of a comparison by `testbed ab` (docs/results.md, "testbed-ab"):
//
// - "source", "title", "testbed", "command", "started", "machine", "device";
// - "sentences", the first lines of the text report ("text"), each with "alarm", which is true when
//  a condition holds, a side failed or the comparison was stopped;
// - "sides" ("label", "settings", "options"), "way" (a sentence that ends with what it assumes),
//  "notes", and "until", the margin within which sides are the same;
// - "metrics", the table of the text report, and "answers", the document's own figures for each of
//  its rows (AnswersJson, tools/ab/answers.h);
// - "tables": the counters that moved, and what the sides did at rest, unless they are empty;
// - "loads", for each side but the first its "side" and "effects": of each load its "load", "log"
//  (the logarithm of the rate against the first side's; null when not known) and "counted".
//
// A table has "title", "columns" and "rows" of texts. Throws as AbReportText does.
nlohmann::json AbComparisonJson(const std::string& source, const nlohmann::json& document);

// Returns the data of a comparison of two results documents, as `testbed compare` makes it:
//
// - "first", "second": their sources;
// - "why": a sentence that says why they cannot be compared; when it is not empty, nothing follows;
// - "terms": lines on other programs and on what differs between the documents, those that alarm
//  with a "! "; "comparable" is false when the terms forbid to call a difference the engines';
// - "sentences", the answers about the rates ("text"), each with "told";
// - "table", with all metrics, and "answers", the figures for each of its rows: "cell", "metric",
//  "answer", "scale", "a", "b", "effect", "low" and "high"; "until" is the margin;
// - "lacking": a text on the loads that are too few; empty when there are enough.
//
// Returns null when they have no cell in common. Throws nlohmann::json::exception when a document
// is damaged.
nlohmann::json DocumentsComparisonJson(const std::string& first_source, const nlohmann::json& first,
                                       const std::string& second_source,
                                       const nlohmann::json& second);

}  // namespace testbed

#endif  // TESTBED_TOOLS_HTML_COMPARISON_DATA_H_
