#include "workloads/documents/cpu_profile.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <iterator>

#include "device/error.h"

extern char** environ;

namespace testbed {
namespace {

// Starts a program found in PATH. Its streams are /dev/null, except that its stdout is `out` when
// `out` is not negative. Returns its process id, or -1 when it cannot be started.
pid_t Start(std::vector<std::string> words, int out) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (out < 0) {
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  } else {
    posix_spawn_file_actions_adddup2(&actions, out, 1);
  }
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : -1;
}

void Wait(pid_t child) {
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

CpuProfile::CpuProfile() {
  // The samples go into memory that has no name, so that a run that is killed leaves no file
  // behind.
  samples_ = memfd_create("perf samples", MFD_CLOEXEC);
  if (samples_ < 0) {
    why_ = Error::Io("memfd_create", "for perf's samples", errno).what();
    return;
  }
  // Every machine has the event cpu-clock; virtual machines may lack hardware counters.
  perf_ = Start({"perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-p",
                 std::to_string(getpid()), "-o", SamplesPath()},
                -1);
  if (perf_ < 0) why_ = "perf is not installed";
}

CpuProfile::~CpuProfile() {
  End();
  if (samples_ >= 0) close(samples_);
}

std::string CpuProfile::SamplesPath() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(samples_);
}

void CpuProfile::End() {
  if (perf_ < 0) return;
  kill(perf_, SIGINT);
  Wait(perf_);
  perf_ = -1;
}

std::vector<CpuProfile::Function> CpuProfile::Stop() {
  if (perf_ < 0) return {};
  End();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t report = Start({"perf", "report", "-i", SamplesPath(), "--stdio", "-q",
                              "--no-children", "-F", "overhead,dso,symbol", "--no-demangle"},
                             ends[1]);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n; (n = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(n));
  }
  close(ends[0]);
  if (report >= 0) Wait(report);
  std::vector<Function> functions = ParsePerfReport(text);
  if (functions.empty()) why_ = "perf took no samples";
  return functions;
}

std::vector<CpuProfile::Function> ParsePerfReport(std::string_view report) {
  std::vector<CpuProfile::Function> functions;
  while (!report.empty()) {
    const size_t end = std::min(report.find('\n'), report.size());
    const std::string line(report.substr(0, end));
    report.remove_prefix(std::min(end + 1, report.size()));
    double percent = 0;
    char program[256] = "";
    int length = 0;
    if (std::sscanf(line.c_str(), " %lf%% %255s [%*c] %n", &percent, program, &length) != 2 ||
        length == 0) {
      continue;
    }
    std::string name = line.substr(static_cast<size_t>(length));
    while (!name.empty() && name.back() == ' ') name.pop_back();
    if (!name.empty()) functions.push_back({name, program, percent / 100});
  }
  std::stable_sort(functions.begin(), functions.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  return functions;
}

bool ReadsAttributes(const CpuProfile::Function& sampled) {
  const std::string_view name = sampled.name;
  if (sampled.program.starts_with("libbson")) {
    // Most functions of libbson have no symbol, and perf gives their addresses. Of those that have
    // one, the others write documents.
    return name.starts_with("0x") || name.find("bson_iter") != std::string_view::npos;
  }
  const auto has = [name](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  // Mangled names have the length of each part of a name before it.
  static constexpr std::string_view kWriters[] = {"Builder", "6Encode", "7Project", "7PutHead",
                                                  "8Finished"};
  static constexpr std::string_view kReaders[] = {"BsonCodec", "CborCodec",   "buffersCodec",
                                                  "nlohmann",  "flexbuffers", "flatbuffers"};
  return std::none_of(std::begin(kWriters), std::end(kWriters), has) &&
         std::any_of(std::begin(kReaders), std::end(kReaders), has);
}

bool IsAllocation(const CpuProfile::Function& sampled) {
  // tcmalloc's functions have many names, most of them in no symbol table.
  if (sampled.program.starts_with("libtcmalloc")) return true;
  std::string_view function = sampled.name;
  // Also contains glibc's internal names and mangled C++ names: operator new and delete are _Znwm
  // and _ZdlPv.
  static constexpr std::string_view kNames[] = {
      "malloc",      "free",      "cfree",        "calloc",       "realloc",
      "_int_malloc", "_int_free", "_int_realloc", "_Znwm",        "_Znam",
      "_ZdlPvm",     "_ZdlPv",    "_ZdaPv",       "unlink_chunk", "malloc_consolidate",
      "sysmalloc",   "systrim",   "tcache_put",   "tcache_get"};
  while (function.starts_with("__libc_") || function.starts_with("__GI_")) {
    function.remove_prefix(function.find('_', 2) + 1);
  }
  function = function.substr(0, function.find_first_of(".@"));
  return std::find(std::begin(kNames), std::end(kNames), function) != std::end(kNames);
}

}  // namespace testbed
