#include "engines/sql/mariadb_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "device/error.h"
#include "device/file/directory.h"

namespace testbed::mariadb {
namespace {

constexpr char kSystemFile[] = "/ibdata1", kLog[] = "/ib_logfile0";
constexpr char kNewLog[] = "/ib_logfile101";  // name of a new log until it is complete
constexpr char kSchemaMark[] = "db.opt";

[[noreturn]] void Missing(const std::string& path) {
  throw Error(Error::kCorruption,
              fmt::format("file {} is missing: put it back, restore the database from a copy, or "
                          "load it anew with --fresh",
                          path));
}

// Returns the content of the log of definitions if the server was ended before it had completed a
// change of a table, and otherwise an empty string. The first byte of a block says whether its
// change is still to be done (ddl_log.h of MariaDB, DDL_LOG_EXECUTE_CODE).
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

// Returns the big-endian number at an offset of a file; nothing when the file is shorter.
std::optional<uint32_t> NumberIn(const std::string& path, std::streamoff offset) {
  std::ifstream file(path, std::ios::binary);
  uint8_t bytes[4];
  if (!file.seekg(offset) || !file.read(reinterpret_cast<char*>(bytes), sizeof bytes)) return {};
  return uint32_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

}  // namespace

FileKind KindOf(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("ib_logfile")) return FileKind::kLog;
  if (path.starts_with(std::string(kBinaryLog) + ".")) return FileKind::kBinaryLog;
  if (name.starts_with("ibtmp") || path.starts_with(std::string(kTemporary) + "/")) {
    return FileKind::kTemp;
  }
  if (name.starts_with("ibdata") || name.starts_with("undo") || name.ends_with(kRowsEnd)) {
    return FileKind::kData;
  }
  return FileKind::kMeta;
}

// The flags are in the system tablespace's first page (fsp0types.h of MariaDB). In the format
// full_crc32 the low four bits are log2(page size) - 9. In the older format the four bits from bit
// 6 on are, or are 0 for pages of 16k. The fields below these bits are 0 in this tablespace, which
// is not compressed.
std::optional<uint32_t> PageSizeOf(const std::string& directory) {
  constexpr std::streamoff kTypes = 24, kFlags = 54;
  constexpr uint32_t kFullCrc32 = 1 << 4, kOf16k = 5, kHeaderPage = 8;
  const std::optional<uint32_t> types = NumberIn(directory + kSystemFile, kTypes);
  const std::optional<uint32_t> flags = NumberIn(directory + kSystemFile, kFlags);
  if (!flags || !types || (*types >> 16) != kHeaderPage) return {};  // the page was not written yet
  const uint32_t old = (*flags >> 6) & 15;
  const uint32_t shift = (*flags & kFullCrc32) != 0 ? *flags & 15 : old == 0 ? kOf16k : old;
  if (shift < 3 || shift > 7) return {};
  return 512u << shift;
}

// A log begins with the number of its format (log0log.h of MariaDB). The number's highest bit says
// that the log is encrypted. InnoDB 5.6 had 0 there, and blanks in the field where a backup tool
// writes its name.
unsigned LogVersionOf(const std::string& directory) {
  constexpr uint32_t kEncrypted = 1u << 31, kBlanks = 0x20202020;
  constexpr std::streamoff kCreator = 16;
  const std::optional<uint32_t> format = NumberIn(directory + kLog, 0);
  if (!format) return 0;
  if (*format == 0) return NumberIn(directory + kLog, kCreator) == kBlanks ? 100100 : 0;
  switch (*format & ~kEncrypted) {
    case 1:
      return 100200;
    case 103:
      return 100300;
    case 104:
      return 100400;
    case 0x50485953:  // "PHYS"
      return 100500;
    case 0x50687973:  // "Phys"
      return 100800;
    default:
      return 0;
  }
}

std::vector<std::string> SchemaFiles(const std::string& directory) {
  std::vector<std::string> files;
  if (!IsThere(directory)) return files;
  for (const std::string& schema : NamesIn(directory)) {
    if (!IsThere(fmt::format("{}/{}/{}", directory, schema, kSchemaMark))) continue;
    for (const std::string& name : NamesIn(directory + "/" + schema)) {
      // The name of a table with this sign belongs to an ALTER TABLE that did not end.
      const bool of_table = name.find('#') == std::string::npos &&
                            (name.ends_with(kRowsEnd) || name.ends_with(kDefinitionEnd));
      if (of_table || name == kSchemaMark) files.push_back(schema + "/" + name);
    }
  }
  return files;
}

void CheckFilesThere(const std::string& directory, bool loaded, int log_files) {
  const std::vector<std::string> files = SchemaFiles(directory);
  const bool has_rows = std::any_of(files.begin(), files.end(),
                                    [](const std::string& f) { return f.ends_with(kRowsEnd); });
  const bool has_log = IsThere(directory + kLog);
  if ((loaded || has_rows || has_log) && !IsThere(directory + kSystemFile)) {
    Missing(directory + kSystemFile);
  }
  if (has_rows && !has_log && !IsThere(directory + kNewLog)) Missing(directory + kLog);
  for (int i = 1; i < log_files && has_log; ++i) {
    const std::string path = fmt::format("{}/ib_logfile{}", directory, i);
    if (!IsThere(path)) Missing(path);
  }
  const std::string unfinished = UnfinishedDefinitions(directory);
  for (const std::string& file : files) {
    if (file.ends_with(kSchemaMark)) continue;
    const std::string table = file.substr(0, file.rfind('.'));
    const std::string other =
        fmt::format("{}{}", table, file.ends_with(kRowsEnd) ? kDefinitionEnd : kRowsEnd);
    if (std::find(files.begin(), files.end(), other) != files.end()) continue;
    if (unfinished.find(table.substr(table.find('/') + 1)) != std::string::npos) continue;
    Missing(directory + "/" + other);
  }
}

}  // namespace testbed::mariadb
