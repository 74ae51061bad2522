#include "device/host_activity.h"

#include <unistd.h>

#include "device/sys_file.h"

namespace testbed {

HostActivity ReadHostActivity(const std::string& root) {
  HostActivity activity;
  const std::optional<std::string> text = ReadSmallFile(root + "/proc/stat");
  if (!text) return activity;
  activity.context_switches = FindNumber(*text, "ctxt").value_or(0);
  // "cpu  user nice system idle iowait irq softirq steal ...", in clock ticks (proc(5))
  const std::vector<std::string> words = SplitWords(text->substr(0, text->find('\n')));
  if (words.size() < 8 || words[0] != "cpu") return activity;
  const auto seconds = [&](size_t word) {
    return std::stod(words[word]) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  };
  activity.user_seconds = seconds(1) + seconds(2);
  activity.system_seconds = seconds(3) + seconds(6) + seconds(7);
  return activity;
}

uint64_t ProcessResidentBytes() {
  const std::optional<std::string> text = ReadSmallFile("/proc/self/statm");
  const std::vector<std::string> words = SplitWords(text.value_or(""));
  return words.size() < 2 ? 0
                          : std::stoull(words[1]) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace testbed
