#include "tools/maintenance/maintenance_commands.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/account/ledger.h"
#include "engines/registry.h"
#include "tools/inspect/inspect_dir.h"
#include "tools/maintenance/backup_place.h"
#include "tools/maintenance/closed_database.h"
#include "tools/maintenance/copy_progress.h"
#include "tools/maintenance/maintained_database.h"
#include "tools/option_values.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

constexpr char kBackupExamples[] =
    "\nDIR is the directory that a run had as --dir, or the engine's own directory inside it. Of a "
    "run's\ndirectory the copy also has the run's record, so that --reuse, check and tree accept "
    "it; of an\nengine's own directory it has the engine's files alone. The command reads each "
    "page once, and\nverifies its checksum. After an error nothing of the copy stays. Every "
    "command refuses the copy of a\nbackup that was killed; remove it yourself.\n"
    "\nWhen the run had --databases, all of its databases must be there; DIR/db/0 is the first one "
    "alone.\nThe command refuses a database whose load was not finished.\n"
    "\nThe command opens the original as a program does, and so may write to it: it recovers a "
    "database\nthat was not closed, and gives back space that was allocated ahead of commits, so "
    "that the data file\nmay get shorter. It reads the log from the segment of the last checkpoint "
    "on three times: to find\nits end, for the recovery, and in the copy. `cp -a` of the directory "
    "of a closed database leaves the\noriginal as it is.\n"
    "\nA program that has its database open calls Engine::Backup, testbed_backup (C) or "
    "engine.backup\n(Python): docs/embedding.md.\n"
    "\nExamples:\n"
    "  testbed --engine btree --dir d --workload insert; testbed backup d --to copy\n"
    "  testbed backup --engine btree --dir d --to /backups/monday && testbed check "
    "/backups/monday\n"
    "  testbed backup d --to /backups/tuesday --io direct\n"
    "      does not push other files out of the page cache\n"
    "  testbed backup d --to /backups/friday --json backup.json --quiet\n"
    "      sizes, time and IO as a document, as from a job of cron\n";

constexpr char kCompactExamples[] =
    "\nDIR is the directory that a run had as --dir, or the engine's own directory inside it. The "
    "command\ncopies the rows, in the order of their keys, to a second database beside the files, "
    "which then\nreplaces them. The new database has full pages, no free pages, and a short log. "
    "While the command\nruns, the disk holds both. After an error, a kill or a power cut the "
    "database is the old one or the\nnew one, and the next opening removes what is left of the "
    "other. The command reads the log twice\nfrom the segment of the last checkpoint on, as every "
    "opening does: to find its end, and for the\nrecovery.\n"
    "\nWhen the run had --databases, all of its databases must be there; DIR/db/0 is the first one "
    "alone.\nThe command refuses a load or a backup that was not finished.\n"
    "\nExamples:\n"
    "  testbed --engine btree --dir d --key-order random --workload insert; testbed compact d\n"
    "      the leaves were two thirds full; `testbed tree d` shows how full they are\n"
    "  testbed backup d --to copy && testbed compact --engine btree --dir d --json compact.json\n";

struct MaintenanceArguments {
  DatabaseArguments database;
  std::string to;  // directory of a backup
  std::string json_file;
  bool quiet = false;
};

// A clock that began with the object.
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Does `work` with a database: its line of progress begins with `command`. Returns the sizes
// before, the time and the IO. The caller adds the sizes afterwards.
MaintainedDatabase Maintain(const InspectedDir::Database& database, const std::string& command,
                            bool quiet, const std::function<void()>& work) {
  MaintainedDatabase done;
  done.path = database.path;
  done.engine = database.engine;
  done.before = BytesOnDisk(database.path);
  const LedgerCounts counts = Ledger::Get().Counts();
  const Stopwatch watch;
  {
    const CopyProgress progress(command + " " + database.path, LengthOfFiles(database.path),
                                {.quiet = quiet});
    work();
  }
  done.seconds = watch.Seconds();
  done.counts = CountsByKind(Ledger::Get().Counts() - counts);
  return done;
}

nlohmann::json EmptyDocument(const std::string& schema) {
  return {{"schema", schema}, {"testbed", TESTBED_VERSION}, {"databases", nlohmann::json::array()}};
}

