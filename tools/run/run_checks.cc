#include "tools/run/run_checks.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/signal_guard.h"
#include "engines/databases.h"
#include "engines/elsewhere.h"
#include "engines/registry.h"
#include "tools/database/database_files.h"
#include "tools/rate/rate_options.h"
#include "tools/release/release_process.h"
#include "tools/trace/trace_options.h"
#include "tools/trace/workload_list.h"
#include "workloads/keys/key_source.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

void CheckReads(const RunOptions& options) {
  if (FindEngine(options.engine_name).capabilities.reads) return;
  for (const std::string& name : options.workloads) {
    if (FindWorkload(name).loads || FindWorkload(name).only_settles) continue;
    throw Error(Error::kUsage,
                fmt::format("--workload {} reads, and nothing can be read from --engine {}; give "
                            "one that only loads, such as {}",
                            name, options.engine_name, LoaderText(FindWorkload(name))));
  }
}

// Throws Error (kUsage) when --cache-pct auto would try the workload on a database that holds what
// the workload is to write.
void CheckTrials(const RunOptions& options, const WorkloadInfo& info, const Workload& workload) {
  if (!options.cache_auto || info.loads || !workload.writes() || workload.operations() == 0) return;
  throw Error(Error::kUsage,
              fmt::format("--cache-pct auto performs a workload several times, and --workload {} "
                          "writes until it ends by itself; give a number",
                          info.name));
}

// Throws Error (kUsage) when a workload follows a replay that writes rows which it does not know.
void CheckRowsAreKnown(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset) {
  std::string writer;
  for (const std::string& name : options.workloads) {
    const WorkloadInfo& info = FindWorkload(name);
    if (!writer.empty() && KnowsRowsOfItsLoader(info)) {
      throw Error(
          Error::kUsage,
          fmt::format("--workload {0} comes after {1}, which writes rows that {0} takes for "
                      "wrong; name {0} first, or give each a run and a --dir of its own",
                      name, writer));
    }
    if (info.make(dataset, options.workload)->changes_row_sizes()) writer = name;
  }
}

// Throws Error (kUsage) when the workloads are not such that several tasks perform them together
// once the first one has loaded. RunOptions::Resolve has refused settle.
void CheckTasks(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset) {
  if (!options.tasks.several()) return;
  bool any = false;
  for (const std::string& name : options.workloads) {
    const WorkloadInfo& info = FindWorkload(name);
    if (info.loads && info.loader == "insert" && !any) continue;
    any = true;
    if (!info.loads && info.make(dataset, options.workload)->runs_in_tasks()) continue;
    throw Error(Error::kUsage,
                fmt::format("--task: several tasks cannot perform --workload {} together; they "
                            "take point-read, multi-get, mixed without erases, and what is made of "
                            "these, such as ycsb-a, after insert, which task 0 performs alone",
                            name));
  }
  if (any) return;
  throw Error(Error::kUsage,
              "--task: --workload only loads, which task 0 does alone; add what all tasks perform, "
              "such as point-read");
}

// Opens the engine with a new database in `dir` and closes it. Writes the engine's sentence to `fd`
// when it refuses an option. Other failures are ignored: the run itself will report them.
int Refused(const RunOptions& options, const std::string& dir, int fd) {
  try {
    (void)OpenDatabases(options.engine_name, dir, options.engine, options.databases);
  } catch (const Error& error) {
    const std::string_view sentence = error.what();
    if (error.kind() != Error::kUsage) return 0;
    // A given server still has the database that --fresh is to replace. The run itself replaces it
    // after all checks, so that a run that another check refuses does not lose it.
    if (options.fresh && error.code() == EEXIST) return 0;
    if (::write(fd, sentence.data(), sentence.size()) < 0) return 1;
  } catch (const std::exception&) {
  }
  return 0;
}

// Returns what the child writes into the pipe until it closes it. Passes a request to stop on to
// the child, which may wait for a server.
std::string ReadUntilStopped(int pipe, pid_t child) {
  constexpr int kLookMs = 50;
  std::string text;
  char buffer[4096];
  for (bool told = false;;) {
    if (StopRequested() && !std::exchange(told, true)) ::kill(child, SIGTERM);
    pollfd readable{.fd = pipe, .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, kLookMs) <= 0) continue;
    const ssize_t n = ::read(pipe, buffer, sizeof buffer);
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
    if (n == 0 || (n < 0 && errno != EINTR)) return text;
  }
}

}  // namespace

