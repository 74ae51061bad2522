#include "tools/ab/turns/processors.h"

#include <fmt/format.h>
#include <sched.h>

#include <charconv>
#include <filesystem>
#include <string>

namespace testbed {

std::vector<int> OwnProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

std::vector<std::vector<int>> Shares(const std::vector<int>& processors, size_t parts) {
  const auto each = static_cast<std::ptrdiff_t>(processors.size() / parts);
  std::vector<std::vector<int>> shares;
  for (auto at = processors.begin(); shares.size() < parts; at += each) {
    shares.emplace_back(at, at + each);
  }
  return shares;
}

void BindProcess(pid_t process, const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  std::error_code error;
  std::filesystem::directory_iterator tasks(fmt::format("/proc/{}/task", process), error);
  for (const auto end = std::filesystem::directory_iterator(); !error && tasks != end;
       tasks.increment(error)) {
    const std::string name = tasks->path().filename();
    int thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0) ::sched_setaffinity(thread, sizeof set, &set);
  }
}

}  // namespace testbed
