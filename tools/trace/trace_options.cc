#include "tools/trace/trace_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "device/error.h"
#include "tools/command/command_words.h"
#include "tools/option_values.h"
#include "tools/output/output_file.h"
#include "workloads/registry.h"
#include "workloads/trace/known_trace.h"
#include "workloads/trace/replay.h"
#include "workloads/trace/trace_file.h"

namespace testbed {
namespace {

bool Runs(const RunOptions& options, const char* workload) {
  return std::find(options.workloads.begin(), options.workloads.end(), workload) !=
         options.workloads.end();
}

void CheckSpeed(const std::string& text) {
  if (text == "max") return;
  try {
    ParseReal("--speed", text, 0.001, 1000);
  } catch (const Error&) {
    RefuseValue("--speed", text, "max, or a number from 0.001 to 1000");
  }
}

}  // namespace

void AddTraceOptions(CLI::App& app, RunOptions& o) {
  app.option_defaults()->group("Traces");
  AddFileOption(app, "--record", &o.record_file,
                "Write each operation of the last phase to a trace (docs/trace-format.md); "
                "--workload replay:FILE performs it again");
  app.add_option_function<std::string>(
         "--speed",
         [&o](const std::string& text) {
           CheckSpeed(text);
           o.workload.extra["speed"] = text;
         },
         "Pace of replay:FILE: max, as fast as the clients go, or a multiple of the recorded pace, "
         "such as 1 or 2, in an open loop [max]")
      ->type_name("PACE");
}

void CheckTraceOptions(const RunOptions& options) {
  const auto speed = options.workload.extra.find("speed");
  const bool paced = speed != options.workload.extra.end();
  if (paced && !Runs(options, "replay")) {
    throw Error(Error::kUsage,
                "--speed is the pace of --workload replay:FILE; name that workload too");
  }
  if (paced && speed->second != "max" && options.rate > 0) {
    throw Error(Error::kUsage,
                "--rate and --speed both set the starts of operations; give one of them");
  }
  if (options.record_file.empty()) return;
  if (options.record_file == "-") {
    RefuseValue("--record", "-", "the name of a file; ./- is a file of that name");
  }
  if (options.threads.size() > 1 || options.repeat > 1 || options.repeat_runs > 1) {
    throw Error(Error::kUsage,
                "--record writes the trace of one run; give one number of --threads, and neither "
                "--repeat nor --repeat-runs");
  }
  const WorkloadInfo& last = FindWorkload(options.workloads.back());
  if (last.only_settles || last.only_checks) {
    throw Error(Error::kUsage,
                fmt::format("--record writes the operations of the last phase, and {} has none for "
                            "a trace; end the list with another",
                            last.name));
  }
  if (options.queue_depth > 1) {
    throw Error(Error::kUsage,
                "--record does not see reads that are in flight together; leave out --queue-depth");
  }
}

void ApplyTraceThreads(const std::vector<std::string>& words, RunOptions* options) {
  constexpr uint32_t kMost = 1000;
  if (!Runs(*options, "replay") || Gives(words, "--threads")) return;
  const ReplayOptions replay = ReplayOptions::From("replay", options->workload.extra);
  const TraceFile file(replay.trace);
  CheckKnownTrace(file);
  const uint32_t clients = file.facts().clients;
  options->threads = {static_cast<int>(std::clamp(clients, 1u, kMost))};
}

void CheckRecordedRows(const RunOptions& options, const Dataset& dataset) {
  if (options.record_file.empty()) return;
  const size_t key_bytes = dataset.LongestKey(options.workload.hit_ratio < 1) +
                           (dataset.options().indexes != 0 ? Dataset::kAttributeBytes : 0);
  if (key_bytes > kMostTraceKey) {
    throw Error(Error::kUsage, fmt::format("--record writes keys of {} bytes at most, and those of "
                                           "the rows have up to {}; leave it out",
                                           kMostTraceKey, key_bytes));
  }
  if (!FindWorkload(options.workloads.back()).loads) return;
  // A load's transaction becomes one operation, which must fit into a block of the trace.
  constexpr uint64_t kOfCall = 16;  // bytes beside the key
  const uint64_t entries =
      std::min<uint64_t>(options.workload.rows_per_transaction, dataset.rows()) *
      (1 + dataset.options().indexes);
  if (entries * (key_bytes + kOfCall) <= kMostBlockBytes - kBlockBytes) return;
  throw Error(
      Error::kUsage,
      fmt::format("--record writes transactions with {} MB of keys at most, and {} rows have "
                  "more; give a smaller --rows-per-transaction",
                  kMostBlockBytes >> 20, options.workload.rows_per_transaction));
}

std::string UnrecordedText(const RunOptions& options, const nlohmann::json& document) {
  if (options.record_file.empty()) return "";
  bool is_empty = false;
  const std::string& name = options.workloads.back();
  auto left = std::count(options.workloads.begin(), options.workloads.end(), name);
  for (const nlohmann::json& run : document["runs"]) {
    for (const nlohmann::json& phase : run["phases"]) {
      const nlohmann::json& kind = phase["kind"];
      if (phase["name"] != name || (kind != "measure" && kind != "load")) continue;
      if (!phase.value("partial", true)) --left;
      is_empty = phase.value("count", uint64_t{1}) == 0;
    }
  }
  if (left > 0 ? !document.value("partial", false) : !is_empty) return "";
  const bool stays = std::filesystem::exists(options.record_file);
  return fmt::format("the trace {} was not written, because the {}{}", options.record_file,
                     left > 0 ? "run was stopped before the end of the phase that it records"
                              : "phase that it records had no operation",
                     stays ? "; the file of that name stays" : "");
}

void CheckReplayedTrace(const RunOptions& options) {
  for (const char* name : {"replay", "replay-load"}) {
    if (!Runs(options, name)) continue;
    const TraceFile file(ReplayOptions::From(name, options.workload.extra).trace);
    CheckKnownTrace(file);
    file.CheckBlocks();
    return;
  }
}

}  // namespace testbed
