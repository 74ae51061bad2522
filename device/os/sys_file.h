// Small helpers for the files through which the kernel talks: /proc, /sys and cgroup files.
//
//   if (auto text = ReadSmallFile("/proc/self/cgroup")) ...
//   uint64_t kib = ReadNumber("/sys/block/loop0/queue/read_ahead_kb").value_or(0);
//
// Absence is a return value here, not an error: which of these files exist differs from machine to
// machine, and the caller knows what absence means.
#ifndef TESTBED_DEVICE_OS_SYS_FILE_H_
#define TESTBED_DEVICE_OS_SYS_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace testbed {

// The whole content, at most 4 MiB of it; nothing when it cannot be opened or read.
std::optional<std::string> ReadSmallFile(const std::string& path);
// The same without white space at its ends; empty when it cannot be read.
std::string ReadLine(const std::string& path);
// The decimal number the file starts with; nothing when there is none.
std::optional<uint64_t> ReadNumber(const std::string& path);
// One write(2) to a file that exists; returns 0 or errno.
int WriteSmallFile(const std::string& path, std::string_view text);

// The number after `key` at the start of a line ("total_rss 4096", "Anonymous:  4 kB"); nothing
// when no line has the key.
std::optional<uint64_t> FindNumber(std::string_view text, std::string_view key);
std::vector<std::string> SplitLines(std::string_view text);
std::vector<std::string> SplitWords(std::string_view text);

// One line of /proc/self/mountinfo, with its escapes undone. `options` are those of the mount and
// of the file system, joined.
struct Mount {
  std::string device_numbers;  // "254:0"
  std::string root;            // the part of the file system that is mounted
  std::string point;
  std::string type;    // "ext4"
  std::string source;  // "/dev/vda"
  std::string options;
  bool HasOption(std::string_view name) const;  // "memory", or the name of "resuid=65534"
};
// In the order of the file: a later mount covers an earlier one at the same point. `prefix` stands
// before /proc, for tests.
std::vector<Mount> ReadMounts(const std::string& prefix = "");

// When the process started, in clock ticks since boot; nothing when there is no such process. A
// process id is reused, the pair of id and start time is not.
std::optional<uint64_t> ProcessStartTime(pid_t pid);

// "64 MiB", "8 KiB", "1.5 GiB": for sentences.
std::string SizeText(uint64_t bytes);

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_SYS_FILE_H_
