#include "tools/database/database_dir.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/input_file.h"
#include "device/os/foreign_directory.h"
#include "engines/databases.h"
#include "engines/registry.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "workloads/keys/key_set.h"
#include "workloads/keys/key_source.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

void CheckWritable(const fs::path& path) {
  fs::path existing = fs::absolute(path);
  std::error_code error;
  while (!fs::exists(existing, error) && !error && existing.has_parent_path() &&
         existing != existing.parent_path()) {
    existing = existing.parent_path();
  }
  if (error) {
    throw Error(Error::kUsage,
                fmt::format("--dir {}: {} cannot be examined ({}): choose a directory that this "
                            "user may reach",
                            path.string(), existing.string(), error.message()));
  }
  if (!fs::is_directory(existing)) {
    throw Error(Error::kUsage, fmt::format("--dir {}: {} is not a directory; choose another --dir",
                                           path.string(), existing.string()));
  }
  if (::access(existing.c_str(), W_OK | X_OK) != 0) {
    throw Error(
        Error::kUsage,
        fmt::format("--dir {} cannot be written ({}): choose a directory that this user may "
                    "write to",
                    path.string(), errno == EROFS ? "read-only file system" : "no permission"));
  }
}

// Removes the temporary databases of runs that were killed while they tried the engine's options in
// `dir` (TryEngineOptions), before they had made anything else there.
void RemoveTriedDatabases(const std::string& dir) {
  const std::vector<std::string> names = NamesIn(dir);
  const bool all = std::all_of(names.begin(), names.end(), IsTemporaryName);
  if (all && !names.empty()) TemporaryDatabase::CleanLeftovers(dir);
}

// Returns the size and hash of a file's contents; null when `path` is empty. Throws Error (kUsage),
// which calls the file `what`, when it cannot be read. The file may be of any size.
nlohmann::json IdentityOfFile(const std::string& what, const std::string& path) {
  if (path.empty()) return nullptr;
  InputFile file({.path = path, .name = what + " " + path});
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<char> part(1 << 20);
  uint64_t size = 0;
  while (const size_t n = file.Read(part.data(), part.size())) {
    XXH3_64bits_update(state.get(), part.data(), n);
    size += n;
  }
  return {{"size", size}, {"hash", fmt::format("{:016x}", XXH3_64bits_digest(state.get()))}};
}

// Returns the size and hash of the text of the keys of --keys, a file or a set; null when `keys` is
// empty.
nlohmann::json IdentityOfKeys(const std::string& keys) {
  if (keys.empty()) return nullptr;
  const std::shared_ptr<const std::string> text = ReadKeys(keys);
  return {{"size", text->size()}, {"hash", fmt::format("{:016x}", HashOfKeys(*text))}};
}

bool SameKeys(const nlohmann::json& a, const nlohmann::json& b) {
  if (!a.is_object() || !b.is_object()) return a.is_null() && b.is_null();
  const auto same = [&](const char* part) {
    return a.value(part, nlohmann::json()) == b.value(part, nlohmann::json());
  };
  return same("size") && same("hash");
}

std::string KeysText(const nlohmann::json& keys) {
  if (!keys.is_object()) return "keys of no file";
  const auto text = [&](const char* part) {
    const nlohmann::json value = keys.value(part, nlohmann::json());
    return value.is_string() ? value.get<std::string>() : JsonText(value);
  };
  return fmt::format("--keys {} ({} bytes, hash {})", text("name"), text("size"), text("hash"));
}

