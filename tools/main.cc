// The testbed command: parses the command line and calls the command. Errors become one line and an
// exit code here, and nowhere else.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "device/error.h"
#include "device/memory_budget.h"
#include "device/read_limit.h"
#include "device/readahead.h"
#include "device/scratch.h"
#include "device/signal_guard.h"
#include "tools/check_command.h"
#include "tools/completion.h"
#include "tools/crashtest.h"
#include "tools/database_files.h"
#include "tools/doctor_command.h"
#include "tools/experiment/command.h"
#include "tools/list_command.h"
#include "tools/report.h"
#include "tools/run_command.h"
#include "tools/tree_command.h"
#include "tools/unknown_word.h"

namespace testbed {
namespace {

constexpr char kDescription[] =
    "Runs inserts, reads and experiments on embedded storage engines under one memory budget, and\n"
    "charges every block read or written to the operation that caused it.";

constexpr char kExamples[] =
    "\nExamples:\n"
    "  testbed --engine rocksdb --cache-pct 20\n"
    "      loads a database of 4 x 256M, reads it at random: 20 % of the budget for RocksDB's "
    "cache,\n"
    "      the rest for the OS page cache\n"
    "  testbed --engine btree --io direct --page-size 8k --threads 1,8,16\n"
    "      direct reads of 8k pages by 1, 8 and 16 clients, on one loaded database\n"
    "  sudo testbed --engine wiredtiger --scratch 4G,xfs --json run.json\n"
    "      on a device of its own, so that all levels of the account must agree exactly\n"
    "  testbed --engine btree --dir /data/b --workload insert; testbed --engine btree --dir "
    "/data/b \\\n"
    "      --reuse --workload mixed --mix point-read=80,update=20 --rate 5000\n"
    "      load once, then an open-loop mix with latency from the intended start\n"
    "  testbed report run.json; testbed compare old.json new.json\n"
    "  testbed experiment list; testbed experiment read-size --scale tiny\n"
    "      a published experiment, with its findings checked\n"
    "  testbed crashtest --engine btree --kills 200\n"
    "  testbed check /data/b; testbed tree /data/b\n"
    "      whether every byte of a database is right; what its trees look like\n";

int ScratchClean(const std::string& directory) {
  std::vector<std::string> found = ScratchDevice::CleanLeftovers(directory);
  for (const std::string& s : TemporaryDatabase::CleanLeftovers(directory)) found.push_back(s);
  for (const std::string& s : ReadaheadGuard::RestoreStale()) found.push_back(s);
  for (const std::string& s : MemoryBudget::CleanLeftovers()) found.push_back(s);
  for (const std::string& s : ReadLimit::CleanLeftovers()) found.push_back(s);
  for (const std::string& s : found) fmt::print("{}\n", s);
  if (found.empty()) fmt::print("nothing was left behind\n");
  return 0;
}

int Main(int argc, char** argv) {
  SignalGuard signals;
  CLI::App app(kDescription, "testbed");
  app.footer(kExamples);
  app.set_version_flag("--version", "testbed " TESTBED_VERSION);
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  RunOptions run;
  AddEngineOptions(app, run);
  AddDataOptions(app, run);
  AddWorkloadOptions(app, run);
  AddOutputOptions(app, run);
  app.option_defaults()->group("Options");

  std::function<int()> command;
  const std::vector<std::string> words(argv + 1, argv + argc);
  CLI::App* list =
      app.add_subcommand("list", "Show engines, workloads, IO modes and what each supports");
  list->callback([&] {
    command = [] {
      fmt::print("{}", ListText());
      return 0;
    };
  });

  std::string doctor_dir = ".";
  CLI::App* doctor = app.add_subcommand(
      "doctor", "Say what this machine can and cannot measure, and how to change that");
  doctor->add_option("--dir", doctor_dir, "Directory that would hold the database")
      ->type_name("DIR");
  doctor->callback([&] {
    command = [&] {
      fmt::print("{}", DoctorText(doctor_dir));
      return 0;
    };
  });

  std::vector<std::string> files;
  bool as_csv = false;
  CLI::App* report = app.add_subcommand("report", "Print the tables of a results file");
  report->add_option("file", files, "Results written by --json")->required()->expected(1);
  report->add_flag("--csv", as_csv, "As comma-separated values");
  report->callback([&] {
    command = [&] {
      const nlohmann::json document = ReadResults(files[0]);
      fmt::print("{}", as_csv ? ReportCsv(document) : ReportText(document));
      return 0;
    };
  });
  CLI::App* compare = app.add_subcommand("compare", "Set two results files side by side");
  compare->add_option("files", files, "The base and the other")->required()->expected(2);
  compare->callback([&] {
    command = [&] {
      fmt::print("{}", CompareText(ReadResults(files[0]), ReadResults(files[1])));
      return 0;
    };
  });

  AddExperimentCommands(app, &command);
  AddCheckCommand(app, &command);
  AddTreeCommand(app, &command);
  CrashtestOptions crash;
  CLI::App* crashtest = app.add_subcommand("crashtest",
                                           "Kill an engine, or cut its power, while it commits "
                                           "(--durability sync unless given), writes "
                                           "checkpoints, closes, creates a database or recovers, "
                                           "and compare every row with what it acknowledged");
  crash.run.engine.durability = Durability::kSync;  // --durability lazy: the other promise
  AddEngineOptions(*crashtest, crash.run);
  crashtest->add_option("--kills", crash.kills, "Crashes by SIGKILL [20]")
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
  crashtest
      ->add_option("--power-cuts", crash.power_cuts,
                   "Crashes by power cut, on a scratch device (root) [0]")
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
  crashtest
      ->add_option(
          "--disk-cuts", crash.disk_cuts,
          "Crashes by power cut of a disk that loses and tears what was not flushed (root, "
          "FUSE) [0]")
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
  crashtest
      ->add_option("--crashes-per-database", crash.crashes_per_database,
                   "Begin with a new database after so many crashes [50]")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  crashtest
      ->add_option("--longest-ms", crash.longest_ms,
                   "A crash comes at a random moment within this [400]")
      ->type_name("MS")
      ->check(CLI::Range(1, 1000000));
  crashtest
      ->add_option("--least-commits", crash.least_commits,
                   "A crash waits for so many commits of its round; a round with fewer within 20 "
                   "seconds is not counted [5]")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  crashtest->add_option("--writers", crash.writers, "Threads that commit [4]")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  crashtest->add_option("--seed", crash.run.data.seed, "Seed of the crash moments [42]")
      ->type_name("N");
  crashtest->add_flag("--quiet", crash.run.quiet, "No progress line");
  crashtest->callback([&] {
    command = [&] {
      crash.run.rows = 1;
      crash.run.Resolve();
      return CrashtestCommand(crash);
    };
  });

  CLI::App* scratch = app.add_subcommand("scratch", "Scratch devices");
  scratch->require_subcommand(1);
  std::string scratch_dir = ".";
  CLI::App* clean = scratch->add_subcommand(
      "clean",
      "Find and remove what killed runs left behind: devices, images, settings, memory groups");
  clean->add_option("--dir", scratch_dir, "Directory that held the images")->type_name("DIR");
  clean->callback([&] { command = [&] { return ScratchClean(scratch_dir); }; });

  std::string shell = "bash";
  CLI::App* completion = app.add_subcommand("completion", "Print a shell completion script");
  completion->add_option("shell", shell, "bash")->check(CLI::IsMember({"bash"}));
  completion->callback([&] {
    command = [&] {
      fmt::print("{}", BashCompletion(app));
      return 0;
    };
  });
  CLI::App* man = app.add_subcommand("man", "Print the manual page (roff)");
  man->callback([&] {
    command = [&] {
      fmt::print("{}", ManPage(app));
      return 0;
    };
  });

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ExtrasError&) {
    throw Error(Error::kUsage, UnknownWordText(app, words));
  } catch (const CLI::ParseError& e) {
    throw Error(Error::kUsage, std::string(e.what()) + "; see testbed --help");
  }
  return command ? command() : RunCommand(run, words);
}

}  // namespace
}  // namespace testbed

int main(int argc, char** argv) {
  try {
    return testbed::Main(argc, argv);
  } catch (const testbed::Error& e) {
    fmt::print(stderr, "testbed: {}\n", e.what());
    return e.kind() == testbed::Error::kRun ? 1 : 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "testbed: {}\n", e.what());
    return 1;
  }
}
