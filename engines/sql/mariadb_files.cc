#include "engines/sql/mariadb_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "device/error.h"
#include "device/file/directory.h"

namespace testbed::mariadb {
namespace {

constexpr char kSystemFile[] = "/ibdata1", kLog[] = "/ib_logfile0";
constexpr char kNewLog[] = "/ib_logfile101";  // takes the log's place when it is whole
constexpr char kSchemaMark[] = "db.opt";
constexpr std::string_view kRows = ".ibd", kDefinition = ".frm";

[[noreturn]] void Missing(const std::string& path) {
  throw Error(Error::kCorruption,
              fmt::format("file {} is missing: put it back, restore the database from a copy, or "
                          "load it anew with --fresh",
                          path));
}

// Returns the content of the log of definitions when the server was ended before it had completed a
// change of a table; else an empty string. The first byte of a block says whether its change is
// still to do (ddl_log.h of MariaDB, DDL_LOG_EXECUTE_CODE).
std::string UnfinishedDefinitions(const std::string& directory) {
  constexpr size_t kBlock = 4096;
  constexpr char kToDo = 1;
  std::ifstream file(directory + "/ddl_recovery.log", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  for (size_t at = kBlock; at < text.size(); at += kBlock) {
    if (text[at] == kToDo) return text;
  }
  return "";
}

}  // namespace

FileKind KindOf(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("ib_logfile")) return FileKind::kLog;
  if (name.starts_with("ibtmp") || path.starts_with(std::string(kTemporary) + "/")) {
    return FileKind::kTemp;
  }
  if (name.starts_with("ibdata") || name.starts_with("undo") || name.ends_with(".ibd")) {
    return FileKind::kData;
  }
  return FileKind::kMeta;
}

// The flags are in the system tablespace's first page (fsp0types.h of MariaDB, full_crc32 format):
// the low four bits are log2(page size) - 9.
std::optional<uint32_t> PageSizeOf(const std::string& directory) {
  constexpr std::streamoff kFlags = 54;
  constexpr uint32_t kFullCrc32 = 1 << 4;
  std::ifstream file(directory + kSystemFile, std::ios::binary);
  uint8_t bytes[4];
  if (!file.seekg(kFlags) || !file.read(reinterpret_cast<char*>(bytes), sizeof bytes)) return {};
  const uint32_t flags = uint32_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
  const uint32_t shift = flags & 15;
  if ((flags & kFullCrc32) == 0 || shift < 3 || shift > 7) return {};
  return 512u << shift;
}

std::vector<std::string> SchemaFiles(const std::string& directory) {
  std::vector<std::string> files;
  if (!IsThere(directory)) return files;
  for (const std::string& schema : NamesIn(directory)) {
    if (!IsThere(fmt::format("{}/{}/{}", directory, schema, kSchemaMark))) continue;
    for (const std::string& name : NamesIn(directory + "/" + schema)) {
      // A name with this sign belongs to an ALTER TABLE that did not end.
      const bool of_table = name.find('#') == std::string::npos &&
                            (name.ends_with(kRows) || name.ends_with(kDefinition));
      if (of_table || name == kSchemaMark) files.push_back(schema + "/" + name);
    }
  }
  return files;
}

void CheckFilesThere(const std::string& directory, bool loaded) {
  const std::vector<std::string> files = SchemaFiles(directory);
  const bool has_rows = std::any_of(files.begin(), files.end(),
                                    [](const std::string& f) { return f.ends_with(kRows); });
  const bool has_log = IsThere(directory + kLog);
  if ((loaded || has_rows || has_log) && !IsThere(directory + kSystemFile)) {
    Missing(directory + kSystemFile);
  }
  if (has_rows && !has_log && !IsThere(directory + kNewLog)) Missing(directory + kLog);
  const std::string unfinished = UnfinishedDefinitions(directory);
  for (const std::string& file : files) {
    if (file.ends_with(kSchemaMark)) continue;
    const std::string table = file.substr(0, file.rfind('.'));
    const std::string other =
        fmt::format("{}{}", table, file.ends_with(kRows) ? kDefinition : kRows);
    if (std::find(files.begin(), files.end(), other) != files.end()) continue;
    if (unfinished.find(table.substr(table.find('/') + 1)) != std::string::npos) continue;
    Missing(directory + "/" + other);
  }
}

}  // namespace testbed::mariadb