void CheckRun(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset) {
  if (!options.release.empty()) return CheckByRelease(options, "");
  CheckDatabaseOptions(options.engine_name, options.engine, options.databases);
  CheckReads(options);
  // Making a workload checks its options.
  for (const std::string& name : options.workloads) {
    CheckTrials(options, FindWorkload(name), *FindWorkload(name).make(dataset, options.workload));
  }
  CheckWorkloadOptions(options.workloads, options.workload);
  CheckDatabases(options.workloads, *dataset, options.workload, options.databases);
  CheckLoaders(options.workloads, options.reuse);
  CheckRowsAreKnown(options, dataset);
  CheckTasks(options, dataset);
  CheckRateWorkloads(options, dataset);
  CheckOwnPhases(options, dataset);
  CheckRecordedRows(options, *dataset);
  CheckReplayedTrace(options);
}

std::string SameValuesNote(const RunOptions& options,
                           const std::shared_ptr<const Dataset>& dataset) {
  if (dataset->min_value_size() >= Dataset::kLeastVersioned) return "";
  const bool updates =
      std::any_of(options.workloads.begin(), options.workloads.end(), [&](const std::string& name) {
        return FindWorkload(name).make(dataset, options.workload)->updates_rows();
      });
  if (!updates) return "";
  return fmt::format(
      "--value-size {}: a value of 0 or 1 byte is the same in all versions, so an update of its "
      "row changes nothing, and an engine may leave it out",
      ValueSizesText(dataset->options()));
}

Writers WritersOf(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset) {
  Writers writers;
  for (const std::string& name : options.workloads) {
    const std::unique_ptr<Workload> workload = FindWorkload(name).make(dataset, options.workload);
    if (workload->writes()) writers.all.insert(name);
    if (workload->changes_row_sizes()) writers.of_other_sizes.insert(name);
  }
  return writers;
}

bool TakesItsBytes(const RunOptions& options) {
  // A server that runs already has its database elsewhere, in a directory of its own.
  const bool here = FindEngine(options.engine_name).capabilities.persistent &&
                    !WorksElsewhere(options.engine_name, options.engine);
  if (!here || options.engine.compression != "none") return false;
  const std::vector<std::string>& names = options.workloads;
  return std::find(names.begin(), names.end(), "replay-load") == names.end();
}

uint64_t LeastSpace(const RunOptions& options, const std::shared_ptr<const Dataset>& dataset) {
  return TakesItsBytes(options) ? DataBytes(options.workloads, dataset, options.workload) : 0;
}

void CheckSpace(uint64_t need, const std::string& where, size_t databases, uint64_t freed) {
  std::error_code error;
  const fs::space_info space = fs::space(where, error);
  if (error || freed >= need || space.available >= need - freed) return;
  const bool one = databases == 1;
  throw Error(Error::kUsage,
              fmt::format("the file system of {} has {} free, and {} {} at least; free space, or "
                          "give fewer --rows or {}",
                          where, ShortSize(space.available),
                          one ? "the database needs" : "the databases of all sides need",
                          ShortSize(need), one ? "another --dir" : "begin in another directory"));
}

void CheckScratchSpace(const RunOptions& options, uint64_t need, uint64_t room) {
  if (need <= room) return;
  throw Error(Error::kUsage,
              fmt::format("--scratch {} has room for {}, and the database needs {} at least; give "
                          "a larger device, --scratch auto, or fewer --rows",
                          ShortSize(options.scratch_bytes), ShortSize(room), ShortSize(need)));
}

std::string TraceOf(const RunOptions& options) {
  const auto trace = options.workload.extra.find("trace");
  return trace == options.workload.extra.end() ? "" : trace->second;
}

InUse UsedByRun(const RunOptions& options) {
  return {.databases = {options.dir},
          .inputs = {KeySourceFile(options.data.keys_file), TraceOf(options)}};
}

void TryEngineOptions(const RunOptions& options, const std::string& where) {
  if (options.engine.extra.empty()) return;
  // A server that runs already keeps one database under the schema's name. It is the one that
  // --reuse asks for, and no empty one can be made in its place.
  if (options.reuse && options.engine.extra.contains("connect")) return;
  if (!options.release.empty()) return CheckByRelease(options, where);
  const TemporaryDatabase directory(where);
  Pipe pipe;
  // The engine is opened in a child process, so that this process gets none of the engine's threads
  // and memory.
  const pid_t child = ForkChild();
  if (child == 0) {
    pipe.CloseReader();
    PassesStopsOn(::getppid());
    ::_exit(Refused(options, directory.engine_path(), pipe.writer()));
  }
  pipe.CloseWriter();
  const std::string refused = ReadUntilStopped(pipe.reader(), child);
  pipe.CloseReader();
  AwaitChild(child);
  if (!refused.empty()) throw Error(Error::kUsage, refused);
}

}  // namespace testbed
