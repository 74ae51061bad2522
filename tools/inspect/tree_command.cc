#include "tools/inspect/tree_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "device/error.h"
#include "tools/inspect/inspect_dir.h"
#include "tools/inspect/tree_report.h"
#include "tools/output/output_file.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr char kTreeExamples[] =
    "\nDIR is the directory that a run had as --dir, or the engine's own directory inside it. The "
    "command\nchanges nothing in it. For each table it shows the height of the tree; the pages, "
    "bytes and fill of\neach level; how full the leaves are; and what the bytes of a row consist "
    "of, in parts that add up to\nall bytes of the table's pages. It also shows where the space of "
    "the files goes, in parts that add\nup to the size on disk.\n"
    "\nFill is the share of a page's room that is taken, so that no further entry fits into it. "
    "For btree,\n`slots` are the 8 bytes of an entry's slot, the 2 bytes of its value's length, "
    "and references to\nlong values; a key counts without the prefix that all keys of its page "
    "share; long values lie in\noverflow pages.\n"
    "\nExamples:\n"
    "  testbed --engine btree --dir d --workload insert; testbed tree d\n"
    "      keys in order fill leaves to the end; try --key-order random and look again\n"
    "  testbed tree d --table default --json tree.json\n"
    "      reads the pages of that table and of no other\n"
    "  testbed tree d --table default --pages --levels 2\n"
    "      draws the root and its children\n";

struct TreeArguments {
  std::string dir, json_file, table;
  bool pages = false, quiet = false;
  std::optional<uint32_t> levels;
};

int Tree(const TreeArguments& a) {
  constexpr uint32_t kUsualLevels = 3;
  if (a.levels && !a.pages) {
    throw Error(Error::kUsage,
                fmt::format("--levels {} is the number of levels that --pages draws; give --pages, "
                            "or leave --levels out",
                            *a.levels));
  }
  json document = {{"schema", "testbed-tree/1"}, {"databases", json::array()}};
  const std::vector<OutputFile> files = {
      {"--json", a.json_file, [&document] { return DumpJson(document); }}};
  std::string text;
  const InspectedDir dir(a.dir, "tree", [](const EngineInfo& e) { return e.tree != nullptr; });
  CheckOutputFiles(files, {.databases = dir.directories()});
  int code = 0;
  for (const InspectedDir::Database& database : dir.databases()) {
    InspectOptions options;
    options.table = a.table;
    options.shape_levels = a.pages ? a.levels.value_or(kUsualLevels) : 0;
    options.progress = InspectProgress("tree " + database.path, a.quiet);
    const Inspection result = database.engine->tree(database.path, options);
    options.progress = nullptr;  // destroys the progress line, which clears it
    if (&database != &dir.databases().front()) text += "\n";
    text += TreeText(OneLine(database.path) + ": " + database.engine->name, result);
    json j = {{"path", database.path}, {"engine", database.engine->name}};
    j.update(TreeJson(result));
    document["databases"].push_back(std::move(j));
    if (result.faults.count > 0) {
      fmt::print(stderr,
                 "testbed: {} is damaged (faults: {}), so the figures may miss something; "
                 "`testbed check {}` says what is wrong\n",
                 database.path, Count(result.faults.count), a.dir);
      code = 1;
    }
    if (result.stopped) {
      fmt::print(stderr, "testbed: interrupted; not everything was counted\n");
      code = 130;
      break;
    }
  }
  WriteOutputs(files, text);
  return code;
}

}  // namespace

void AddTreeCommand(CLI::App& app, std::function<int()>* command) {
  auto a = std::make_shared<TreeArguments>();
  CLI::App* tree = app.add_subcommand(
      "tree", "Show the shape and fill of a database's trees, and where its files' space goes");
  tree->footer(kTreeExamples);
  tree->add_option("DIR", a->dir, "Directory of the database")->required()->type_name("");
  tree->add_option("--table", a->table, "Show only this table")->type_name("NAME");
  tree->add_flag("--pages", a->pages, "Draw the pages from the root down, for small trees");
  tree->add_option_function<uint32_t>(
          "--levels", [a](const uint32_t& levels) { a->levels = levels; },
          "Levels that --pages draws [3]")
      ->type_name("N")
      ->check(CLI::Range(1, 16));
  AddFileOption(*tree, "--json", &a->json_file,
                "Write the figures to a file; - is standard output");
  tree->add_flag("--quiet", a->quiet, "Print no progress line");
  tree->callback([a, command] { *command = [a] { return Tree(*a); }; });
}

}  // namespace testbed
