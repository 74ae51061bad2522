// Figures of a results document (docs/results.md), read so that a damaged or older document yields
// "not known", never a crash. Shared by the tables, the CSV and the comparison.
//
// json::exception is thrown where a part is missing that every document has (ReadResults checks).
// Thread-safe.
#ifndef TESTBED_TOOLS_REPORT_FIGURES_H_
#define TESTBED_TOOLS_REPORT_FIGURES_H_

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

// Returns the number at a JSON pointer; `otherwise` when there is none.
double Number(const nlohmann::json& j, const std::string& pointer, double otherwise = NAN);
// Returns the string at a JSON pointer, or the JSON text of what is there, on one line: a document
// may come from elsewhere. "-" when nothing is there.
std::string FigureText(const nlohmann::json& j, const std::string& pointer);

// These return a double as a size ("8k") and as a count ("1,234"); "-" when it cannot be one.
std::string Size(double bytes);
std::string Whole(double n);

// Returns the clients of a phase: "8 thr", or "8 thr x 3 tasks" where each of several tasks had 8.
std::string ClientsText(const nlohmann::json& run, const nlohmann::json& phase);

// Returns which of several loads and runs on a load this run is, as tables name it: " load 2 #3".
// Both are counted from 1, and the first ones are not named.
std::string WhichRun(const nlohmann::json& run);

// Returns the first cell of a phase's rows, which is the same in every table, on one line: "insert,
// 8 thr load 2".
std::string RowName(const nlohmann::json& run, const nlohmann::json& phase,
                    const std::string& operation);

// Calls `function` for each run and phase of the document, except for warm-up and tuning phases,
// which no table shows.
template <typename Function>
void ForEachPhase(const nlohmann::json& document, Function function) {
  for (const nlohmann::json& run : document.at("runs")) {
    for (const nlohmann::json& phase : run.at("phases")) {
      if (phase.at("kind") != "warm-up" && phase.at("kind") != "tune") function(run, phase);
    }
  }
}

// Returns whether this number of operations tells the percentile of this share (0.99 for p99): at
// least ten of them took longer. Reports have "-" in place of other percentiles.
bool TellsPercentile(double operations, double share);

// Returns how many operations tell the latencies of an entry of "operations", "addresses" or
// "tasks": those that it counts, unless the latencies have a count of their own. Those from the
// intended start include operations that were due and had not begun.
double ToldOperations(const nlohmann::json& entry, const std::string& latency = "latency_us");

// Returns how many operations caused what a phase did: those that were answered ("count"), and
// those that got no answer ("unanswered"). Requests, blocks and processor time per operation of a
// phase are divided by it, as those of a cause are by its "operations"; rates and latencies are of
// the answered ones.
double ChargedOperations(const nlohmann::json& phase);

// Returns the share of operations below the percentile that a metric is: 0.99 for p99, intended_p99
// and update.p99. Returns 0 for other metrics.
double PercentileShare(const std::string& metric);

// Returns the entry of the account's causes with this name; null when there is none.
const nlohmann::json* Cause(const nlohmann::json& phase, const std::string& name);

// Sums a kernel or file figure over the causes that `take` accepts.
template <typename Take>
double SumOfCauses(const nlohmann::json& phase, const std::string& level, const std::string& figure,
                   Take take) {
  double sum = 0;
  for (const nlohmann::json& cause : phase.at("account").at("causes")) {
    if (take(cause)) sum += Number(cause, "/" + level + "/" + figure, 0);
  }
  return sum;
}

// Returns the size of a phase's database without the files of its write-ahead log; NaN when it is
// not known. Sizes of rows and growth are computed from this: a log is as large as checkpoints let
// it grow, or as the engine allocates it ahead, whatever the rows take.
double PhaseDataBytes(const nlohmann::json& phase);

// Requests of a device over a phase.
struct DeviceIo {
  double reads = 0, read_bytes = 0, writes = 0, write_bytes = 0;
};

// Returns whether an entry of the account's other_threads is another program's: threads outside the
// run, and files that are not the database's.
bool IsOfOtherProgram(const nlohmann::json& thread);
// Returns the requests of other programs on the device. They are 0 without the kernel account,
// since nothing else can tell them apart. `account` is a phase's.
DeviceIo OtherProgramsIo(const nlohmann::json& account);
// Returns the requests of the device without those of other programs (OtherProgramsIo); NaN when
// the device's statistics are not known. Figures per operation are computed from these.
DeviceIo OwnDeviceIo(const nlohmann::json& account);
// Returns OwnDeviceIo as "own" of a phase's account; null when it is not known.
nlohmann::json OwnDeviceJson(const nlohmann::json& account);

// Returns the blocks that the engine's cache did not have: those that it was asked for, without its
// hits. An engine that does not count what its cache is asked for (bf-tree) counts the blocks that
// it read. NaN when the engine counts neither. `account` is a phase's.
double EngineMisses(const nlohmann::json& account);

// A class of written bytes.
struct WriteClass {
  std::string name;
  double bytes;
};
// Divides what the run wrote to the device in a phase into classes that add up to it; other
// programs' files are no class. For phases with the kernel account.
std::vector<WriteClass> WriteClasses(const nlohmann::json& phase);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_FIGURES_H_
