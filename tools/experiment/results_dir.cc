#include "tools/experiment/results_dir.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/input_file.h"
#include "device/machine/scratch.h"
#include "device/os/random_id.h"
#include "tools/cache/cache_rehearsal.h"
#include "tools/database/database_files.h"
#include "tools/experiment/cluster/claim.h"
#include "tools/experiment/cluster/part.h"
#include "tools/experiment/verdict/added_rounds.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr char kSchema[] = "testbed-experiment/2", kHeader[] = "experiment.json";
constexpr char kBegin[] = "{\n \"";  // every file that WriteJson writes begins with it

// Returns whether the file exists; true, too, if that cannot be told, so that its reader fails.
bool MayBeThere(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) || error;
}

// Returns the document in the file; null when there is no such file or it holds no JSON. Throws
// Error (kUsage) when it is no regular file or cannot be read.
json ReadJson(const std::string& path) {
  if (!MayBeThere(path)) return {};
  InputFile file({.path = path, .name = path, .advice = "restore it from a copy, or remove it"});
  json document = ParseJson(file.ReadAll());
  return document.is_discarded() ? json() : document;
}

// Writes a file atomically: after a crash it is complete or does not exist.
void WriteJson(const std::string& path, const json& document) {
  ReplaceFile(path, JsonText(document, 1) + "\n");
}

// Returns the document's "schema"; an empty string when it has none.
std::string SchemaOf(const json& document) {
  const bool has = document.is_object() && document.contains("schema");
  return has && document["schema"].is_string() ? document["schema"].get<std::string>() : "";
}

// Throws json::exception or Error when a field of experiment.json is absent or invalid.
void CheckHeader(const json& header) {
  for (const char* part : {"text", "name", "scale"}) (void)header.at(part).get<std::string>();
  (void)header.value("file", std::string());
  (void)header.at("set").get<OptionMap>();
  for (const json& only : header.at("only").get<std::vector<json>>()) (void)only.get<Where>();
  if (header.contains("split")) (void)header["split"].get<std::vector<std::string>>();
  (void)KeptAutoRam(header);
  const int rounds = header.at("rounds").get<int>();
  (void)LooksOf(header, rounds);
  if (rounds < 1 || rounds > kMaxRounds) {
    throw Error(Error::kUsage, fmt::format("it has {} rounds", rounds));
  }
}

// Returns the entries of a directory in the order of their names; none for a symbolic link.
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

std::string FileName(const std::string& name) {
  std::string safe;
  for (char c : name)
    safe += std::isalnum(static_cast<unsigned char>(c)) || c == '=' || c == '.' ? c : '-';
  return fmt::format("{}-{:08x}", safe.substr(0, 120),
                     static_cast<uint32_t>(XXH3_64bits(name.data(), name.size())));
}

std::string KeyOf(const std::string& cell, int round) {
  return fmt::format("{}.round-{}", FileName(cell.empty() ? "only" : cell), round);
}

std::string CellFileName(const std::string& cell, int round) {
  return KeyOf(cell, round) + ".json";
}

constexpr char kCellFile[] = R"([A-Za-z0-9=.-]{1,120}-[0-9a-f]{8}\.round-[1-9][0-9]*\.json)";

// Returns the member "cell" of the cell's results document.
json OfCell(const Cell& cell) {
  return {{"name", cell.name},   {"labels", cell.labels}, {"round", cell.round},
          {"block", cell.block}, {"load", cell.load_key}, {"host", NodeName()}};
}

// Returns whether an experiment can have written a file of this name in the folder. In earlier
// versions the name of a load's file had no round.
bool IsNameOfOurs(const std::string& folder, const std::string& name) {
  static const auto* const kNames = new std::map<std::string, std::regex>{
      {"cells", std::regex(kCellFile)},
      {"failed", std::regex(kCellFile)},
      {"set_aside",
       std::regex(R"([A-Za-z0-9=.-]{1,120}-[0-9a-f]{8}\.round-[1-9][0-9]*\.[1-9][0-9]*\.json)")},
      {"claims", std::regex(R"(([A-Za-z0-9=.-]{1,120}-[0-9a-f]{8}\.)?round-[1-9][0-9]*)"
                            R"((-[0-9a-f]{8})?((\.[0-9a-f]{16})?\.json)?)")},
      {"loads", std::regex(R"([0-9a-f]{16}(-[1-9][0-9]*(-[0-9a-f]{8})?)?\.json)")},
      {"hosts", std::regex(R"([A-Za-z0-9._-]{1,120}\.json)")},
      {"logs", std::regex(R"([0-9]+_[0-9]+\.txt)")},
      {"rehearsals", std::regex(R"([0-9a-f]{16}\.json)")}};
  return std::regex_match(name, kNames->at(folder));
}

