#include "tools/maintenance/maintenance_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "device/error.h"
#include "device/file/directory.h"
#include "engines/disk_size.h"
#include "engines/registry.h"
#include "tools/inspect/inspect_dir.h"
#include "tools/maintenance/backup_place.h"
#include "tools/maintenance/closed_database.h"
#include "tools/option_values.h"
#include "tools/output/output_file.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

constexpr char kBackupExamples[] =
    "\nDIR is the directory that a run had as --dir, or the engine's own one. The copy is as DIR "
    "is: of a\nrun's directory it has the record, too, so that --reuse, check and tree know it; "
    "otherwise it has\nthe engine's files. Each page is read once and checked by its checksum. A "
    "database that was not\nclosed is recovered first, as by every opening. After an error nothing "
    "of the copy stays; one that\nwas killed is refused by every command, and is the user's to "
    "remove.\n"
    "\nA program that has its database open calls Engine::Backup, testbed_backup (C) or "
    "engine.backup\n(Python): docs/embedding.md.\n"
    "\nExamples:\n"
    "  testbed --engine btree --dir d --workload insert; testbed backup d --to copy\n"
    "  testbed backup --engine btree --dir d --to /backups/monday && testbed check "
    "/backups/monday\n"
    "  testbed backup d --to /backups/tuesday --io direct\n"
    "      does not push other files out of the page cache\n";

constexpr char kCompactExamples[] =
    "\nDIR is the directory that a run had as --dir, or the engine's own one. The rows are copied "
    "in the\norder of their keys to a second database beside the files, which then replaces them: "
    "full pages, no\nfree ones, and a short log. It takes space for both meanwhile. After an "
    "error, a kill or a power cut\nthe database is the old or the new one, and the next opening "
    "removes what is left of the other.\n"
    "\nExamples:\n"
    "  testbed --engine btree --dir d --key-order random --workload insert; testbed compact d\n"
    "      the leaves were two thirds full; `testbed tree d` shows how full they are\n"
    "  testbed backup d --to copy && testbed compact --engine btree --dir d\n";

struct BackupArguments {
  DatabaseArguments database;
  std::string to;
};

using ByName = std::map<std::string, uint64_t>;  // bytes on disk

// Returns the bytes of each file in the directory, and of each directory in it as a whole.
ByName BytesIn(const std::string& dir) {
  ByName bytes;
  for (const std::string& name : NamesIn(dir)) {
    const std::string path = dir + "/" + name;
    const auto is_in = [&path](const std::string& file) {
      return file == path || file.starts_with(path + "/");
    };
    bytes[name] = DiskSizeOf(dir, is_in).log_bytes;
  }
  return bytes;
}

std::string SizesText(const std::string& title, const std::vector<std::string>& columns,
                      const ByName& first, const ByName& second) {
  std::set<std::string> names;
  uint64_t sum[] = {0, 0};
  for (const auto& [name, bytes] : first) {
    names.insert(name);
    sum[0] += bytes;
  }
  for (const auto& [name, bytes] : second) {
    names.insert(name);
    sum[1] += bytes;
  }
  Table table(title, columns);
  const auto cell = [](const ByName& sizes, const std::string& name) {
    const auto found = sizes.find(name);
    return found == sizes.end() ? std::string("-") : Count(found->second);
  };
  for (const std::string& name : names) table.Row({name, cell(first, name), cell(second, name)});
  table.Row({"sum", Count(sum[0]), Count(sum[1])});
  return table.Text();
}

// A clock that began with the object.
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// An error of a disk that is full advises to choose another --dir, which the copy does not have.
Error OfTheCopy(const Error& error, const std::string& to) {
  constexpr std::string_view kAdvice = "choose another --dir";
  std::string sentence = error.what();
  const size_t at = sentence.find(kAdvice);
  if (at == std::string::npos || sentence.find(PlainPath(to)) == std::string::npos) return error;
  return error.With(sentence.replace(at, kAdvice.size(), "choose another --to"));
}

