#include "tools/experiment/cluster/blocks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/database/database_files.h"
#include "tools/experiment/cluster/claim.h"
#include "tools/experiment/plan/cell_engine.h"
#include "tools/experiment/sweep/forecast.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

using nlohmann::json;

// A dead host's claim may be held for as long as the lease of an NFS server lasts, 90 s.
constexpr std::chrono::seconds kClaimPatience(120);

// Waits for the claim on a block, whose holder may be a process that has just died with its host.
// Returns nothing when it is held all the time, or the user asks to stop.
std::optional<Claim> AwaitClaim(const std::string& file, const std::string& block) {
  const auto end = std::chrono::steady_clock::now() + kClaimPatience;
  bool said = false;
  for (;;) {
    std::optional<Claim> claim = Claim::Try(file);
    if (claim || StopRequested()) return claim;
    if (std::chrono::steady_clock::now() >= end) break;
    if (!said) {
      fmt::print(stderr, "testbed: {} runs block {}; waiting for its end for up to {} s\n",
                 Claim::Holder(file), block, kClaimPatience.count());
    }
    said = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  fmt::print(stderr, "testbed: {} still runs block {}, which is left to it\n", Claim::Holder(file),
             block);
  return std::nullopt;
}

// Returns the host that has measured the cell; empty when that is not known.
std::string HostOf(const json& document) {
  const json cell = document.is_object() ? document.value("cell", json::object()) : json::object();
  return cell.is_object() ? cell.value("host", "") : "";
}

// Sets aside what other hosts have measured of the block.
void BeginAnew(const std::vector<Cell>& cells, const ResultsDir& results) {
  std::map<std::string, size_t> moved;
  for (const Cell& cell : cells) {
    if (!results.HasCell(cell)) continue;
    const std::string host = HostOf(results.ReadCell(cell));
    if (host.empty() || host == NodeName()) continue;
    results.SetAside(cell);
    ++moved[host];
  }
  for (const auto& [host, n] : moved) {
    fmt::print(stderr,
               "testbed: {} of block {}, measured on {}, {} set aside: the cells of a block are "
               "compared with each other, and all of them run on {} now\n",
               Counted(n, "cell"), cells[0].block, host, n == 1 ? "is" : "are", NodeName());
  }
}

// Returns what is known of the runs of the cell that failed, which has no result.
std::string FailureText(const Cell& cell, const ResultsDir& results) {
  const json document = results.ReadFailure(cell);
  std::string text = fmt::format("{} failed on {}", cell.name, HostOf(document));
  const json runs = document.is_object() ? document.value("runs", json()) : json();
  for (const json& run : runs) {
    if (run.is_object() && run.contains("error")) {
      return fmt::format("{} ({})", text, run["error"].value("sentence", ""));
    }
  }
  return text;
}

// Returns why the block must stay on the host that has finished cells of it; "" when this host may
// begin it anew, or no other host has a result. Beginning anew gains nothing when this host lacks
// the library of a finished cell, or when each cell that is not finished has failed: it would fail
// here, too, after all others had been measured again.
std::string WhyItStays(const std::vector<Cell>& cells, const ResultsDir& results) {
  std::set<std::string> hosts;
  std::vector<std::string> failures;
  size_t open = 0;
  for (const Cell& cell : cells) {
    if (!results.HasCell(cell)) {
      ++open;
      if (results.HasFailure(cell)) failures.push_back(FailureText(cell, results));
      continue;
    }
    const std::string host = HostOf(results.ReadCell(cell));
    if (host.empty() || host == NodeName()) continue;
    hosts.insert(host);
    const std::string missing = MissingHere(cell);
    if (!missing.empty()) {
      return fmt::format("{} has finished {}, which cannot run here: {}", host, cell.name, missing);
    }
  }
  if (hosts.empty() || failures.size() < open) return "";
  return fmt::format(
      "{} has finished its other cells, and {}; mend that and run the block there, or remove "
      "{}/failed to have another host begin it anew",
      fmt::join(hosts, ", "), SomeNames(failures), results.path());
}

// Returns the cells that this host can run, and says of the others why it cannot.
std::vector<Cell> CellsForThisHost(const std::vector<Cell>& cells, const ResultsDir& results) {
  std::vector<Cell> here;
  std::map<std::string, size_t> others;  // by reason
  for (const Cell& cell : cells) {
    const std::string why = results.HasCell(cell) ? "" : MissingHere(cell);
    if (why.empty()) {
      here.push_back(cell);
    } else {
      ++others[why];
    }
  }
  for (const auto& [why, n] : others) {
    fmt::print(stderr, "testbed: {} of block {} cannot run on {}: {}\n", Counted(n, "cell"),
               cells[0].block, NodeName(), why);
  }
  return here;
}

// Runs a block whose claim the caller has, and returns whether its cells are finished.
bool RunBlock(const Experiment& e, const std::vector<Cell>& cells, const ResultsDir& results,
              const BlockRunOptions& options) {
  // The process that held the claim before may have finished the block.
  const std::vector<Cell> here = CellsForThisHost(cells, results);
  const bool all = here.size() == cells.size();
  const bool finished = std::all_of(here.begin(), here.end(),
                                    [&](const Cell& cell) { return results.HasCell(cell); });
  if (finished) return all;
  const std::string stays = WhyItStays(here, results);
  if (!stays.empty()) {
    fmt::print(stderr, "testbed: block {} is not begun anew on {}: {}\n", cells[0].block,
               NodeName(), stays);
    return false;
  }
  BeginAnew(cells, results);
  return RunExperiment(e, here, results, options.run) && all;
}

// Runs whole blocks: first those that no other process runs. Then it waits for the claims of the
// others, and runs what is left of them.
bool RunBlocks(const Experiment& e, const std::vector<Block>& blocks, const ResultsDir& results,
               const BlockRunOptions& options) {
  bool complete = true;
  std::vector<const Block*> held;
  for (const Block& block : blocks) {
    if (StopRequested()) return false;
    const std::optional<Claim> claim = Claim::Try(results.ClaimFile(block.key));
    if (!claim) {
      held.push_back(&block);
    } else {
      complete = RunBlock(e, block.cells, results, options) && complete;
    }
  }
  for (const Block* block : held) {
    const std::optional<Claim> claim = AwaitClaim(results.ClaimFile(block->key), block->key);
    complete = claim && !StopRequested() && RunBlock(e, block->cells, results, options) && complete;
  }
  return complete;
}

}  // namespace