// Returns whether a document, of such a name, is one that an experiment wrote under it.
bool IsDocumentOfOurs(const std::string& folder, const std::string& name, const json& document) {
  if (folder == "rehearsals") return IsKeptRehearsals(name, document);
  if (folder == "hosts") return SchemaOf(document) == kHostSchema;
  if (folder == "claims" && !name.ends_with(".json")) return SchemaOf(document) == kClaimSchema;
  if (!SchemaOf(document).starts_with("testbed-results/")) return false;
  if (folder == "loads") return true;
  try {
    const json& cell = document.at("cell");
    const std::string key = KeyOf(cell.at("name"), cell.at("round"));
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

// Returns whether the file is an experiment's: a document, or what a killed process left of one.
bool IsOurs(const std::string& folder, const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error))) return false;
  const std::string name = file.filename(), replaced = ReplacedBy(name);
  if (!IsNameOfOurs(folder, replaced.empty() ? name : replaced)) return false;
  if (folder == "logs") return IsUnfinished(file, kLogBegins);
  if (folder == "claims" && fs::is_empty(file, error)) return true;
  return replaced.empty() ? HoldsDocumentOfOurs(folder, file) : IsUnfinished(file, kBegin);
}

// Returns whether the file in the directory is what a killed process left of an experiment.json.
bool IsUnfinishedHeader(const fs::path& file) {
  return ReplacedBy(file.filename()) == kHeader && IsUnfinished(file, kBegin);
}

void RemoveUnfinishedHeaders(const std::string& dir) {
  for (const fs::path& file : EntriesOf(dir)) {
    if (IsUnfinishedHeader(file)) ::unlink(file.c_str());
  }
}

// Returns whether the directory holds no more than what an interrupted creation has left.
bool HoldsNoExperimentYet(const fs::path& dir) {
  const std::vector<fs::path> entries = EntriesOf(dir);
  return std::all_of(entries.begin(), entries.end(), [](const fs::path& entry) {
    const bool is_folder =
        entry.filename() == "cells" || entry.filename() == "loads" || entry.filename() == "claims";
    std::error_code error;
    return (is_folder && fs::is_directory(fs::symlink_status(entry, error)) &&
            fs::is_empty(entry, error) && !error) ||
           IsUnfinishedHeader(entry);
  });
}

// Removes an experiment's files in a folder, and the folder when it is empty then.
void RemoveDocuments(const fs::path& dir, const std::string& folder) {
  for (const fs::path& file : EntriesOf(dir / folder)) {
    if (IsOurs(folder, file)) ::unlink(file.c_str());
  }
  ::rmdir((dir / folder).c_str());
}

// Throws Error (kUsage) when a folder is a symbolic link: its files would lie elsewhere.
void CheckFolders(const std::string& dir) {
  for (const char* folder : kResultsFolders) {
    std::error_code none_yet;
    if (!fs::is_symlink(fs::symlink_status(fs::path(dir) / folder, none_yet))) continue;
    throw Error(Error::kUsage, fmt::format("{}/{} in --out is a symbolic link, which testbed did "
                                           "not make; remove it or choose another directory",
                                           dir, folder));
  }
}

// Throws Error (kUsage) when a process of another host, which a lock does not reach, holds a claim.
void CheckUnclaimed(const std::string& dir) {
  for (const fs::path& file : EntriesOf(fs::path(dir) / "claims")) {
    const std::string name = file.filename();
    if (name.ends_with(".json") || !IsOurs("claims", file) || Claim::Try(file)) continue;
    throw Error(Error::kUsage,
                fmt::format("--out {} is used by another testbed now ({}), which runs {}; wait for "
                            "its end or choose another directory",
                            dir, Claim::Holder(file), name));
  }
}

// Throws Error (kUsage) when the directory holds something, but no experiment.
void CheckTakesResults(const std::string& path, bool beside_others) {
  // experiment.json is looked for last, because another process may make it meanwhile.
  const bool is_new = !fs::exists(path) || (fs::is_directory(path) && HoldsNoExperimentYet(path));
  if (beside_others || is_new || MayBeThere(path + "/experiment.json")) return;
  throw Error(Error::kUsage, fmt::format("--out {} is not empty and holds no experiment; choose "
                                         "another directory",
                                         path));
}

