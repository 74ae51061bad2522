#include "tools/ab/turns/processors.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>

namespace testbed {

std::vector<std::vector<int>> Shares(const std::vector<int>& processors, size_t parts) {
  const auto each = static_cast<std::ptrdiff_t>(processors.size() / parts);
  std::vector<std::vector<int>> shares;
  for (auto at = processors.begin(); shares.size() < parts; at += each) {
    shares.emplace_back(at, at + each);
  }
  return shares;
}

void BindProcess(pid_t process, const std::vector<int>& processors) {
  if (processors.empty()) return;
  const auto last = static_cast<size_t>(*std::max_element(processors.begin(), processors.end()));
  std::vector<cpu_set_t> sets(last / CPU_SETSIZE + 1);  // one has room for 1024 processors
  const size_t bytes = sets.size() * sizeof(cpu_set_t);
  for (const int processor : processors) {
    CPU_SET_S(static_cast<size_t>(processor), bytes, sets.data());
  }
  // A thread that a listing has passed over was made meanwhile by one that was not bound yet. A
  // thread that is bound makes bound ones, so that a few listings reach all of them. The limit is
  // for a process that makes threads all the time.
  constexpr int kMostListings = 100;
  std::set<int> bound;
  bool found_new = true;
  for (int i = 0; i < kMostListings && found_new; ++i) {
    found_new = false;
    std::error_code error;
    std::filesystem::directory_iterator tasks(fmt::format("/proc/{}/task", process), error);
    for (const auto end = std::filesystem::directory_iterator(); !error && tasks != end;
         tasks.increment(error)) {
      const std::string name = tasks->path().filename();
      int thread = 0;
      std::from_chars(name.data(), name.data() + name.size(), thread);
      if (thread <= 0 || !bound.insert(thread).second) continue;
      found_new = true;
      ::sched_setaffinity(thread, bytes, sets.data());
    }
  }
}

}  // namespace testbed