int BackUpDatabases(const BackupArguments& a) {
  const ClosedDatabase closed(a.database, "backup",
                              [](const EngineInfo& e) { return e.capabilities.backup; });
  BackupPlace place(a.to, closed);
  std::vector<EngineOptions> options;
  for (const InspectedDir::Database& database : closed.databases()) {
    options.push_back(closed.OptionsOf(database, false));
  }
  std::string text;
  try {
    place.Begin();
    for (size_t i = 0; i < options.size(); ++i) {
      const InspectedDir::Database& database = closed.databases()[i];
      const std::string to = place.PathOf(database);
      const Stopwatch watch;
      OpenEngine(*database.engine, database.path, options[i])->Backup(to);
      text += SizesText(fmt::format("{}: {}, copied to {} in {:.2f} s; bytes on disk",
                                    database.path, database.engine->name, to, watch.Seconds()),
                        {"file", "database", "copy"}, BytesIn(database.path), BytesIn(to));
    }
    place.Finish();
  } catch (const Error& error) {
    if (error.kind() != Error::kIo) throw;
    throw OfTheCopy(error, a.to);
  }
  fmt::print("{}", text);
  return 0;
}

int CompactDatabases(const DatabaseArguments& a) {
  const ClosedDatabase closed(a, "compact",
                              [](const EngineInfo& e) { return e.compact != nullptr; });
  std::vector<EngineOptions> options;
  for (const InspectedDir::Database& database : closed.databases()) {
    options.push_back(closed.OptionsOf(database, true));
  }
  std::string text;
  for (size_t i = 0; i < options.size(); ++i) {
    const InspectedDir::Database& database = closed.databases()[i];
    const ByName before = BytesIn(database.path);
    const Stopwatch watch;
    CompactDatabase(*database.engine, database.path, options[i]);
    text += SizesText(fmt::format("{}: {}, compacted in {:.2f} s; bytes on disk", database.path,
                                  database.engine->name, watch.Seconds()),
                      {"file", "before", "after"}, before, BytesIn(database.path));
  }
  fmt::print("{}", text);
  return 0;
}

// Adds the options that both commands have.
void AddClosedDatabaseOptions(CLI::App* command, DatabaseArguments* a) {
  command->add_option("DIR", a->dir, "Directory of the database")->type_name("");
  AddDirectoryOption(*command, "--dir", &a->dir_option, "The same directory, instead of DIR");
  command
      ->add_option("--engine", a->engine,
                   "The engine of the database; another one's is refused [the one that finds it]")
      ->type_name("NAME");
  command
      ->add_option_function<std::string>(
          "--io",
          [a](const std::string& text) {
            a->io = ParseName<IoMode>("--io", text,
                                      {{"direct", IoMode::kDirect},
                                       {"buffered", IoMode::kBuffered},
                                       {"mmap", IoMode::kMmap}});
          },
          "How data files are read: direct, buffered or mmap [buffered, or what the engine has]")
      ->type_name("MODE");
  command
      ->add_option("--engine-option", a->settings,
                   "A setting that only this engine has; may be given again [those of the run that "
                   "loaded it]")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

}  // namespace

void AddBackupCommand(CLI::App& app, std::function<int()>* command) {
  auto a = std::make_shared<BackupArguments>();
  CLI::App* backup = app.add_subcommand(
      "backup", "Copy a database that no process has open to another directory, durably");
  backup->footer(kBackupExamples);
  AddClosedDatabaseOptions(backup, &a->database);
  AddDirectoryOption(*backup, "--to", &a->to, "New or empty directory of the copy")->required();
  backup->callback([a, command] { *command = [a] { return BackUpDatabases(*a); }; });
}

void AddCompactCommand(CLI::App& app, std::function<int()>* command) {
  auto a = std::make_shared<DatabaseArguments>();
  CLI::App* compact = app.add_subcommand(
      "compact", "Rewrite a database that no process has open, to files that its rows fill");
  compact->footer(kCompactExamples);
  AddClosedDatabaseOptions(compact, a.get());
  compact
      ->add_option_function<std::string>(
          "--compression", [a = a.get()](const std::string& text) { a->compression = text; },
          "Block compression of a database that no run has loaded [as the run's record has it]")
      ->type_name("NAME");
  compact->callback([a, command] { *command = [a] { return CompactDatabases(*a); }; });
}

}  // namespace testbed