json Settings(const Experiment& e, const PlanOptions& options) {
  return {{"scale", options.scale},         {"set", options.set},
          {"rounds", RoundsOf(e, options)}, {"split", options.split},
          {"auto_ram", AutoRam(options)},   {"text", e.text}};
}

}  // namespace

bool ResultsDir::Exists() const { return MayBeThere(path_ + "/experiment.json"); }

void ResultsDir::Create(const Experiment& e, const PlanOptions& options, bool beside_others) {
  CheckTakesResults(path_, beside_others);
  MakeOutputDirectory("--out", path_);
  CheckFolders(path_);
  lock_ = DirLock();  // releases the lock of an earlier call
  lock_ = DirLock(path_, "--out");
  CheckUnclaimed(path_);
  Open(e, options);
}

void ResultsDir::CreateShared(const Experiment& e, const PlanOptions& options, bool beside_others) {
  CheckTakesResults(path_, beside_others);
  MakeOutputDirectory("--out", path_);
  LockShared();
  // Processes that share the directory take turns to make or change experiment.json.
  const DirShare in_turn = DirShare::InTurn(path_ + "/cells");
  Open(e, options);
}

void ResultsDir::Share() {
  (void)ReadHeader();
  LockShared();
}

void ResultsDir::LockShared() {
  CheckFolders(path_);
  share_ = DirShare(path_, "--out");
  shared_ = true;
  for (const char* part : {"/cells", "/claims"}) MakeDirectories(path_ + part);
}

// Returns whether the texts are of one experiment. Their numbers of rounds may differ: rounds may
// be added later, and the header has their number.
bool AreOneExperiment(const json& text, const json& other) {
  static const std::regex* const kRounds = new std::regex("(^|\n)rounds = [0-9]+(?=\n|$)");
  if (text == other || !text.is_string() || !other.is_string()) return text == other;
  const auto without = [](const json& one) {
    return std::regex_replace(one.get<std::string>(), *kRounds, "$1");
  };
  return without(text) == without(other);
}

// Makes experiment.json, or checks the one that is there and adds to it.
void ResultsDir::Open(const Experiment& e, const PlanOptions& options) {
  const json wanted = Settings(e, options);
  if (Exists()) {
    json found = ReadHeader();
    for (const char* part : {"text", "scale", "set", "split"}) {
      const json before = found.value(part, std::string(part) == "split" ? json::array() : json());
      const bool text = std::string(part) == "text";
      if (text ? AreOneExperiment(before, wanted[part]) : before == wanted[part]) continue;
      throw Error(
          Error::kUsage,
          fmt::format(
              "--out {} holds results of {}; choose another directory, or --fresh to "
              "begin anew",
              path_,
              text ? "another experiment or version of it" : fmt::format("another --{}", part)));
    }
    const json before = found;
    RaiseRounds(wanted["rounds"].get<int>(), path_ + "/cells", &found);
    const auto& known = found["only"];
    if (std::find(known.begin(), known.end(), json(options.only)) == known.end()) {
      found["only"].push_back(options.only);
    }
    if (found != before) WriteJson(path_ + "/experiment.json", found);
    return;
  }
  RemoveUnfinishedHeaders(path_);
  for (const char* part : {"/cells", "/loads"}) MakeDirectories(path_ + part);
  json header = wanted;
  header["schema"] = kSchema;
  header["testbed"] = TESTBED_VERSION;
  header["name"] = e.name;
  if (!e.file.empty()) header["file"] = e.file;
  header["only"] = {options.only};
  WriteJson(path_ + "/experiment.json", header);
}

void ResultsDir::Remove() const {
  if (!SchemaOf(ReadJson(path_ + "/experiment.json")).starts_with("testbed-experiment/")) {
    throw Error(Error::kUsage, path_ + " holds no results of an experiment");
  }
  CheckOutputDirectory("--out", path_);
  CheckFolders(path_);
  const DirLock unused(path_, "--out");
  CheckUnclaimed(path_);
  for (const char* folder : kResultsFolders) {
    if (folder != std::string("databases")) RemoveDocuments(path_, folder);
  }
  RemoveDatabasesIn(path_ + "/databases");
  for (const std::string& sentence : ScratchDevice::CleanLeftovers(path_)) {
    fmt::print(stderr, "testbed: {}\n", sentence);
  }
  // The header is removed last: without it, the remaining files would not count as testbed's.
  RemoveUnfinishedHeaders(path_);
  ::unlink((path_ + "/experiment.json").c_str());
  std::vector<std::string> left;
  for (const fs::path& entry : EntriesOf(path_)) left.push_back(entry.filename());
  if (!left.empty()) {
    fmt::print(stderr, "testbed: {} in --out {} is not testbed's and stays\n", SomeNames(left),
               path_);
  }
}

