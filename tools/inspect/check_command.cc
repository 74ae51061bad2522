#include "tools/inspect/check_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/inspect/inspect_dir.h"
#include "tools/options.h"
#include "tools/output/output_file.h"
#include "tools/output/standard_streams.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr size_t kShown = 20;          // faults printed without --all; a quarter as many notes
constexpr uint64_t kDescribed = 1000;  // faults in the document without --all

constexpr char kCheckExamples[] =
    "\nDIR is the directory that a run had as --dir, or the engine's own directory inside it. The "
    "command\nchanges nothing in it. It checks a database that was not closed (after a crash or a "
    "kill) in the\nstate to which the first part of recovery would bring it: it repairs torn pages "
    "and repeats changes\nof the trees' shape in memory, and checks rows that are only in the log "
    "as log records. What such a\ncrash leaves behind is reported as a note, and is no damage.\n"
    "\nWhen the run had --databases, all of its databases must be there; DIR/db/0 is the first one "
    "alone.\nThe command checks a load that was not finished as far as it came, and refuses a "
    "backup that was not\nfinished.\n"
    "\nThe line of a fault says where the damage is, and what is wrong:\n"
    "  page 17 of file d/db/btree.data, byte 139289, table default: its level is not one below "
    "its\n"
    "  parent's: expected 1, found 3\n"
    "\nExit codes: 0 sound; 1 damaged; 2 no database, or one missing, in use or not readable by "
    "this\nuser, or findings that could not be written; 130 interrupted.\n"
    "\nExamples:\n"
    "  testbed --engine btree --dir d --workload insert; testbed check d\n"
    "  testbed check d --all --json check.json\n"
    "      prints every fault, and writes the whole result for programs\n"
    "  testbed check d && testbed backup d --to copy\n";

struct CheckArguments {
  std::string dir, json_file;
  bool all = false, quiet = false;
};

struct Checked {
  const InspectedDir::Database* database;
  Inspection result;
  double seconds;
};

std::string FaultLines(const Faults& faults, const char* prefix, size_t most) {
  std::string text;
  for (size_t i = 0; i < faults.kept.size() && i < most; ++i) {
    text += prefix + faults.kept[i].Text() + "\n";
  }
  if (faults.count > most) {
    text += fmt::format("{}{} more; --all shows them\n", prefix, Count(faults.count - most));
  }
  return text;
}

std::string ReplayText(const ReplayNeeded& replay) {
  if (replay.records == 0) return "closed cleanly: no log record waits to be replayed\n";
  return fmt::format(
      "not closed cleanly: {} of log are to be replayed ({}, {} of {}{}; {}).\nPages are checked "
      "as recovery would first leave them, these rows as log records.\n",
      Counted(replay.log_bytes, "byte"), Counted(replay.records, "record"),
      Counted(replay.transactions, "transaction"), Counted(replay.rows, "row"),
      replay.unfinished == 0
          ? ""
          : fmt::format(", {} unfinished, which recovery drops", Count(replay.unfinished)),
      Counted(replay.pages, "page"));
}

std::string CheckText(const Checked& checked, size_t shown) {
  const Inspection& r = checked.result;
  std::string text =
      fmt::format("{}: {}", OneLine(checked.database->path), checked.database->engine->name);
  if (r.page_size != 0) text += fmt::format(", pages of {}", ShortSize(r.page_size));
  text += "\n" + (r.replay ? ReplayText(*r.replay) : "");
  text += FaultLines(r.faults, "", shown);
  text += FaultLines(r.notes, "note: ", shown == kShown ? kShown / 4 : shown);
  Table pages("Checked", {"pages", "number", "bytes"});
  uint64_t number = 0, bytes = 0, rows = 0, row_bytes = 0;
  for (const PageCount& count : r.pages) {
    pages.Row({count.type, Count(count.pages), Count(count.bytes)});
    number += count.pages;
    bytes += count.bytes;
  }
  pages.Row({"sum", Count(number), Count(bytes)});
  if (!r.pages.empty()) text += "\n" + pages.Text();
  for (const TreeStats& tree : r.trees) {
    rows += tree.rows;
    row_bytes += tree.key_bytes + tree.value_bytes;
  }
  text += fmt::format("{}, the engine's own included, {}, {} of keys and values; {:.2f} s\n",
                      Counted(r.trees.size(), "table"), Counted(rows, "row"),
                      Counted(row_bytes, "byte"), checked.seconds);
  if (r.stopped) {
    text += "interrupted: not everything was looked at\n";
  } else if (r.faults.count == 0) {
    text += "sound: nothing is wrong\n";
  }
  if (r.faults.count > 0) {
    text += fmt::format("DAMAGED: {}\n", Counted(r.faults.count, "fault"));
  }
  return text;
}