int BackUpDatabases(const MaintenanceArguments& a) {
  nlohmann::json document = EmptyDocument("testbed-backup/1");
  const std::vector<OutputFile> files = {
      {"--json", a.json_file, [&document] { return DumpJson(document); }}};
  const ClosedDatabase closed(a.database, "backup",
                              [](const EngineInfo& e) { return e.capabilities.backup; });
  BackupPlace place(a.to, closed);
  std::vector<EngineOptions> options;
  for (const InspectedDir::Database& database : closed.databases()) {
    options.push_back(closed.OptionsOf(database, false));
  }
  InUse in_use;
  in_use.databases = closed.directories();
  in_use.databases.push_back(a.to);
  CheckOutputFiles(files, in_use);
  std::string text;
  place.Begin();
  for (size_t i = 0; i < options.size(); ++i) {
    const InspectedDir::Database& database = closed.databases()[i];
    const std::string to = place.PathOf(database);
    MaintainedDatabase copied = Maintain(database, "backup", a.quiet, [&] {
      OpenEngine(*database.engine, database.path, options[i])->Backup(to);
    });
    copied.copy = to;
    copied.after = BytesOnDisk(to);
    text += MaintainedText(copied, "copied to " + to, {"file", "database", "copy"});
    document["databases"].push_back(MaintainedJson(copied));
  }
  place.Finish();
  WriteOutputs(files, text);
  return 0;
}

int CompactDatabases(const MaintenanceArguments& a) {
  nlohmann::json document = EmptyDocument("testbed-compact/1");
  const std::vector<OutputFile> files = {
      {"--json", a.json_file, [&document] { return DumpJson(document); }}};
  const ClosedDatabase closed(a.database, "compact",
                              [](const EngineInfo& e) { return e.compact != nullptr; });
  std::vector<EngineOptions> options;
  for (const InspectedDir::Database& database : closed.databases()) {
    options.push_back(closed.OptionsOf(database, true));
  }
  CheckOutputFiles(files, {.databases = closed.directories()});
  std::string text;
  for (size_t i = 0; i < options.size(); ++i) {
    const InspectedDir::Database& database = closed.databases()[i];
    MaintainedDatabase compacted = Maintain(database, "compact", a.quiet, [&] {
      CompactDatabase(*database.engine, database.path, options[i]);
    });
    compacted.after = BytesOnDisk(database.path);
    text += MaintainedText(compacted, "compacted", {"file", "before", "after"});
    document["databases"].push_back(MaintainedJson(compacted));
  }
  WriteOutputs(files, text);
  return 0;
}

// Adds the options that both commands have.
void AddMaintenanceOptions(CLI::App* command, MaintenanceArguments* arguments) {
  DatabaseArguments* const a = &arguments->database;
  command->add_option("DIR", a->dir, "Directory of the database")->type_name("");
  AddDirectoryOption(*command, "--dir", &a->dir_option, "The same directory, instead of DIR");
  command
      ->add_option("--engine", a->engine,
                   "The engine of the database; a database of another engine is refused [the "
                   "engine that recognises it]")
      ->type_name("NAME");
  command
      ->add_option_function<std::string>(
          "--io",
          [a](const std::string& text) {
            a->io = ParseName("--io", text, {IoMode::kDirect, IoMode::kBuffered, IoMode::kMmap},
                              IoModeName);
          },
          "How data files are read: direct, buffered or mmap [buffered, or what the engine has]")
      ->type_name("MODE");
  command
      ->add_option("--engine-option", a->settings,
                   "A setting that only this engine has; may be given again [the settings of the "
                   "run that loaded it]")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  AddFileOption(*command, "--json", &arguments->json_file,
                "Write sizes, time and IO to a file; - is standard output");
  command->add_flag("--quiet", arguments->quiet, "Print no progress line");
}

}  // namespace

void AddBackupCommand(CLI::App& app, std::function<int()>* command) {
  auto a = std::make_shared<MaintenanceArguments>();
  CLI::App* backup = app.add_subcommand(
      "backup", "Copy a database that no process has open to another directory, durably");
  backup->footer(kBackupExamples);
  AddMaintenanceOptions(backup, a.get());
  AddDirectoryOption(*backup, "--to", &a->to, "New or empty directory of the copy")->required();
  backup->callback([a, command] { *command = [a] { return BackUpDatabases(*a); }; });
}

void AddCompactCommand(CLI::App& app, std::function<int()>* command) {
  auto a = std::make_shared<MaintenanceArguments>();
  CLI::App* compact = app.add_subcommand(
      "compact", "Rewrite a database that no process has open, so that its rows fill its files");
  compact->footer(kCompactExamples);
  AddMaintenanceOptions(compact, a.get());
  compact
      ->add_option_function<std::string>(
          "--compression",
          [a = a.get()](const std::string& text) { a->database.compression = text; },
          "Block compression of a database that no run has loaded [what the run's record says]")
      ->type_name("NAME");
  compact->callback([a, command] { *command = [a] { return CompactDatabases(*a); }; });
}

}  // namespace testbed
