#include "engines/mysql/old_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "device/error.h"
#include "engines/sql/mariadb_pages.h"
#include "engines/sql/mariadb_settings.h"

namespace testbed::mysql::old_server {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// Returns the value of the argument "--name=value"; empty when `argument` is another.
std::string ValueOf(std::string_view argument, std::string_view name) {
  const std::string begin = fmt::format("--{}=", name);
  return argument.starts_with(begin) ? std::string(argument.substr(begin.size())) : "";
}

// Returns the size of one of the log's files, which a server rounds to megabytes.
uint64_t EachLog(uint64_t log_bytes) { return log_bytes / kLogFiles / kMiB * kMiB; }

void Remove(std::vector<std::string>* arguments, std::string_view name) {
  std::erase_if(*arguments, [&](const std::string& argument) {
    return argument.starts_with(fmt::format("--{}=", name));
  });
}

std::string InnodbStatus(const Ask& ask) {
  const auto rows = ask("SHOW ENGINE INNODB STATUS");
  return rows.empty() || rows[0].empty() ? "" : rows[0].back();
}

}  // namespace

// These limits were found by trials. At 4k and 8k the server raises 2M to 5M; at 32k and 64k it
// refuses 20M.
uint64_t LeastPool(Version version, uint32_t page_size) {
  const uint64_t newest = mariadb::LeastPool(page_size);
  if (version >= kInvisibleColumns) return newest;
  return std::max(newest, page_size <= 8192 ? 5 * kMiB : page_size <= 16384 ? 6 * kMiB : 24 * kMiB);
}

size_t MaxValueSize(Version version, uint64_t log_bytes) {
  if (version >= kInnodb57) return mariadb::kMaxValueSize;
  return std::min<uint64_t>(mariadb::kMaxValueSize, EachLog(log_bytes) * kLogFiles / 10);
}

void FitArguments(Version version, uint64_t pool_bytes, std::vector<std::string>* arguments) {
  if (version >= kOneLogFile) return;
  for (std::string& argument : *arguments) {
    constexpr char kSize[] = "innodb-log-file-size";
    const std::string bytes = ValueOf(argument, kSize);
    if (bytes.empty()) continue;
    argument = fmt::format("--{}={}", kSize, EachLog(std::strtoull(bytes.c_str(), nullptr, 10)));
  }
  arguments->push_back(fmt::format("--innodb-log-files-in-group={}", kLogFiles));
  Remove(arguments, "loose-innodb-log-file-buffering");  // its log goes through the page cache
  if (version >= kInnodb57) return;
  Remove(arguments, "innodb-buffer-pool-chunk-size");
  // By itself, InnoDB 5.7 divides only pools of a gigabyte and more.
  arguments->push_back(
      fmt::format("--innodb-buffer-pool-instances={}", pool_bytes < 1024 * kMiB ? 1 : 8));
  // Without these settings, rows cannot have the dynamic format, and keys have 767 bytes at most.
  arguments->emplace_back("--innodb-file-format=Barracuda");
  arguments->emplace_back("--innodb-large-prefix=1");
}

uint64_t ParseStatus(const std::string& status, const char* words) {
  const size_t at = status.find(words);
  if (at == std::string::npos) {
    throw Error(Error::kRun, fmt::format("mysql: the server's status has no '{}'", words));
  }
  return std::strtoull(status.c_str() + at + std::string_view(words).size(), nullptr, 10);
}

uint64_t HistoryLength(const Ask& ask) {
  return ParseStatus(InnodbStatus(ask), "History list length");
}

void ReadLog(const Ask& ask, mariadb::PageState* state) {
  const std::string status = InnodbStatus(ask);
  state->log_end = ParseStatus(status, "Log sequence number");
  state->checkpoint = ParseStatus(status, "Last checkpoint at");
}

}  // namespace testbed::mysql::old_server