// Throws Error (kUsage) when the keys are those of one set, which has changed since the load.
void RefuseChangedSet(const nlohmann::json& loaded, const nlohmann::json& now,
                      const std::string& dir) {
  const auto name = [](const nlohmann::json& keys) {
    const nlohmann::json value = keys.is_object() ? keys.value("name", nlohmann::json()) : keys;
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  if (!IsKeySet(name(now)) || name(now) != name(loaded)) return;
  throw Error(Error::kUsage,
              fmt::format("--reuse: the database in {} was loaded with {}, and this set has "
                          "changed since, to {} bytes; load it anew with --fresh, and with a file "
                          "of the keys if they are to stay the same",
                          dir, KeysText(loaded), JsonText(now.at("size"))));
}

// Returns the names of the workloads that run on a database that `loader` made.
std::vector<std::string> WorkloadsOn(const std::string& loader) {
  std::vector<std::string> names;
  for (const WorkloadInfo& info : Workloads()) {
    if ((info.loader.empty() || info.loader == loader) && (!info.loads || info.adds))
      names.push_back(info.name);
  }
  return names;
}

// Returns the size of a value as --value-size takes it: a number, or "10x100" for fields and
// "100-1000" or "column" for several sizes.
nlohmann::json ValueSizeJson(const DatasetOptions& data) {
  if (data.fields == 1 && data.value_sizes == ValueSizes::kOne) return data.value_size;
  return ValueSizesText(data);
}

// Throws Error (kUsage) when the keys of the database in `dir`, whose record is `found`, follow
// from the seed in another way than `expected` says. The settings of both are equal.
void CheckKeyHash(const nlohmann::json& found, const nlohmann::json& expected,
                  const std::string& dir) {
  const nlohmann::json none;
  if (found.value("key_hash", none) == expected.value("key_hash", none)) return;
  throw Error(Error::kUsage,
              fmt::format("--reuse: the database in {} was loaded by another version of testbed, "
                          "which gives rows other keys; load it anew with --fresh",
                          dir));
}

// Throws Error (kCorruption) when a file is missing in `dir` that the record names
// (RecordedTableFiles). They are checked only where the engine recognises a database. Where there
// is none at all, such as on a file system that is not mounted, the engine reports that itself.
void CheckTableFiles(const nlohmann::json& record, const std::string& engine,
                     const std::string& dir) {
  if (!FindEngine(engine).recognises(dir)) return;
  for (const std::string& file : RecordedTableFiles(record)) {
    if (IsThere(dir + "/" + file)) continue;
    throw Error(Error::kCorruption,
                fmt::format("--reuse: file {}/{} is missing: put it back, restore the database "
                            "from a copy, or load it anew with --fresh",
                            dir, file));
  }
}

}  // namespace

DatabaseDir::DatabaseDir(const RunOptions& options) : options_(options), path_(options.dir) {
  if (path_.empty()) {
    path_ = ".";
    CheckNotForeign("the working directory", path_);
    CheckWritable(path_);
    return;
  }
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  CheckOutputPlaces({{"--dir", path_}}, {});
  CheckNotForeign("--dir", path_);
  if (fs::is_directory(path_)) lock_ = DirLock(path_, "--dir");
  if (options.reuse) {
    CheckReuse();
  } else {
    CheckNew();
  }
  CheckWritable(path_);
}

// Throws Error (kUsage) unless a database may be made in path_.
void DatabaseDir::CheckNew() const {
  if (!fs::is_directory(path_)) return;  // CheckWritable refuses a path that is a file
  RemoveTriedDatabases(path_);
  if (HoldsNoDatabaseYet(path_)) return;
  if (!ReadRecord(path_)) {
    throw Error(Error::kUsage,
                fmt::format("--dir {} is not empty and not a database of testbed, which leaves {} "
                            "in it alone; choose another directory",
                            path_, SomeNames(NamesIn(path_))));
  }
  if (!options_.fresh) {
    throw Error(Error::kUsage,
                fmt::format("--dir {} holds a database already; add --reuse to run on "
                            "it or --fresh to load it anew",
                            path_));
  }
}