json ResultsDir::ReadHeader() const {
  const json header = ReadJson(path_ + "/experiment.json");
  const std::string schema = SchemaOf(header);
  if (schema == "testbed-experiment/1") {
    throw Error(Error::kUsage,
                path_ +
                    " holds results of an earlier version, without rounds and parts; run the "
                    "experiment again in another directory");
  }
  if (schema != kSchema) {
    throw Error(Error::kUsage, path_ + " holds no results of an experiment");
  }
  const auto damaged = [this](const std::string& why) {
    return Error(Error::kUsage, fmt::format("{}/experiment.json is damaged: {}; run the experiment "
                                            "again in another directory",
                                            path_, why));
  };
  try {
    CheckHeader(header);
  } catch (const json::exception& e) {
    throw damaged(JsonErrorText(e));
  } catch (const Error& e) {
    throw damaged(e.what());
  }
  return header;
}

std::string CellKey(const Cell& cell) { return KeyOf(cell.name, cell.round); }

std::optional<uint64_t> KeptAutoRam(const json& header) {
  if (!header.contains("auto_ram")) return std::nullopt;
  return header["auto_ram"].get<uint64_t>();
}

std::string LoadKeyOf(const Cell& cell, const json& document) {
  const json of_cell = document.value("cell", json::object());
  if (!of_cell.contains("load")) return cell.load_key;
  const std::string key = of_cell.at("load");
  // The key becomes part of a path, which a document from elsewhere must not lead out of loads/.
  return IsNameOfOurs("loads", key + ".json") ? key : "";
}

std::string ResultsDir::CellFile(const Cell& cell) const {
  return path_ + "/cells/" + CellFileName(cell.name, cell.round);
}
std::string ResultsDir::LoadFile(const std::string& key) const {
  return path_ + "/loads/" + key + ".json";
}
std::string ResultsDir::FailureFile(const Cell& cell) const {
  return path_ + "/failed/" + CellFileName(cell.name, cell.round);
}
bool ResultsDir::HasCell(const Cell& cell) const { return MayBeThere(CellFile(cell)); }
bool ResultsDir::HasFailure(const Cell& cell) const { return MayBeThere(FailureFile(cell)); }

bool ResultsDir::WriteCell(const Cell& cell, json document) const {
  document["cell"] = OfCell(cell);
  const bool counts = !shared_ || LinkCell(cell, document);
  if (!shared_) WriteJson(CellFile(cell), document);
  // The failure is removed last, because readers ignore a failure beside a finished cell.
  if (HasFailure(cell)) RemoveFile(FailureFile(cell));
  return counts;
}

// Links a file of this process to the cell's name. link(2) never replaces a file: when a host has
// lost its claim without knowing it, the first result counts.
bool ResultsDir::LinkCell(const Cell& cell, const json& document) const {
  const std::string whole = fmt::format("{}.{:016x}.json", ClaimFile(CellKey(cell)), RandomId());
  WriteJson(whole, document);
  const bool counts = LinkFile(whole, CellFile(cell));  // false: the cell's file was there
  ::unlink(whole.c_str());
  SyncParent(CellFile(cell));
  return counts;
}

std::string ResultsDir::WriteFailure(const Cell& cell, json document) const {
  document["cell"] = OfCell(cell);
  MakeDirectories(path_ + "/failed");
  WriteJson(FailureFile(cell), document);
  return FailureFile(cell);
}

void ResultsDir::SetAside(const Cell& cell) const {
  MakeDirectories(path_ + "/set_aside");
  std::string place;
  for (int n = 1; place.empty() || MayBeThere(place); ++n) {
    place = fmt::format("{}/set_aside/{}.{}.json", path_, CellKey(cell), n);
  }
  RenameFile(CellFile(cell), place);
  SyncParent(CellFile(cell));
}

void ResultsDir::WriteLoad(const std::string& key, const json& document) const {
  WriteJson(LoadFile(key), document);
}
json ResultsDir::ReadCell(const Cell& cell) const { return ReadJson(CellFile(cell)); }
json ResultsDir::ReadFailure(const Cell& cell) const { return ReadJson(FailureFile(cell)); }
json ResultsDir::ReadLoad(const std::string& key) const { return ReadJson(LoadFile(key)); }

}  // namespace testbed
