#include "tools/command/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/machine/memory_budget.h"
#include "device/machine/read_limit.h"
#include "device/machine/readahead.h"
#include "device/machine/scratch.h"
#include "device/os/signal_guard.h"
#include "device/os/sys_file.h"
#include "engines/registry.h"
#include "tools/ab/ab_command.h"
#include "tools/command/completion.h"
#include "tools/command/usage_text.h"
#include "tools/crashtest/crashtest_command.h"
#include "tools/database/database_files.h"
#include "tools/experiment/command.h"
#include "tools/experiment/sweep/sweep.h"
#include "tools/history/history_command.h"
#include "tools/inspect/check_command.h"
#include "tools/inspect/doctor_command.h"
#include "tools/inspect/tree_command.h"
#include "tools/list_command.h"
#include "tools/maintenance/maintenance_commands.h"
#include "tools/output/output_file.h"
#include "tools/output/table.h"
#include "tools/release/release.h"
#include "tools/release/release_process.h"
#include "tools/report/compare_command.h"
#include "tools/report/report_command.h"
#include "tools/results/results_command.h"
#include "tools/run/run_command.h"
#include "tools/trace/trace_command.h"

namespace testbed {
namespace {

constexpr char kDescription[] =
    "Runs inserts, reads and experiments on embedded storage engines under one memory budget, and\n"
    "charges every block read or written to the operation that caused it.";

constexpr int kStoppedByUser = 130;  // exit code

constexpr char kRunExamples[] =
    "\nExamples:\n"
    "  testbed --engine rocksdb --cache-pct 20\n"
    "      loads a database of 4 x 256M and reads it at random; RocksDB's cache gets 20 % of the "
    "256M,\n"
    "      and the OS page cache the rest\n"
    "  testbed --engine btree --io direct --page-size 8k --threads 1,8,16\n"
    "      direct reads of 8k pages by 1, 8 and 16 clients, on one loaded database\n"
    "  sudo testbed --engine wiredtiger --scratch 4G,xfs --json run.json\n"
    "      on a device of its own, so that all levels of the account must agree exactly\n"
    "  testbed --engine btree --dir /data/b --workload insert; testbed --engine btree --dir "
    "/data/b \\\n"
    "      --reuse --workload mixed --mix point-read=80,update=20 --rate 5000\n"
    "      loads once, then runs an open-loop mix with the latency from the intended start\n"
    "  testbed --engine rocksdb --workload ycsb-load,ycsb-a --threads 4 --find-rate 'p99 < 5ms'\n"
    "      finds the highest rate at which 99 of 100 operations take less than 5 ms, and prints\n"
    "      the latency at each rate that it tried\n"
    "  testbed --engine rocksdb --workload 'ycsb-load, ycsb-a 60s, ycsb-c 60s @ 5000, settle'\n"
    "      phases over time, each with a length and a rate of its own\n"
    "  testbed --engine rocksdb --workload fillrandom,mixgraph --workload-option model=zippydb\n"
    "      Meta's published model of the load of its ZippyDB service\n"
    "  testbed report run.json; testbed compare old.json new.json\n"
    "  testbed results add run.json; testbed results query \"select phase, rate from results\"\n"
    "  testbed ab --engine btree --a 'io=direct cache-pct=85' --b io=buffered\n"
    "      which is faster, and is that sure?\n"
    "  testbed experiment list; testbed experiment read-size --scale tiny\n"
    "      a published experiment, with its findings checked\n"
    "  testbed crashtest --engine btree --kills 200\n"
    "  testbed check /data/b; testbed tree /data/b\n"
    "      checks every page of a database for faults; shows the shape of its trees\n"
    "  testbed backup /data/b --to /backups/b; testbed compact /data/b\n"
    "  testbed --engine btree,rocksdb --page-size 4k,8k,16k --cache-pct 20,50\n"
    "      a sweep runs all combinations and prints a grid with the best marked; --forecast says\n"
    "      what it will take, --save FILE.toml makes an experiment of it\n"
    "  testbed explain 'kernel B/read'\n";

int ScratchClean(const std::string& directory) {
  std::vector<std::string> found = ScratchDevice::CleanLeftovers(directory);
  if (IsServedByAnotherHost(directory)) {
    found.push_back(fmt::format(
        "{} is on a file system that another host serves, so that a run of yet another host may "
        "use what is there: remove what no run uses yourself",
        directory));
  }
  for (const std::string& s : TemporaryDatabase::CleanLeftovers(directory)) found.push_back(s);
  for (const std::string& s : ReadaheadGuard::RestoreStale()) found.push_back(s);
  const MemoryBudget::Leftovers groups = MemoryBudget::CleanLeftovers();
  found.insert(found.end(), groups.removed.begin(), groups.removed.end());
  found.insert(found.end(), groups.kept.begin(), groups.kept.end());
  for (const std::string& s : ReadLimit::CleanLeftovers()) found.push_back(s);
  for (const std::string& s : found) fmt::print("{}\n", s);
  if (found.empty()) fmt::print("nothing was left behind\n");
  return 0;
}

void AddScratchCommand(CLI::App& app, std::function<int()>* command) {
  CLI::App* scratch = app.add_subcommand("scratch", "Remove scratch devices that are left");
  scratch->require_subcommand(1);
  scratch->footer(
      "\nExamples:\n"
      "  sudo testbed scratch clean\n");
  auto directory = std::make_shared<std::string>(".");
  CLI::App* clean = scratch->add_subcommand(
      "clean",
      "Find and remove what killed runs left behind: devices, images, settings, memory groups");
  clean->footer(
      "\nExamples:\n"
      "  sudo testbed scratch clean\n"
      "      removes what runs in this directory left behind\n"
      "  sudo testbed scratch clean --dir results\n"
      "      removes what an experiment with --out results left behind\n");
  AddDirectoryOption(*clean, "--dir", directory.get(), "Directory that held the images");
  clean->callback(
      [directory, command] { *command = [directory] { return ScratchClean(*directory); }; });
}

// Adds the commands that print texts about the program, made from the options in `app`.
void AddTextCommands(CLI::App& app, std::function<int()>* command) {
  auto shell = std::make_shared<std::string>("bash");
  CLI::App* completion = app.add_subcommand("completion", "Print a shell completion script");
  completion->footer(
      "\nExamples:\n"
      "  testbed completion bash >~/.local/share/bash-completion/completions/testbed\n"
      "  testbed completion zsh >~/.zfunc/_testbed\n"
      "      in a directory of $fpath, before compinit\n"
      "  testbed completion fish >~/.config/fish/completions/testbed.fish\n");
  completion->add_option("shell", *shell, "bash, zsh or fish [bash]");
  completion->callback([&app, shell, command] {
    *command = [&app, shell] {
      fmt::print("{}", Completion(app, *shell));
      return 0;
    };
  });
  CLI::App* man = app.add_subcommand("man", "Print the manual page (roff)");
  man->footer("\nExamples:\n  testbed man | man -l -\n");
  man->callback([&app, command] {
    *command = [&app] {
      fmt::print("{}", ManPage(app));
      return 0;
    };
  });
}

// Throws Error (kUsage) when options of a run stand before a command, which does not see them.
void RefuseOptionsBeforeCommand(const CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  if (commands.empty()) return;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    throw Error(
        Error::kUsage,
        fmt::format("{0} stands before {1}, which does not see it there; give it after {1}, "
                    "if that takes it (`testbed {1} --help`)",
                    option->get_name(), commands.front()->get_name()));
  }
}

// Prints the sentence of an error. It may have names of files that others chose, and a terminal
// must show what it would take for commands in them as spaces.
void PrintError(const std::string& sentence) {
  fmt::print(stderr, "testbed: {}\n", SeveralLines(sentence));
}

// Returns the words with "--option=" as two words, of which the second is empty. The parser would
// take the word that follows, such as another option, for the value.
std::vector<std::string> WithEmptyValues(const std::vector<std::string>& words) {
  std::vector<std::string> parted;
  for (const std::string& word : words) {
    const bool empty =
        word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1;
    parted.push_back(empty ? word.substr(0, word.size() - 1) : word);
    if (empty) parted.emplace_back();
  }
  return parted;
}

int Main(int argc, char** argv) {
  // The engines' libraries are told not to print (MdbxEngineInfo) before anything forks.
  (void)Engines();
  const std::vector<std::string> words =
      WithEmptyValues(std::vector<std::string>(argv + 1, argv + argc));
  if (!words.empty() && words.front() == kExecuteRun) ExecuteSentRun(words);
  if (!words.empty() && words.front() == "crashtest") BecomeRelease(words, argv);
  CLI::App app(kDescription, "testbed");
  app.footer(kRunExamples);
  app.set_version_flag("--version", "testbed " TESTBED_VERSION);
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  RunOptions run;
  AddEngineOptions(app, run);
  AddDataOptions(app, run);
  AddWorkloadOptions(app, run);
  AddOutputOptions(app, run);
  AddSweepOptions(app, run);
  app.option_defaults()->group("Options");

  std::function<int()> command;
  AddListCommand(app, &command);
  AddDoctorCommand(app, &command);
  AddReportCommands(app, &command);
  AddCompareCommand(app, &command);
  AddHistoryCommand(app, &command);
  AddResultsCommand(app, &command);
  AddAbCommand(app, words, &command);
  AddExperimentCommands(app, &command);
  AddCheckCommand(app, &command);
  AddTreeCommand(app, &command);
  AddBackupCommand(app, &command);
  AddCompactCommand(app, &command);
  AddCrashtestCommand(app, words, &command);
  AddTraceCommand(app, &command);
  AddScratchCommand(app, &command);
  AddTextCommands(app, &command);

  if (!words.empty() && words.front().starts_with("--")) {
    if (const std::optional<Sweep> sweep = SweepOf(words)) return RunSweep(*sweep);
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ExtrasError&) {
    throw Error(Error::kUsage, UnknownWordText(app, words));
  } catch (const CLI::ParseError& e) {
    throw Error(Error::kUsage, ParseErrorText(app, e.what()));
  }
  RefuseOptionsBeforeCommand(app);
  return command ? command() : RunCommand(run, words);
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const Stopped& e) {
    PrintError(e.what());
    return kStoppedByUser;
  } catch (const Error& e) {
    PrintError(e.what());
    const bool refused = e.kind() == Error::kUsage || e.kind() == Error::kIo;
    return refused ? 2 : 1;
  } catch (const std::filesystem::filesystem_error& e) {
    PrintError(fmt::format("{} cannot be used: {}", e.path1().string(), e.code().message()));
    return 2;
  } catch (const std::exception& e) {
    PrintError(SentenceOf(e));
    return 1;
  }
}

}  // namespace testbed