json FaultsJson(const Faults& faults) {
  json list = json::array();
  for (const Fault& fault : faults.kept) list.push_back(FaultJson(fault));
  return list;
}

json CheckJson(const Checked& checked) {
  const Inspection& r = checked.result;
  json j = {{"path", checked.database->path}, {"engine", checked.database->engine->name},
            {"page_size", r.page_size},       {"sound", r.faults.count == 0 && !r.stopped},
            {"partial", r.stopped},           {"seconds", checked.seconds},
            {"fault_count", r.faults.count},  {"faults", FaultsJson(r.faults)},
            {"note_count", r.notes.count},    {"notes", FaultsJson(r.notes)},
            {"pages", json::array()},         {"tables", json::array()}};
  for (const PageCount& count : r.pages) {
    j["pages"].push_back({{"type", count.type}, {"pages", count.pages}, {"bytes", count.bytes}});
  }
  for (const TreeStats& tree : r.trees) {
    j["tables"].push_back({{"name", tree.table},
                           {"rows", tree.rows},
                           {"key_bytes", tree.key_bytes},
                           {"value_bytes", tree.value_bytes}});
  }
  if (r.replay) {
    j["replay"] = {{"log_bytes", r.replay->log_bytes},       {"records", r.replay->records},
                   {"transactions", r.replay->transactions}, {"rows", r.replay->rows},
                   {"unfinished", r.replay->unfinished},     {"pages", r.replay->pages}};
  }
  return j;
}

int CheckDatabase(const CheckArguments& a) {
  json document = {{"schema", "testbed-check/1"}, {"databases", json::array()}};
  const std::vector<OutputFile> files = {
      {"--json", a.json_file, [&document] { return DumpJson(document); }}};
  std::string text;
  const InspectedDir dir(a.dir, "check", [](const EngineInfo& e) { return e.check != nullptr; });
  CheckOutputFiles(files, {.databases = dir.directories()});
  uint64_t faults = 0;
  bool stopped = false;
  for (const InspectedDir::Database& database : dir.databases()) {
    InspectOptions options;
    options.most_faults = a.all ? UINT64_MAX : kDescribed;
    options.progress = InspectProgress("check " + database.path, a.quiet);
    const auto begin = std::chrono::steady_clock::now();
    Checked checked = {&database, database.engine->check(database.path, options), 0};
    options.progress = nullptr;  // destroys the progress line, which clears it
    checked.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (&database != &dir.databases().front()) text += "\n";
    text += CheckText(checked, a.all ? SIZE_MAX : kShown);
    document["databases"].push_back(CheckJson(checked));
    faults += checked.result.faults.count;
    stopped = checked.result.stopped;
    if (stopped) break;
  }
  WriteOutputs(files, text);
  if (stopped) return 130;
  return faults == 0 ? 0 : 1;
}

}  // namespace

void AddCheckCommand(CLI::App& app, std::function<int()>* command) {
  auto a = std::make_shared<CheckArguments>();
  CLI::App* check = app.add_subcommand(
      "check", "Verify every page, pointer and log record of a database, and say what is wrong");
  check->footer(kCheckExamples);
  check->add_option("DIR", a->dir, "Directory of the database")->required()->type_name("");
  check->add_flag("--all", a->all, "Show all faults, not only the first 20");
  AddFileOption(*check, "--json", &a->json_file,
                "Write the findings to a file; - is standard output");
  check->add_flag("--quiet", a->quiet, "Print no progress line");
  check->callback([a, command] {
    *command = [a] { return JudgedOrFailed([&] { return CheckDatabase(*a); }); };
  });
}

}  // namespace testbed
