#include "tools/run/tasks/recorded_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "device/error.h"
#include "tools/command/command_words.h"
#include "tools/database/database_dir.h"
#include "tools/database/database_files.h"
#include "tools/run/tasks/task_join.h"
#include "tools/workload_defaults.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

using nlohmann::json;

// Returns the record of the database that the run is on. Of several tasks, all take that of task 0,
// as --dir of another one may lead elsewhere. It is empty when task 0 reuses none.
std::optional<json> RecordToReuse(const RunOptions& options) {
  TaskOptions place = options.tasks;
  ResolveTask(::getenv, &place);
  if (!place.guest()) {
    CheckReadable(options.dir, "--dir " + options.dir);
    return ReadRecord(options.dir);
  }
  return std::optional(RecordOfFirst(place));
}

// Removes the settings of the load that the record gave and the user did not, where no workload of
// the run needs the load's database, and so none has such options.
void DropSettingsOfLoad(const json& record, const RunOptions& given, RunOptions* known) {
  const bool any_database = std::all_of(
      known->workloads.begin(), known->workloads.end(),
      [](const std::string& workload) { return FindWorkload(workload).loader.empty(); });
  const json settings = record.value("workload_option", json());
  if (!any_database || !settings.is_object()) return;
  for (const auto& [name, value] : settings.items()) {
    if (!given.workload.extra.contains(name)) known->workload.extra.erase(name);
  }
}

}  // namespace

RunOptions WithRecord(RunOptions options, const std::vector<std::string>& words) {
  const bool reuses = options.reuse && !options.dir.empty();
  const std::optional<json> record = reuses ? RecordToReuse(options) : std::nullopt;
  if (!reuses || (record && record->empty())) {
    ApplyWorkloadDefaults(words, &options);
    return options;
  }
  if (!record && options.engine_name.empty()) {
    throw Error(Error::kUsage,
                fmt::format("--dir {} holds no database that testbed loaded; load one first, "
                            "without --reuse",
                            options.dir));
  }
  if (!record) return options;  // DatabaseDir refuses the directory
  std::vector<std::string> all = words;
  for (std::string& word : WordsOfRecord(*record, words)) all.push_back(std::move(word));
  RunOptions known = ParseRunOptions(all);
  ApplyWorkloadDefaults(all, &known);
  // A loaded database is not loaded again unless the user says so.
  if (!Gives(words, "--workload")) {
    std::erase_if(known.workloads,
                  [](const std::string& workload) { return FindWorkload(workload).loads; });
  }
  DropSettingsOfLoad(*record, options, &known);
  for (const std::string& name : known.workloads) CheckWorkloadFits(*record, name, options.dir);
  return known;
}

}  // namespace testbed
