#include "tools/maintenance/maintained_database.h"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "device/account/operations.h"
#include "device/file/directory.h"
#include "engines/disk_size.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

uint64_t AllBytes(const BytesByName& sizes) {
  uint64_t sum = 0;
  for (const auto& [name, bytes] : sizes) sum += bytes;
  return sum;
}

std::set<std::string> NamesOfBoth(const MaintainedDatabase& database) {
  std::set<std::string> names;
  for (const auto& [name, bytes] : database.before) names.insert(name);
  for (const auto& [name, bytes] : database.after) names.insert(name);
  return names;
}

nlohmann::json FilesJson(const MaintainedDatabase& database) {
  nlohmann::json files = nlohmann::json::array();
  for (const std::string& name : NamesOfBoth(database)) {
    nlohmann::json file = {{"name", name}};
    const auto before = database.before.find(name), after = database.after.find(name);
    if (before != database.before.end()) file["bytes_before"] = before->second;
    if (after != database.after.end()) file["bytes_after"] = after->second;
    files.push_back(std::move(file));
  }
  return files;
}

nlohmann::json CountsJson(const std::array<FileCounts, kFileKinds>& counts) {
  nlohmann::json by_kind = nlohmann::json::object();
  for (size_t kind = 0; kind < kFileKinds; ++kind) {
    const FileCounts& c = counts[kind];
    if (c.reads + c.writes + c.syncs == 0) continue;
    by_kind[FileKindName(static_cast<FileKind>(kind))] = {{"reads", c.reads},
                                                          {"read_bytes", c.read_bytes},
                                                          {"writes", c.writes},
                                                          {"write_bytes", c.write_bytes},
                                                          {"syncs", c.syncs}};
  }
  return by_kind;
}

}  // namespace

BytesByName BytesOnDisk(const std::string& dir) {
  BytesByName bytes;
  for (const std::string& name : NamesIn(dir)) {
    const auto is_in = [&name](const std::string& file) {
      return file == name || file.starts_with(name + "/");
    };
    bytes[name] = DiskSizeOf(dir, is_in).log_bytes;
  }
  return bytes;
}

uint64_t LengthOfFiles(const std::string& dir) {
  uint64_t length = 0;
  for (const std::string& name : NamesIn(dir)) {
    const std::string path = dir + "/" + name;
    std::error_code gone;
    if (!std::filesystem::is_regular_file(path, gone)) continue;
    const uint64_t bytes = std::filesystem::file_size(path, gone);
    if (!gone) length += bytes;
  }
  return length;
}

std::array<FileCounts, kFileKinds> CountsByKind(const LedgerCounts& counts) {
  std::array<FileCounts, kFileKinds> sums{};
  for (const LedgerCounts::Op& op : counts.ops) {
    for (size_t kind = 0; kind < kFileKinds; ++kind) sums[kind] += op.file[kind];
  }
  return sums;
}

std::string MaintainedText(const MaintainedDatabase& database, const std::string& what,
                           const std::vector<std::string>& columns) {
  Table table(fmt::format("{}: {}, {} in {:.2f} s; bytes on disk", database.path,
                          database.engine->name, what, database.seconds),
              columns);
  const auto cell = [](const BytesByName& sizes, const std::string& name) {
    const auto found = sizes.find(name);
    return found == sizes.end() ? std::string("-") : Count(found->second);
  };
  for (const std::string& name : NamesOfBoth(database)) {
    table.Row({name, cell(database.before, name), cell(database.after, name)});
  }
  table.Row({"sum", Count(AllBytes(database.before)), Count(AllBytes(database.after))});
  return table.Text();
}

nlohmann::json MaintainedJson(const MaintainedDatabase& database) {
  nlohmann::json entry = {{"path", database.path},
                          {"engine", database.engine->name},
                          {"engine_version", database.engine->version},
                          {"seconds", database.seconds},
                          {"bytes_before", AllBytes(database.before)},
                          {"bytes_after", AllBytes(database.after)},
                          {"files", FilesJson(database)}};
  if (!database.copy.empty()) entry["copy"] = database.copy;
  // The IO of an engine that bypasses testbed's file layer is not known.
  if (database.engine->capabilities.file_layer) {
    entry["file_by_kind"] = CountsJson(database.counts);
  }
  return entry;
}

}  // namespace testbed
