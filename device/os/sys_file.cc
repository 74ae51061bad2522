#include "device/os/sys_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace testbed {

std::optional<std::string> ReadSmallFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  constexpr size_t kMost = 4 << 20;
  std::string text;
  ssize_t got = 0;
  do {
    const size_t size = text.size();
    text.resize(size + 4096);
    do {
      got = read(fd, text.data() + size, 4096);
    } while (got < 0 && errno == EINTR);
    text.resize(size + std::max<ssize_t>(got, 0));
  } while (got > 0 && text.size() < kMost);
  close(fd);
  if (got < 0) return std::nullopt;
  return text;
}

std::string ReadLine(const std::string& path) {
  std::string text = ReadSmallFile(path).value_or("");
  const auto space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(std::find_if_not(text.rbegin(), text.rend(), space).base(), text.end());
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), space));
  return text;
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  const std::string text = ReadLine(path);
  uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) {
    return std::nullopt;
  }
  return value;
}

int WriteSmallFile(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC);
  if (fd < 0) return errno;
  ssize_t done = 0;
  do {
    done = write(fd, text.data(), text.size());
  } while (done < 0 && errno == EINTR);
  const int code = done < 0 ? errno : 0;
  close(fd);
  return code;
}

std::optional<uint64_t> FindNumber(std::string_view text, std::string_view key) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.substr(0, key.size()) != key) continue;
    line.remove_prefix(key.size());
    if (line.empty() || (line[0] != ' ' && line[0] != '\t')) continue;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    uint64_t value = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), value).ec == std::errc()) {
      return value;
    }
  }
  return std::nullopt;
}

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  constexpr std::string_view kSpace = " \t\n";
  for (size_t at = text.find_first_not_of(kSpace); at < text.size();
       at = text.find_first_not_of(kSpace, at)) {
    const size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

namespace {

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string UndoEscapes(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Returns the first option of the list with the name, and with its value; nothing when there is
// none.
std::optional<std::string_view> FindMountOption(std::string_view list, std::string_view name) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string_view option = list.substr(at, end - at);
    if (option.substr(0, option.find('=')) == name) return option;
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace

bool Mount::HasOption(std::string_view name) const {
  return FindMountOption(options, name).has_value();
}

std::string Mount::OptionValue(std::string_view name) const {
  const std::string_view option = FindMountOption(options, name).value_or("");
  const size_t equals = option.find('=');
  return equals == std::string_view::npos ? "" : UndoEscapes(option.substr(equals + 1));
}

std::vector<Mount> ReadMounts(const std::string& prefix) {
  std::vector<Mount> mounts;
  for (const std::string& line :
       SplitLines(ReadSmallFile(prefix + "/proc/self/mountinfo").value_or(""))) {
    // A line is: id parent device root point options [tags...] - type source options (proc(5)).
    const std::vector<std::string> words = SplitWords(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (dash - words.begin() < 6 || words.end() - dash < 4) continue;
    mounts.push_back({UndoEscapes(words[3]), UndoEscapes(words[4]), dash[1], UndoEscapes(dash[2]),
                      words[5] + "," + dash[3], std::strtoull(words[0].c_str(), nullptr, 10)});
  }
  return mounts;
}

std::optional<uint64_t> MountIdOf(const std::string& path) {
  struct statx at;
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_MNT_ID, &at) != 0) return std::nullopt;
  if ((at.stx_mask & STATX_MNT_ID) == 0) return std::nullopt;
  return at.stx_mnt_id;
}

std::optional<Mount> MountOf(const std::string& path, const std::string& prefix) {
  const std::optional<uint64_t> id = MountIdOf(path);
  if (!id) return std::nullopt;
  for (Mount& mount : ReadMounts(prefix)) {
    if (mount.id == *id) return std::move(mount);
  }
  return std::nullopt;
}

bool IsNetworkFileSystem(const std::string& type) {
  static constexpr std::string_view kTypes[] = {"nfs",  "nfs4", "lustre", "cifs",       "smb3",
                                                "ceph", "gpfs", "beegfs", "fuse.sshfs", "9p"};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

bool IsServedByAnotherHost(const std::string& path, const std::string& prefix) {
  const std::optional<Mount> mount = MountOf(path, prefix);
  return mount && IsNetworkFileSystem(mount->type);
}

std::optional<uint64_t> ProcessStartTime(pid_t pid) {
  const auto stat = ReadSmallFile(fmt::format("/proc/{}/stat", pid));
  if (!stat) return std::nullopt;
  // The process name may hold spaces and parentheses, so fields are counted from the last
  // parenthesis on.
  const size_t after_name = stat->rfind(')');
  if (after_name == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields =
      SplitWords(std::string_view(*stat).substr(after_name + 1));
  constexpr size_t kStartTime = 22 - 3;  // proc(5) numbers it 22; `fields` begin at field 3
  if (fields.size() <= kStartTime) return std::nullopt;
  return std::stoull(fields[kStartTime]);
}

std::string SizeText(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
  const bool whole = value == static_cast<double>(static_cast<uint64_t>(value)) || value >= 100;
  return whole ? fmt::format("{:.0f} {}", value, kUnits[unit])
               : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace testbed
