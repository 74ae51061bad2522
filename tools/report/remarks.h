// Lines about the figures of a results document that say what a figure is made of: reads that the
// kernel made ahead, parts of a log that its engine does not count apart, the work of checks, and
// less work than was asked for. Thread-safe.
#ifndef TESTBED_TOOLS_REPORT_REMARKS_H_
#define TESTBED_TOOLS_REPORT_REMARKS_H_

#include <nlohmann/json.hpp>
#include <string>

namespace testbed {

// Returns a line for each phase for which the device read far more than was asked for, because the
// kernel reads ahead around each page fault of a mapping: of point reads, and of a load that read
// more than its whole database, as one by random keys does when memory is short. The rate is then
// that of the readahead. Throws as ReportText does.
std::string ReadaheadLines(const nlohmann::json& document);

// Returns a line when the engine counts the bytes of its log's records and of the whole log, and
// none of the parts between. The table of log writes has "-" for these. Throws as ReportText does.
std::string LogPartsLine(const nlohmann::json& document);

// Returns a line with the number of phases that ended before they were told to, and why the first
// one did; an empty string when none did. It begins with "! ". Of a phase it reads "name", "kind"
// and "ended_because". Throws as ReportText does.
std::string EndedEarlyLine(const nlohmann::json& document);

// Returns a line with the phases that checked more answers than a sample has, as the work of their
// checks shows in figures per operation. Throws as ReportText does.
std::string ChecksLine(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_REMARKS_H_
