// These functions read and write the files of /proc, /sys and cgroups, through which the kernel
// talks.
//
//   if (auto text = ReadSmallFile("/proc/self/cgroup")) ...
//   uint64_t kib = ReadNumber("/sys/block/loop0/queue/read_ahead_kb").value_or(0);
//
// Absence is a return value here, not an error: machines differ in which of these files they have,
// and the caller knows what absence means. All functions are thread-safe.
#ifndef TESTBED_DEVICE_OS_SYS_FILE_H_
#define TESTBED_DEVICE_OS_SYS_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace testbed {

// Returns the content of the file, of which it reads about 4 MiB at most. Returns nothing when the
// file cannot be opened or read.
std::optional<std::string> ReadSmallFile(const std::string& path);
// Returns the content without white space at both ends; empty when the file cannot be read.
std::string ReadLine(const std::string& path);
// Returns the decimal number that the file starts with; nothing when it starts with none.
std::optional<uint64_t> ReadNumber(const std::string& path);
// Truncates a file that exists and writes to it in one write(2). Returns 0 or an errno.
int WriteSmallFile(const std::string& path, std::string_view text);

// Returns the number in the first line that consists of `key`, white space and a number
// ("total_rss 4096", "Anonymous:  4 kB"); nothing when there is no such line.
std::optional<uint64_t> FindNumber(std::string_view text, std::string_view key);
std::vector<std::string> SplitLines(std::string_view text);
std::vector<std::string> SplitWords(std::string_view text);

// A Mount is a line of /proc/self/mountinfo, with its escapes undone.
struct Mount {
  std::string root;  // the part of the file system that is mounted
  std::string point;
  std::string type;    // "ext4"
  std::string source;  // "/dev/vda"
  // This holds the options of the mount and of the file system, joined by a comma.
  std::string options;
  uint64_t id = 0;  // see MountIdOf
  // Returns whether an option has the name: "memory", or "resuid" for "resuid=65534".
  bool HasOption(std::string_view name) const;
  // Returns the value of the first option with the name: "/run/up" of "upperdir=/run/up". It is
  // empty when there is no such option, or one without a value.
  std::string OptionValue(std::string_view name) const;
};
// Returns the mounts in the order of the file: a later mount covers an earlier mount at the same
// point. Tests set `prefix`, which stands before /proc.
std::vector<Mount> ReadMounts(const std::string& prefix = "");
// Returns the id of the mount that holds the file; nothing when the kernel does not tell it.
std::optional<uint64_t> MountIdOf(const std::string& path);
// Returns the mount that holds the file; nothing when the kernel does not tell it. `prefix` is that
// of ReadMounts.
std::optional<Mount> MountOf(const std::string& path, const std::string& prefix = "");

// Returns whether another host serves the file systems of this type ("nfs4").
bool IsNetworkFileSystem(const std::string& type);
// Returns whether the file or directory is on such a file system; false when the kernel does not
// tell it. Processes of further hosts may use it then, and their locks on directories (dir_lock.h)
// are not seen here.
bool IsServedByAnotherHost(const std::string& path, const std::string& prefix = "");

// Returns when the process started, in clock ticks since boot; nothing when there is no such
// process. The kernel reuses process ids, but not pairs of id and start time.
std::optional<uint64_t> ProcessStartTime(pid_t pid);

// Returns a size as a sentence has it: "64 MiB", "8 KiB", "1.5 GiB".
std::string SizeText(uint64_t bytes);

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_SYS_FILE_H_
