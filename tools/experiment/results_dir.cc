#include "tools/experiment/results_dir.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <regex>
#include <thread>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/machine/scratch.h"
#include "device/os/random_id.h"
#include "device/os/signal_guard.h"
#include "tools/database/database_files.h"
#include "tools/experiment/results_files.h"
#include "tools/experiment/verdict/added_rounds.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr char kSchema[] = "testbed-experiment/2";
constexpr char kCutOff[] = "the file is empty, cut off or no JSON";

// Writes a file atomically: after a crash it is complete or does not exist.
void WriteJson(const std::string& path, const json& document) {
  ReplaceFile(path, JsonText(document, 1) + "\n");
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

// Returns the member "cell" of the cell's results document.
json OfCell(const Cell& cell) {
  return {{"name", cell.name},   {"labels", cell.labels}, {"round", cell.round},
          {"block", cell.block}, {"load", cell.load_key}, {"host", NodeName()}};
}

void RemoveUnfinishedHeaders(const std::string& dir) {
  for (const fs::path& file : EntriesOf(dir)) {
    if (IsUnfinishedHeader(file)) ::unlink(file.c_str());
  }
}

// Returns whether the folder is one that a creation makes first, with nothing in it but the claim
// of the process that makes the header now, or was killed then.
bool IsBegunFolder(const fs::path& folder) {
  const std::string name = folder.filename();
  if (name != "cells" && name != "loads" && name != "claims") return false;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(folder, error))) return false;
  const bool is_empty = fs::is_empty(folder, error);
  if (is_empty || error) return !error;
  const std::vector<fs::path> files = EntriesOf(folder);
  return name == "claims" && std::all_of(files.begin(), files.end(), [&](const fs::path& file) {
           return file.filename() == kHeaderClaim && IsFileOfOurs(name, file);
         });
}

// Returns whether the directory holds no more than what a creation has made until now, or an
// interrupted one has left.
bool HoldsNoExperimentYet(const fs::path& dir) {
  const std::vector<fs::path> entries = EntriesOf(dir);
  return std::all_of(entries.begin(), entries.end(), [](const fs::path& entry) {
    return IsBegunFolder(entry) || IsUnfinishedHeader(entry);
  });
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
    if (name.ends_with(".json") || !IsFileOfOurs("claims", file) || Claim::Try(file)) continue;
    throw Error(Error::kUsage,
                fmt::format("--out {} is used by another testbed now ({}), which {}; wait for its "
                            "end or choose another directory",
                            dir, Claim::Holder(file),
                            name == kHeaderClaim ? "begins to run cells" : "runs " + name));
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
  const Claim in_turn = ClaimHeader();
  // A client of a file server may remember names. Reading the directory asks the server anew, so
  // that the header is the one that the process before has written.
  (void)NamesIn(path_);
  Open(e, options);
}

// Waits for the claim on experiment.json, which its holders have for a moment only; that of a host
// that has died may be held for as long as a lease of a file server lasts.
Claim ResultsDir::ClaimHeader() const {
  using std::chrono::milliseconds;
  const std::string file = ClaimFile(kHeaderClaim);
  // A thousand tasks may begin at once. The longer one waits, the less often it asks the server.
  for (milliseconds pause(10);; pause = std::min(2 * pause, milliseconds(640))) {
    if (std::optional<Claim> claim = Claim::Try(file)) return std::move(*claim);
    if (StopRequested()) throw Stopped("while another process changed experiment.json");
    std::this_thread::sleep_for(pause);
  }
}

void ResultsDir::Share() {
  (void)ReadHeader();
  LockShared();
}

void ResultsDir::LockShared() {
  CheckFolders(path_);
  CheckLocksReachHosts(path_);
  share_ = DirShare(path_, "--out");
  shared_ = true;
  for (const char* part : {"/cells", "/claims"}) MakeDirectories(path_ + part);
}