std::vector<Block> BlocksOf(const std::vector<Cell>& cells, const ResultsDir& out) {
  std::vector<Block> blocks;
  std::map<std::string, size_t> index;
  for (const Cell& cell : cells) {
    if (!cell.runs()) continue;
    const auto [at, is_new] = index.emplace(cell.block, blocks.size());
    if (is_new) blocks.push_back({.key = cell.block, .cells = {}});
    blocks[at->second].cells.push_back(cell);
  }
  for (Block& block : blocks) {
    const Forecast forecast = ForecastOf(
        block.cells, [&](const Cell& cell) { return out.HasCell(cell); }, out.RehearsalsDir());
    block.left = forecast.cells;
    block.seconds = ForecastSeconds(forecast);
  }
  return blocks;
}

std::string CellsText(const std::vector<Cell>& cells, const ResultsDir& out) {
  Table keys("Cells", {"cell, for --cell", "block", "database", "state"}, Table::kWords);
  Table blocks("Blocks, whose cells stay on one host",
               {"block, for --block", "cells", "not finished", "seconds, about"}, Table::kWords);
  for (const Block& block : BlocksOf(cells, out)) {
    blocks.Row({block.key, std::to_string(block.cells.size()), std::to_string(block.left),
                fmt::format("{:.0f}", block.seconds)});
    for (const Cell& cell : block.cells) {
      keys.Row({CellKey(cell), block.key, DatabaseText(cell),
                out.HasCell(cell) ? "finished" : "not finished"});
    }
  }
  return keys.Text() + blocks.Text();
}

std::vector<Cell> CellsOfKeys(const std::vector<Cell>& cells, const std::vector<std::string>& keys,
                              bool of_blocks) {
  std::set<std::string> wanted(keys.begin(), keys.end()), found;
  std::vector<Cell> chosen;
  for (const Cell& cell : cells) {
    const std::string key = of_blocks ? cell.block : CellKey(cell);
    if (!cell.runs() || !wanted.contains(key)) continue;
    found.insert(key);
    chosen.push_back(cell);
  }
  for (const std::string& key : keys) {
    if (found.contains(key)) continue;
    throw Error(
        Error::kUsage,
        fmt::format("--{} {} is none of this experiment; `testbed experiment cells` lists them",
                    of_blocks ? "block" : "cell", key));
  }
  return chosen;
}

std::vector<std::string> OnlyOf(const std::vector<Cell>& cells, const ResultsDir& results) {
  std::vector<std::string> only;
  if (results.ReadHeader().at("only").size() < 2) return only;
  std::map<std::string, std::vector<std::string>> labels;  // by axis
  for (const Cell& cell : cells) {
    for (const auto& [axis, label] : cell.labels) {
      std::vector<std::string>& known = labels[axis];
      if (std::find(known.begin(), known.end(), label) == known.end()) known.push_back(label);
    }
  }
  for (const auto& [axis, list] : labels) {
    const bool can_be_named = std::none_of(list.begin(), list.end(), [](const std::string& label) {
      return label.find(',') != std::string::npos;
    });
    if (can_be_named) only.push_back(fmt::format("{}={}", axis, fmt::join(list, ",")));
  }
  return only;
}

int RunCells(const Experiment& e, const std::vector<Cell>& cells, const ResultsDir& results,
             const BlockRunOptions& options) {
  const std::string databases =
      options.run.databases.empty() ? results.path() : options.run.databases;
  const std::string why = WhyRefused(results.path(), databases, options.checks);
  if (!why.empty()) {
    fmt::print(stderr, "testbed: host {} is refused: {}\n", NodeName(), why);
    return kHostRefused;
  }
  BlockRunOptions own = options;
  for (const Cell& cell : cells) {
    if (!results.HasCell(cell)) own.run.loads_to_come.insert(cell.load_key);
  }
  const bool complete = own.whole_blocks ? RunBlocks(e, BlocksOf(cells, results), results, own)
                                         : RunExperiment(e, cells, results, own.run);
  if (StopRequested()) return 130;
  return complete ? 0 : 1;
}

}  // namespace testbed
