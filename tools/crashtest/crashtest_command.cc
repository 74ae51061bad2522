#include "tools/crashtest/crashtest_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "device/error.h"
#include "tools/crashtest/crashtest.h"
#include "tools/crashtest/crashtest_checks.h"
#include "tools/output/table.h"
#include "tools/unused_options.h"

namespace testbed {
namespace {

constexpr char kCrashtestExamples[] =
    "\nExamples:\n"
    "  testbed crashtest --engine btree --kills 200\n"
    "      kills the process 200 times at random moments, and compares after each\n"
    "  sudo testbed crashtest --engine fractal --io direct --kills 0 --power-cuts 50 --disk-cuts "
    "50\n"
    "      cuts the power of the file system, and of a disk that loses and tears what was not "
    "flushed\n"
    "  sudo testbed crashtest --engine rocksdb --kills 0 --disk-errors 25 --go-on\n"
    "      refuses writes as a failing disk does, and counts after how many something was lost\n";

constexpr int kStoppedExitCode = 130;  // as shells report a command that SIGINT ended

// Makes the crashes and prints the result; returns the exit code.
int Crashtest(const CrashtestOptions& options) {
  const CrashtestResult result = RunCrashtest(options);
  fmt::print(
      "{}: {}, {}, {}; {} acknowledged, {} more found that were not acknowledged yet, {} read\n",
      options.run.EngineWithRelease(), Counted(result.kills, "kill"),
      Counted(result.power_cuts, "power cut"), Counted(result.disk_cuts, "disk cut"),
      Counted(result.commits_acknowledged, "commit"), result.commits_found_unacknowledged,
      Counted(result.rows_read, "row"));
  fmt::print(
      "of these crashes {} during checkpoints, {} in a clean close, {} while a database was "
      "created ({} begun anew), and {} more in recovery\n",
      result.in_checkpoint, result.in_close, result.in_creation, result.not_created,
      result.in_recovery);
  if (options.disk_errors > 0) {
    fmt::print(
        "{} the disk refused writes: {} a client was told, {} the process ended, {} neither\n",
        Counted(result.disk_errors, "time"), Counted(result.errors_told, "time"),
        Counted(result.errors_ended, "time"),
        Counted(result.disk_errors - result.errors_told - result.errors_ended, "time"));
  }
  if (result.file_systems_lost > 0) {
    fmt::print(
        "{} the disk had lost what the file system needs to be mounted: the database went "
        "with it, which says nothing of the engine\n",
        Counted(result.file_systems_lost, "time"));
  }
  if (result.void_rounds > 0) {
    fmt::print("{} had too few commits and {} not counted\n", Counted(result.void_rounds, "round"),
               result.void_rounds == 1 ? "is" : "are");
  }
  for (const std::string& failure : result.failures) fmt::print("FAILED {}\n", failure);
  if (result.stopped) fmt::print("stopped by a signal before all crashes were made\n");
  if (result.failures.size() > 1) fmt::print("{} failures\n", result.failures.size());
  if (result.failures.empty()) {
    fmt::print(
        "no {} lost, no half transaction, no other difference\n",
        options.run.engine.durability == Durability::kSync
            ? "acknowledged commit"
            : fmt::format("commit that was acknowledged {} ms before", PromisedAgeMs(options)));
  }
  if (!result.failures.empty()) return 1;
  return result.stopped ? kStoppedExitCode : 0;
}

// Throws Error (kUsage) for an option of a run that no crash test follows. Resolve must not come
// first: it would ask for more of such an option, such as a --dir for --reuse.
void CheckIgnored(const CrashtestOptions& options) {
  const RunOptions& run = options.run;
  if (run.reuse) {
    throw Error(Error::kUsage,
                "crashtest makes databases of its own and removes them, so it takes no --reuse; "
                "give an empty --dir, or none");
  }
  if (run.cache_most || run.cache_auto) {
    throw Error(Error::kUsage,
                "crashtest measures no share of the memory, so its --cache-pct takes a number and "
                "neither most nor auto");
  }
  // A server that the user started does not crash with the clients, and is not on the failing disk.
  if (!run.connect.empty() || run.engine.extra.contains("connect")) {
    throw Error(Error::kUsage,
                "crashtest crashes the server that it starts, and one that runs already would not "
                "notice, so it takes no --connect; leave it out");
  }
  for (const auto& [given, option] :
       {std::pair(run.readahead_bytes.has_value(), "--readahead"),
        std::pair(run.read_iops != 0, "--read-iops"), std::pair(run.strict, "--strict")}) {
    if (!given) continue;
    throw Error(Error::kUsage,
                fmt::format("crashtest measures nothing, so it bounds neither memory "
                            "nor reads and takes no {}; leave it out",
                            option));
  }
  if (!run.dir.empty() && options.power_cuts + options.disk_cuts + options.disk_errors > 0) {
    throw Error(Error::kUsage,
                "--power-cuts, --disk-cuts and --disk-errors crash a scratch device, which brings "
                "its own directory; leave out --dir");
  }
}

// Describes the options of a run that mean something else here, and hides those that are refused.
void DescribeOptionsOfRun(CLI::App* crashtest) {
  crashtest->get_option("--durability")
      ->description(
          "When a commit is durable: sync (when it returns), lazy (within --lazy-interval) [sync]");
  crashtest->get_option("--ram")->description(
      "Memory of which --cache-pct takes a share, and by which engines size their buffers; nothing "
      "limits the memory of the process [256M]");
  crashtest->get_option("--cache-pct")->description("Share of --ram for the engine's cache [50]");
  crashtest->get_option("--dir")->description(
      "Directory of the database with --kills, which the test keeps; without it the test makes a "
      "temporary one below the current directory, and keeps it after a failure");
  for (const char* refused : {"--reuse", "--readahead", "--read-iops", "--strict", "--connect"}) {
    crashtest->get_option(refused)->group("");
  }
}

void AddCrashes(CLI::App* crashtest, CrashtestOptions* crash) {
  crashtest->add_option("--kills", crash->kills, "Crashes by SIGKILL [20]")
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
  crashtest
      ->add_option("--power-cuts", crash->power_cuts,
                   "Crashes by power cut, on a scratch device (root) [0]")
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
  crashtest
      ->add_option(
          "--disk-cuts", crash->disk_cuts,
          "Crashes by power cut of a disk that loses and tears what was not flushed (root, "
          "FUSE) [0]")
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
}

void AddErrors(CLI::App* crashtest, CrashtestOptions* crash) {
  crashtest
      ->add_option("--disk-errors", crash->disk_errors,
                   "Rounds in which the disk refuses some writes to a file of the database, after "
                   "which the process is killed or the power is cut (root, FUSE) [0]")
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
  crashtest->add_flag("--go-on", crash->go_on,
                      "After a failure begin with a new database, and count the failures");
}

void AddRounds(CLI::App* crashtest, CrashtestOptions* crash) {
  crashtest
      ->add_option("--crashes-per-database", crash->crashes_per_database,
                   "Number of crashes after which a new database begins [50]")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  crashtest
      ->add_option("--longest-ms", crash->longest_ms,
                   "A crash comes at a random moment within this time, in milliseconds [400]")
      ->type_name("MS")
      ->check(CLI::Range(1, 1000000));
  crashtest
      ->add_option("--least-commits", crash->least_commits,
                   "Number of commits that a round must have before its crash; a round with fewer "
                   "in 20 seconds is not counted [5]")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  crashtest->add_option("--writers", crash->writers, "Threads that commit [4]")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  crashtest->add_option("--seed", crash->run.data.seed, "Seed of the crash moments [42]")
      ->type_name("N");
  crashtest->add_flag("--quiet", crash->run.quiet, "Print no progress line");
}

}  // namespace

void AddCrashtestCommand(CLI::App& app, const std::vector<std::string>& words,
                         std::function<int()>* command) {
  auto crash = std::make_shared<CrashtestOptions>();
  CLI::App* crashtest = app.add_subcommand("crashtest",
                                           "Kill an engine or cut its power, and compare every row "
                                           "with what it had acknowledged; a crash comes while the "
                                           "engine commits (--durability sync unless given), takes "
                                           "a checkpoint, closes, creates a database or recovers");
  // kSync is this command's default; --durability lazy tests the weaker promise.
  crash->run.engine.durability = Durability::kSync;
  AddEngineOptions(*crashtest, crash->run);
  DescribeOptionsOfRun(crashtest);
  crashtest->footer(kCrashtestExamples);
  AddCrashes(crashtest, crash.get());
  AddErrors(crashtest, crash.get());
  AddRounds(crashtest, crash.get());
  crashtest->callback([crash, words, command] {
    *command = [crash, words] {
      CheckIgnored(*crash);
      crash->run.rows = 1;
      crash->run.Resolve();
      CheckUnusedOptions(crash->run, words);
      return Crashtest(*crash);
    };
  });
}

}  // namespace testbed
