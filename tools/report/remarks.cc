#include "tools/report/remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/output/table.h"
#include "tools/report/figures.h"

namespace testbed {
namespace {

using nlohmann::json;

// The bytes that an operation asks for.
struct Asked {
  double page = 0, row = 0;
};

Asked AskedBy(const json& document) {
  constexpr double kLeastPage = 4096;  // what a page fault reads at least
  const json& o = document.at("options");
  // Values of several sizes have no size in the options.
  const double mean = Number(document, "/data/value_bytes", 0) / Number(document, "/data/rows", 1);
  return {.page = std::max(kLeastPage, Number(o, "/page_size", 0)),
          .row = Number(o, "/key_size", 0) + Number(o, "/value_size", mean)};
}

// Returns what the device read for the phase, as the object of a sentence, when it is far more than
// what was asked for; else "".
std::string ReadAhead(const json& phase, const Asked& asked) {
  constexpr double kFarMore = 4;
  const DeviceIo own = OwnDeviceIo(phase.at("account"));
  if (phase.at("kind") == "load") {
    const double each = own.read_bytes / own.reads;
    const bool far_more = own.read_bytes > PhaseDataBytes(phase) && each > kFarMore * asked.page;
    return far_more ? fmt::format("{}, {} at once", Size(own.read_bytes), Size(each)) : "";
  }
  const json& operations = phase.at("operations");
  const bool points = phase.at("kind") == "measure" && operations.size() == 1 &&
                      operations.at(0).at("name") == "point-read";
  const double each = own.read_bytes / ChargedOperations(phase);
  const bool far_more = points && each > kFarMore * (asked.page + asked.row);
  return far_more ? Size(each) + " for an operation" : "";
}

}  // namespace

std::string ReadaheadLines(const json& document) {
  const json& o = document.at("options");
  if (FigureText(o, "/io") != "mmap" || FigureText(o, "/mmap_advice") != "normal") return "";
  const Asked asked = AskedBy(document);
  std::string text;
  ForEachPhase(document, [&](const json& run, const json& phase) {
    const bool known = phase.contains("operations") && phase.contains("account");
    const std::string what = known ? ReadAhead(phase, asked) : "";
    if (what.empty()) return;
    text += fmt::format(
        "{}: the device read {}, as the kernel reads ahead around each page fault of a mapping; "
        "--mmap-advice random, or a small --readahead, reads the pages asked for\n",
        RowName(run, phase, ""), what);
  });
  return text;
}

std::string LogPartsLine(const json& document) {
  bool untold = false;
  ForEachPhase(document, [&](const json&, const json& phase) {
    if (!phase.contains("/account/log"_json_pointer) || !phase.contains("operations")) return;
    const json& account = phase.at("account");
    const bool parts = account.contains(json::json_pointer("/engine/more/log_padding_bytes"));
    untold = untold || (!parts && Number(account, "/log/bytes") >
                                      Number(account, "/engine/log_payload_bytes"));
  });
  if (!untold) return "";
  return fmt::format(
      "{} does not count framing, padding and rewritten blocks of its log apart, so each of them "
      "is \"-\"; together they are \"engine says\" (--wide) less \"payload\"\n",
      FigureText(document.at("options"), "/engine"));
}

std::string EndedEarlyLine(const json& document) {
  size_t ended = 0;
  std::string first;
  for (const json& run : document.at("runs")) {
    for (const json& phase : run.at("phases")) {
      if (!phase.contains("ended_because") || phase.at("kind") == "tune") continue;
      if (++ended > 1) continue;
      first = FigureText(phase, "/name") + ", " + FigureText(phase, "/ended_because");
    }
  }
  if (ended == 0) return "";
  return fmt::format("! {} ended early, so figures are of less work than was asked for: in {}\n",
                     Counted(ended, "phase"), first);
}

std::string ChecksLine(const json& document) {
  constexpr double kMany = 0.02;  // share of the operations; a sample is 1 in 64
  std::string phases, also_in;    // also_in: the column of the engine that has the checks, too
  ForEachPhase(document, [&](const json& run, const json& phase) {
    const double checks = Number(phase, "/verified", 0);
    if (checks <= kMany * Number(phase, "/count", 0)) return;
    phases += fmt::format("{}{} with {}", phases.empty() ? "" : "; ", RowName(run, phase, ""),
                          WithNoun(Whole(checks), "check"));
    const json& account = phase.at("account");
    if (account.contains("checks")) return;
    const double asks = Number(account, "/engine/block_requests");
    if (asks > 0) also_in = "engine asks";
    if (std::isnan(asks) && EngineMisses(account) > 0) also_in = "engine misses";
  });
  if (phases.empty()) return "";
  if (!also_in.empty()) {
    also_in = fmt::format(", and in {}, as the engine does not count it apart", also_in);
  }
  return fmt::format("the work of checks (--verify) is in ops/s and cpu us/op{}: {}\n", also_in,
                     phases);
}

}  // namespace testbed
