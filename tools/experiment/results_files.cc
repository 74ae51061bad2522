#include "tools/experiment/results_files.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <regex>
#include <system_error>

#include "device/error.h"
#include "device/file/input_file.h"
#include "device/machine/scratch.h"
#include "device/os/dir_lock.h"
#include "tools/cache/cache_rehearsal.h"
#include "tools/database/database_files.h"
#include "tools/experiment/results_dir.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr char kHeader[] = "experiment.json";
constexpr char kBegin[] = "{\n \"";  // every file that ResultsDir writes begins with it

std::string FileName(const std::string& name) {
  std::string safe;
  for (char c : name)
    safe += std::isalnum(static_cast<unsigned char>(c)) || c == '=' || c == '.' ? c : '-';
  return fmt::format("{}-{:08x}", safe.substr(0, 120),
                     static_cast<uint32_t>(XXH3_64bits(name.data(), name.size())));
}

constexpr char kLoadKey[] = R"([0-9a-f]{16}(-[1-9][0-9]*(-[0-9a-f]{8})?)?(\.[1-9][0-9]*)?)";
constexpr char kCellFile[] = R"([A-Za-z0-9=.-]{1,120}-[0-9a-f]{8}\.round-[1-9][0-9]*\.json)";

// Returns whether a document, of such a name, is one that an experiment wrote under it.
bool IsDocumentOfOurs(const std::string& folder, const std::string& name, const json& document) {
  if (folder == "rehearsals") return IsKeptRehearsals(name, document);
  if (folder == "hosts") return SchemaOf(document) == kHostSchema;
  if (folder == "claims" && !name.ends_with(".json")) return SchemaOf(document) == kClaimSchema;
  if (!SchemaOf(document).starts_with("testbed-results/")) return false;
  if (folder == "loads") return true;
  // Until it gets its name in loads/, the document of a load is in claims/.
  if (folder == "claims" && IsNameOfOurs("loads", name.substr(0, name.find('.')) + ".json")) {
    return true;
  }
  try {
    const json& cell = document.at("cell");
    const std::string key = CellKeyOf(cell.at("name"), cell.at("round"));
    const bool is_numbered = folder == "set_aside" || folder == "claims";
    return name == key + ".json" || (is_numbered && name.starts_with(key + "."));
  } catch (const json::exception&) {
    return false;
  }
}

// Returns whether the regular file of this name holds a document that an experiment wrote; false
// when the file cannot be read.
bool HoldsDocumentOfOurs(const std::string& folder, const fs::path& file) {
  try {
    return IsDocumentOfOurs(folder, file.filename(), ReadJson(file));
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool MayBeThere(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) || error;
}

json DocumentAt(const std::string& path) {
  if (!MayBeThere(path)) return {};
  InputFile file({.path = path, .name = path, .advice = "restore it from a copy, or remove it"});
  return ParseJson(file.ReadAll());
}

json ReadJson(const std::string& path) {
  json document = DocumentAt(path);
  return document.is_discarded() ? json() : document;
}

std::string SchemaOf(const json& document) {
  const bool has = document.is_object() && document.contains("schema");
  return has && document["schema"].is_string() ? document["schema"].get<std::string>() : "";
}

std::vector<fs::path> EntriesOf(const fs::path& dir) {
  std::vector<fs::path> entries;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(dir, error))) return entries;
  for (fs::directory_iterator at(dir, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(at->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::string CellKeyOf(const std::string& cell, int round) {
  return fmt::format("{}.round-{}", FileName(cell.empty() ? "only" : cell), round);
}

std::string CellFileName(const std::string& cell, int round) {
  return CellKeyOf(cell, round) + ".json";
}

bool IsNameOfOurs(const std::string& folder, const std::string& name) {
  static const auto* const kNames = new std::map<std::string, std::regex>{
      {"cells", std::regex(kCellFile)},
      {"failed", std::regex(kCellFile)},
      {"set_aside",
       std::regex(R"([A-Za-z0-9=.-]{1,120}-[0-9a-f]{8}\.round-[1-9][0-9]*\.[1-9][0-9]*\.json)")},
      {"claims", std::regex(R"(([A-Za-z0-9=.-]{1,120}-[0-9a-f]{8}\.)?round-[1-9][0-9]*)"
                            R"((-[0-9a-f]{8})?((\.[0-9a-f]{16})?\.json)?|)" +
                            std::string(kLoadKey) + R"((\.[0-9a-f]{16}\.json)?|)" + kHeaderClaim)},
      {"loads", std::regex(kLoadKey + std::string(R"(\.json)"))},
      {"hosts", std::regex(R"([A-Za-z0-9._-]{1,120}\.json)")},
      {"logs", std::regex(R"([0-9]+_[0-9]+\.txt)")},
      {"rehearsals", std::regex(R"([0-9a-f]{16}\.json)")}};
  return std::regex_match(name, kNames->at(folder));
}

bool IsPartOfOurs(const std::string& name) {
  static const std::regex* const kPart = new std::regex(R"(testbed-[A-Za-z0-9._-]+-[1-9][0-9]*)");
  return std::regex_match(name, *kPart);
}

bool IsDatabaseOfOurs(const std::string& name) {
  return name == kOwnDatabase || IsNameOfOurs("loads", name + ".json");
}

bool IsFileOfOurs(const std::string& folder, const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error))) return false;
  const std::string name = file.filename(), replaced = ReplacedBy(name);
  if (!IsNameOfOurs(folder, replaced.empty() ? name : replaced)) return false;
  if (folder == "logs") return IsUnfinished(file, kLogBegins);
  if (folder == "claims" && fs::is_empty(file, error)) return true;
  return replaced.empty() ? HoldsDocumentOfOurs(folder, file) : IsUnfinished(file, kBegin);
}

bool IsUnfinishedHeader(const fs::path& file) {
  return ReplacedBy(file.filename()) == kHeader && IsUnfinished(file, kBegin);
}

void RemoveDocuments(const fs::path& dir, const std::string& folder) {
  for (const fs::path& file : EntriesOf(dir / folder)) {
    if (IsFileOfOurs(folder, file)) ::unlink(file.c_str());
  }
  ::rmdir((dir / folder).c_str());
}

void RemoveDatabases(const fs::path& folder) {
  for (const fs::path& entry : EntriesOf(folder)) {
    if (IsDatabaseOfOurs(entry.filename())) RemoveDatabaseDirectory(entry);
    if (!IsPartOfOurs(entry.filename())) continue;
    (void)ScratchDevice::CleanLeftovers(entry);
    RemoveDatabases(entry);
  }
  ::rmdir(folder.c_str());
}

uint64_t BytesOfDatabases(const fs::path& folder) {
  uint64_t bytes = 0;
  for (const fs::path& entry : EntriesOf(folder)) {
    const bool part = IsPartOfOurs(entry.filename());
    if (!part && !IsDatabaseOfOurs(entry.filename())) continue;
    if (!DirLock::Try(entry)) continue;
    bytes += part ? BytesOfDatabases(entry) : BytesOfDatabase(entry);
  }
  return bytes;
}

}  // namespace testbed
