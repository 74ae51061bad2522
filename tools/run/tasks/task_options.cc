#include "tools/run/tasks/task_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "device/error.h"
#include "tools/option_values.h"

namespace testbed {
namespace {

constexpr char kTask[] = "--task", kAddress[] = "--task-address";
constexpr char kAcceptedTasks[] =
    "slurm, or NUMBER/COUNT with numbers from 0 and a count of at most 1000, such as 0/3, 1/3 and "
    "2/3";
static_assert(kMostRunTasks == 1000, "kAcceptedTasks names it");
constexpr char kAcceptedAddresses[] = "HOST:PORT, with a port from 1 to 65535";

bool IsNumber(const std::string& text, size_t most_digits = 9) {
  return !text.empty() && text.size() <= most_digits &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

// Sets the number of the task and their count, which are numbers.
void SetPlace(const std::string& index, const std::string& count, const std::string& shown,
              TaskOptions* options) {
  if (!IsNumber(index) || !IsNumber(count)) RefuseValue(kTask, shown, kAcceptedTasks);
  options->index = std::atoi(index.c_str());
  options->count = std::atoi(count.c_str());
  if (options->count < 1 || options->count > kMostRunTasks || options->index >= options->count) {
    RefuseValue(kTask, shown, kAcceptedTasks);
  }
}

void SetAddress(const std::string& text, TaskOptions* options) {
  const size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
  std::string host = text.substr(0, colon == std::string::npos ? 0 : colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);  // an IPv6 address
  }
  const bool whole = !host.empty() && IsNumber(port) && std::atoi(port.c_str()) >= 1 &&
                     std::atoi(port.c_str()) <= 65535;
  if (!whole) RefuseValue(kAddress, text, kAcceptedAddresses);
  options->host = host;
  options->port = port;
}

// Sets the place of a task that srun has started.
void SetPlaceInStep(const std::function<const char*(const char*)>& variable, TaskOptions* options) {
  const auto text = [&](const char* name) {
    const char* const value = variable(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string step = text("SLURM_STEP_ID"), job = text("SLURM_JOB_ID");
  std::string count = text("SLURM_STEP_NUM_TASKS");
  if (count.empty()) count = text("SLURM_NTASKS");
  // The jobs of a federation have numbers of 10 digits, with the cluster in their upper bits.
  constexpr size_t kJobDigits = 17;
  if (!IsNumber(step) || !IsNumber(job, kJobDigits) || !IsNumber(text("SLURM_PROCID")) ||
      !IsNumber(count)) {
    throw Error(Error::kUsage,
                "--task slurm: srun has not started this process (SLURM_STEP_ID, SLURM_PROCID or "
                "SLURM_NTASKS is missing); start it by srun, or give --task NUMBER/COUNT");
  }
  SetPlace(text("SLURM_PROCID"), count, "slurm", options);
  options->step = job + "." + step;
  if (!options->address.empty()) return;
  options->host = FirstHost(text("SLURM_STEP_NODELIST"));
  if (options->host.empty()) {
    throw Error(Error::kUsage,
                "--task slurm: SLURM_STEP_NODELIST names no host; give --task-address HOST:PORT");
  }
  // Steps that run at once on a host meet at different ports.
  constexpr int64_t kFirst = 20000, kPorts = 10000;
  options->port =
      std::to_string(kFirst + (std::atoll(job.c_str()) * 16 + std::atoll(step.c_str())) % kPorts);
}

}  // namespace

void AddTaskOptions(CLI::App& app, TaskOptions& options) {
  app.add_option_function<std::string>(
         kTask,
         [&options](const std::string& text) {
           const size_t slash = text.find('/');
           if (slash == std::string::npos && text != "slurm") {
             RefuseValue(kTask, text, kAcceptedTasks);
           }
           if (text != "slurm") {
             TaskOptions place;
             SetPlace(text.substr(0, slash), text.substr(slash + 1), text, &place);
           }
           options.task = text;
         },
         "Run as one of several processes whose clients share one run, on one host or several: "
         "NUMBER/COUNT, such as 0/3, 1/3 and 2/3, or slurm, which takes both from srun "
         "(docs/clusters.md)")
      ->type_name("TASK");
  app.add_option_function<std::string>(
         kAddress,
         [&options](const std::string& text) {
           TaskOptions place;
           SetAddress(text, &place);
           options.address = text;
         },
         "Address at which task 0 listens and the other tasks connect [127.0.0.1:7717; with --task "
         "slurm a port of the step's first host]")
      ->type_name("HOST:PORT");
  app.add_option_function<std::string>(
         "--task-timeout",
         [&options](const std::string& text) {
           options.timeout = ParseReal("--task-timeout", text, 2, 86400, "seconds");
         },
         "Seconds within which all tasks must connect; a task that sends nothing for this time is "
         "lost [60]")
      ->type_name("S");
}

void ResolveTask(const std::function<const char*(const char*)>& variable, TaskOptions* options) {
  if (options->task.empty()) {
    if (options->address.empty() && options->timeout == TaskOptions().timeout) return;
    throw Error(Error::kUsage,
                fmt::format("--{} belongs to a run of several tasks; give --task too",
                            options->address.empty() ? "task-timeout" : "task-address"));
  }
  options->host = "127.0.0.1";
  options->port = std::to_string(kDefaultTaskPort);
  if (options->task == "slurm") {
    SetPlaceInStep(variable, options);
  } else {
    const size_t slash = options->task.find('/');
    SetPlace(options->task.substr(0, slash), options->task.substr(slash + 1), options->task,
             options);
  }
  if (!options->address.empty()) SetAddress(options->address, options);
}

std::string FirstHost(const std::string& list) {
  std::string name;
  for (size_t at = 0; at < list.size() && list[at] != ',';) {
    if (list[at] != '[') {
      name += list[at++];
      continue;
    }
    // n[07-09,12]-ib has the numbers in brackets; rack[1-2]n[1-3] has several pairs of them.
    const size_t close = list.find(']', at);
    if (close == std::string::npos) return "";
    const std::string numbers = list.substr(at + 1, close - at - 1);
    name += numbers.substr(0, numbers.find_first_of(",-"));
    at = close + 1;
  }
  return name;
}

}  // namespace testbed