// Returns whether the texts are of one experiment. Their numbers of rounds may differ: rounds may
// be added later, and the header has their number. So may the names of its series, which are those
// of axes of plots and no part of what was measured.
bool AreOneExperiment(const json& text, const json& other) {
  static const std::regex* const kRounds = new std::regex("(^|\n)rounds = [0-9]+(?=\n|$)");
  static const std::regex* const kSeries = new std::regex("\nseries = [^\n]*");
  if (text == other || !text.is_string() || !other.is_string()) return text == other;
  const auto without = [](const json& one) {
    const std::string text_without = std::regex_replace(one.get<std::string>(), *kSeries, "");
    return std::regex_replace(text_without, *kRounds, "$1");
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
  RemoveDatabases(fs::path(path_) / "databases");
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

std::string CellKey(const Cell& cell) { return CellKeyOf(cell.name, cell.round); }

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

bool ResultsDir::NeedsLoad(const std::string& key, const std::string& planned, int round) const {
  if (shared_ && MayBeThere(LoadFile(key))) return true;
  const std::string of_round = fmt::format(".round-{}.json", round);
  for (const fs::path& file : EntriesOf(fs::path(path_) / "cells")) {
    const std::string name = file.filename();
    if (!name.ends_with(of_round) || !IsNameOfOurs("cells", name)) continue;
    const json document = ReadJson(file);
    const json cell = document.is_object() ? document.value("cell", json()) : json();
    if (cell.is_object() && cell.value("load", json(planned)) == json(key)) return true;
  }
  return false;
}

bool ResultsDir::WriteCell(const Cell& cell, json document) const {
  document["cell"] = OfCell(cell);
  const bool counts = !shared_ || Link(CellKey(cell), document, CellFile(cell));
  if (!shared_) WriteJson(CellFile(cell), document);
  // The failure is removed last, because readers ignore a failure beside a finished cell.
  if (HasFailure(cell)) RemoveFile(FailureFile(cell));
  return counts;
}

// Links a file of this process to the name. link(2) never replaces a file: when a host has lost its
// claim without knowing it, the first result counts, and so does the first load of a key.
bool ResultsDir::Link(const std::string& key, const json& document, const std::string& file) const {
  const std::string whole = fmt::format("{}.{:016x}.json", ClaimFile(key), RandomId());
  WriteJson(whole, document);
  const bool counts = LinkFile(whole, file);  // false: the file was there
  ::unlink(whole.c_str());
  SyncParent(file);
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
  // The new name becomes durable before the old one is gone.
  SyncParent(place);
  SyncParent(CellFile(cell));
}

bool ResultsDir::WriteLoad(const std::string& key, const json& document) const {
  if (shared_) return Link(key, document, LoadFile(key));
  WriteJson(LoadFile(key), document);
  return true;
}

Error ResultsDir::Damaged(const Cell& cell, const std::string& why) const {
  return Error(Error::kUsage,
               fmt::format("the results of cell \"{}\", round {}, in {} are damaged: {}; remove {} "
                           "and run the experiment again",
                           cell.name, cell.round, path_, why, CellFile(cell)));
}

json ResultsDir::ReadCell(const Cell& cell) const {
  json document = DocumentAt(CellFile(cell));
  if (document.is_discarded()) throw Damaged(cell, kCutOff);
  return document;
}

json ResultsDir::ReadFailure(const Cell& cell) const {
  json document = DocumentAt(FailureFile(cell));
  if (!document.is_discarded()) return document;
  throw Error(Error::kUsage,
              fmt::format("the results of cell \"{}\", round {}, whose run failed, in {} are "
                          "damaged: {}; remove {}",
                          cell.name, cell.round, path_, kCutOff, FailureFile(cell)));
}

json ResultsDir::ReadLoad(const std::string& key) const {
  json document = DocumentAt(LoadFile(key));
  if (!document.is_discarded()) return document;
  throw Error(Error::kUsage,
              fmt::format("the results of load {} in {} are damaged: {}; remove {} and the files "
                          "in {}/cells that name this load, and run the experiment again",
                          key, path_, kCutOff, LoadFile(key), path_));
}

}  // namespace testbed