nlohmann::json DatabaseIdentity(const RunOptions& options, const std::vector<std::string>& loads) {
  const DatasetOptions& data = options.data;
  nlohmann::json settings = nlohmann::json::object();
  std::string trace;  // file of a trace whose rows are loaded; its contents count, not its name
  for (const std::string& load : loads) {
    for (const auto& [name, meaning] : FindWorkload(load).extra_options) {
      const auto given = options.workload.extra.find(name);
      if (given == options.workload.extra.end()) continue;
      if (name == "trace") {
        trace = given->second;
      } else {
        settings[name] = given->second;
      }
    }
  }
  nlohmann::json identity = {
      {"schema", kDatabaseSchema},
      {"workload", fmt::format("{}", fmt::join(loads, ","))},
      {"workload_option", settings},
      {"trace", IdentityOfFile("the trace", trace)},
      {"engine", options.engine_name + (options.release.empty() ? "" : "@" + options.release)},
      {"page_size", options.engine.page_size},
      {"compression", options.engine.compression},
      {"rows", data.rows},
      {"databases", options.databases},
      {"key_size", data.key_size},
      {"value_size", ValueSizeJson(data)},
      {"key_order", KeyOrderName(data.order)},
      {"keys", IdentityOfKeys(data.keys_file)},
      {"compressibility", data.compressibility},
      {"indexes", data.indexes},
      {"seed", data.seed}};
  if (data.order == KeyOrder::kRandom || data.indexes != 0) identity["key_hash"] = kKeyHash;
  return identity;
}

void CheckWorkloadFits(const nlohmann::json& record, const std::string& workload,
                       const std::string& dir) {
  const nlohmann::json recorded = record.value("workload", nlohmann::json());
  const std::string& needed = FindWorkload(workload).loader;
  if (!recorded.is_string() || needed.empty()) return;
  if (recorded == needed) {
    if (!HasOtherSizes(record) || !KnowsRowsOfItsLoader(FindWorkload(workload))) return;
    throw Error(Error::kUsage,
                fmt::format("--reuse: a replay has written rows of its own to the database in {}, "
                            "which --workload {} takes for wrong; load it anew with --fresh",
                            dir, workload));
  }
  const std::string loader = recorded;
  throw Error(
      Error::kUsage,
      fmt::format("--reuse: the database in {} was loaded by {}, and --workload {} needs one that "
                  "{} loaded; give --workload {}, or load it anew with --fresh",
                  dir, loader, workload, needed, fmt::join(WorkloadsOn(loader), " or ")));
}

nlohmann::json DatabaseDir::Record() const {
  std::string loader;  // all workloads need the same one, except those that run on any database
  for (const std::string& name : options_.workloads) {
    if (loader.empty()) loader = FindWorkload(name).loader;
  }
  nlohmann::json settings;  // the load's, which workloads for any database do not have
  if (loader.empty()) {
    const nlohmann::json found = ReadRecord(path_).value_or(nlohmann::json::object());
    loader = found.value("workload", std::string());
    settings = found.value("workload_option", nlohmann::json());
    if (loader.empty()) loader = "insert";
  }
  nlohmann::json record = DatabaseIdentity(options_, {loader});
  if (!settings.is_null()) record["workload_option"] = settings;
  if (!options_.data.keys_file.empty()) record["keys"]["name"] = options_.data.keys_file;
  return record;
}

void DatabaseDir::CheckReuse() {
  if (!fs::exists(path_)) {
    throw Error(Error::kUsage,
                fmt::format("--dir {} does not exist; load a database first, without "
                            "--reuse",
                            path_));
  }
  const std::optional<nlohmann::json> record = ReadRecord(path_);
  if (!record) {
    throw Error(
        Error::kUsage,
        fmt::format("--dir {} holds no database that testbed loaded; load one first, without "
                    "--reuse",
                    path_));
  }
  const nlohmann::json& found = *record;
  if (!found.value("loaded", false)) {
    throw Error(Error::kUsage,
                fmt::format("--dir {} holds a database whose load was not finished; load "
                            "it anew with --fresh",
                            path_));
  }
  const nlohmann::json expected = Record();
  for (const std::string& name : options_.workloads) CheckWorkloadFits(found, name, path_);
  // The keys are compared before their order and number, which follow from the file of keys.
  const nlohmann::json keys = found.value("keys", nlohmann::json());
  if (!SameKeys(keys, expected["keys"])) {
    RefuseChangedSet(keys, expected["keys"], path_);
    throw Error(Error::kUsage,
                fmt::format("--reuse: the database in {} was loaded with {}, not {}; give the "
                            "same --keys or load it anew with --fresh",
                            path_, KeysText(keys), KeysText(expected["keys"])));
  }
  for (const auto& [name, value] : expected.items()) {
    const nlohmann::json theirs = found.value(name, nlohmann::json());
    // A trace that is replayed need not be the one that loaded the rows. The replay says so when
    // its answers are not those of the recording.
    if (name == "keys" || name == "trace" || name == "key_hash" || theirs == value) continue;
    std::string option = name;
    for (char& c : option) c = c == '_' ? '-' : c;
    throw Error(
        Error::kUsage,
        fmt::format("--reuse: the database in {} was loaded with {} {}, not {}; give --{} {} or "
                    "load it anew with --fresh",
                    path_, name, JsonText(theirs), JsonText(value), option, JsonText(theirs)));
  }
  CheckKeyHash(found, expected, path_);
  CheckTableFiles(found, options_.engine_name, engine_path());
  record_ = found;
}

