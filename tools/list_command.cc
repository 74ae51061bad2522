#include "tools/list_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "engines/registry.h"
#include "tools/options.h"
#include "tools/output/table.h"
#include "tools/release/release.h"
#include "workloads/keys/key_set.h"
#include "workloads/registry.h"
#include "workloads/workload.h"

namespace testbed {
namespace {

template <typename T, typename Name>
std::string JoinedNames(const std::vector<T>& values, Name name) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : " ") + std::string(name(value));
  return text;
}

std::string PageSizes(const Capabilities& can) {
  if (can.max_page_size == 0) return "-";
  if (can.min_page_size == can.max_page_size) return ShortSize(can.min_page_size);
  return fmt::format("{} to {}", ShortSize(can.min_page_size), ShortSize(can.max_page_size));
}

// Returns the benchmark that a workload is a step of: "ib.*" for "ib.qr100".
std::string Family(const std::string& workload) {
  const size_t dot = workload.find('.');
  return dot == std::string::npos ? workload : workload.substr(0, dot) + ".*";
}

// Returns the table of the releases of engines that are installed or can be built.
std::string ReleasesText() {
  Table releases("Other releases of engines, for --engine NAME@RELEASE",
                 {"name", "from", "installed", "how it was built"}, Table::kWords);
  const std::vector<EngineRelease> installed = InstalledReleases();
  for (const EngineRelease& r : installed) {
    releases.Row({r.engine + "@" + r.release, r.from.empty() ? "-" : r.from, "yes", r.recipe});
  }
  for (const KnownRelease& known : KnownReleases()) {
    const bool there =
        std::any_of(installed.begin(), installed.end(), [&known](const EngineRelease& r) {
          return r.engine == known.engine && r.release == known.release;
        });
    if (there) continue;
    releases.Row({known.engine + "@" + known.release, known.from, "no",
                  fmt::format("tools/build_engine.sh {} {}", known.engine, known.release)});
  }
  return releases.Text();
}

// Returns the table of the servers that engines can start beside those of the distribution.
std::string ServersText() {
  Table servers("Other servers, for --server NAME@VERSION",
                {"name", "engine", "from", "what it is", "installed", "where, or how to get it"},
                Table::kWords);
  for (const EngineInfo& info : Engines()) {
    if (info.servers == nullptr) continue;
    for (const ServerChoice& s : info.servers()) {
      const bool there = !s.program.empty();
      servers.Row(
          {s.name, info.name, s.from, s.what, there ? "yes" : "no", there ? s.program : s.command});
    }
  }
  return servers.empty() ? "" : servers.Text();
}

// Returns the table of the sets of keys that have names.
std::string KeySetsText() {
  Table sets("Sets of real keys, for --keys NAME",
             {"name", "keys", "here", "from where, or how to get it"}, Table::kWords);
  for (const KeySetInfo& set : KeySets()) {
    sets.Row({set.name, set.what, set.here ? "yes" : "no", set.where});
  }
  return sets.Text();
}

std::string ListText() {
  Table engines("Engines",
                {"name", "version", "io", "page size", "durability", "compression", "what it is"},
                Table::kWords);
  std::string extras;
  for (const EngineInfo& info : Engines()) {
    const Capabilities& can = info.capabilities;
    engines.Row({info.name, info.version, JoinedNames(can.io_modes, IoModeName), PageSizes(can),
                 JoinedNames(can.durabilities, DurabilityName),
                 JoinedNames(can.compressions, [](const std::string& s) { return s; }),
                 info.summary});
    if (info.missing != nullptr && !info.missing().empty()) extras += info.missing() + "\n\n";
    if (can.extra_options.empty()) continue;
    Table options(fmt::format("--engine-option of {}", info.name), {"name", "meaning"},
                  Table::kWords);
    for (const auto& [name, meaning] : can.extra_options) options.Row({name, meaning});
    extras += options.Text();
  }
  Table workloads("Workloads", {"name", "loads", "what it does"}, Table::kWords);
  std::vector<std::pair<std::string, std::string>> last;
  for (const WorkloadInfo& info : Workloads()) {
    workloads.Row({info.name, info.loads ? "yes" : "no", info.summary});
    // The steps of one benchmark share their options, which are printed once.
    std::vector<std::pair<std::string, std::string>> all = info.extra_options;
    all.insert(all.end(), info.run_options.begin(), info.run_options.end());
    const bool known = all == last;
    last = all;
    if (known || all.empty()) continue;
    Table options(fmt::format("--workload-option of {}", Family(info.name)), {"name", "meaning"},
                  Table::kWords);
    for (const auto& [name, meaning] : all) options.Row({name, meaning});
    extras += options.Text();
  }
  Table modes("IO modes", {"name", "what it does"}, Table::kWords);
  modes.Row({"direct", "O_DIRECT: past the page cache; the rest of --ram stays unused"});
  modes.Row(
      {"buffered", "pread through the OS page cache, which gets what the engine's cache leaves"});
  modes.Row({"mmap", "mapped files: the engine reads from the page cache in place"});
  return engines.Text() + ReleasesText() + ServersText() + workloads.Text() + KeySetsText() +
         modes.Text() + extras;
}

}  // namespace

void AddListCommand(CLI::App& app, std::function<int()>* command) {
  CLI::App* list = app.add_subcommand(
      "list", "Show engines, workloads, sets of keys, IO modes and what each supports");
  list->footer(
      "\nExamples:\n"
      "  testbed list\n"
      "  testbed list | less -S\n"
      "      without breaks in long lines\n");
  list->callback([command] {
    *command = [] {
      fmt::print("{}", ListText());
      return 0;
    };
  });
}

}  // namespace testbed