// Makes the directory unless it exists, and locks it for this process.
void DatabaseDir::Take() {
  std::error_code none_yet;
  // The path may be a symbolic link to the directory, so the lock is compared with the real path.
  const fs::path real = fs::canonical(path_, none_yet);
  if (!none_yet && lock_.Leads(real)) return;
  MakeDirectories(path_);
  lock_ = DirLock(path_, "--dir");
  CheckNotForeign("--dir", path_);  // another user may have made it first
  CheckNew();  // another run may have made a database before the lock was taken
}

void DatabaseDir::Remove() {
  if (temporary_) {
    RemoveDatabase(temporary_->held_path(), temporary_->path());
    return;
  }
  if (!ReadRecord(path_)) {  // there is no database to remove
    RemoveUnfinishedRecords(lock_.held_path());
    return;
  }
  TemporaryDatabase::CleanLeftovers(path_);  // left by runs that were killed in TryEngineOptions
  const std::vector<std::string> left = RemoveDatabase(lock_.held_path(), path_);
  if (!left.empty() && !told_what_stays_) {
    fmt::print(stderr, "testbed: {} in --dir {} is not testbed's and stays\n", SomeNames(left),
               path_);
  }
  told_what_stays_ = true;
}

void DatabaseDir::Prepare() {
  if (!options_.dir.empty()) {
    Take();
  } else if (!temporary_) {
    temporary_.emplace(path_);
  }
  Remove();
  record_ = Record();
  record_["engine_options"] = options_.engine.extra;
  record_["loaded"] = false;
  record_["writing_phases"] = uint64_t{0};
  WriteRecord(path(), record_);
  MakeDirectories(engine_path());
}

void DatabaseDir::RecordLoaded() {
  record_["loaded"] = true;
  const std::vector<std::string> files =
      TableFilesIn(FindEngine(options_.engine_name), engine_path());
  if (!files.empty()) record_[kTableFiles] = files;
  WriteRecord(path(), record_);
}

void DatabaseDir::RecordUnloaded() {
  record_["loaded"] = false;
  WriteRecord(path(), record_);
}

std::optional<uint64_t> DatabaseDir::writing_phases() const {
  const nlohmann::json number = record_.value("writing_phases", nlohmann::json());
  return number.is_number_unsigned() ? std::optional(number.get<uint64_t>()) : std::nullopt;
}

bool DatabaseDir::other_sizes() const { return HasOtherSizes(record_); }

void DatabaseDir::RecordOtherSizes(bool other) {
  if (other_sizes() == other) return;
  record_[kOtherSizes] = other;
  WriteRecord(path(), record_);
}

void DatabaseDir::RecordContents(const nlohmann::json& population,
                                 const nlohmann::json& writing_phases) {
  const auto recorded = [this](const char* name) { return record_.value(name, nlohmann::json()); };
  if (recorded("population") == population && recorded("writing_phases") == writing_phases) return;
  record_["population"] = population;
  record_["writing_phases"] = writing_phases;
  WriteRecord(path(), record_);
}

}  // namespace testbed
