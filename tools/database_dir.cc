#include "tools/database_dir.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "device/error.h"
#include "device/file.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
constexpr char kRecord[] = "testbed.json";

bool IsEmpty(const fs::path& dir) { return fs::is_directory(dir) && fs::is_empty(dir); }

void CheckWritable(const fs::path& path) {
  fs::path existing = fs::absolute(path);
  while (!fs::exists(existing) && existing.has_parent_path() &&
         existing != existing.parent_path()) {
    existing = existing.parent_path();
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

// Size and hash of a file's contents; null without one.
nlohmann::json IdentityOfFile(const std::string& path) {
  if (path.empty()) return nullptr;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(Error::kUsage, fmt::format("--keys {} cannot be read", path));
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return {{"size", text.size()},
          {"hash", fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()))}};
}

bool SameKeys(const nlohmann::json& a, const nlohmann::json& b) {
  if (!a.is_object() || !b.is_object()) return a.is_null() && b.is_null();
  return a.value("size", 0ull) == b.value("size", 0ull) &&
         a.value("hash", std::string()) == b.value("hash", std::string());
}

std::string KeysText(const nlohmann::json& keys) {
  if (!keys.is_object()) return "keys of no file";
  return fmt::format("--keys {} ({} bytes, hash {})", keys.value("name", "?"),
                     keys.value("size", 0ull), keys.value("hash", "?"));
}

}  // namespace

DatabaseDir::DatabaseDir(const RunOptions& options)
    : options_(options),
      path_(options.dir),
      temporary_(options.dir.empty()),
      owner_(static_cast<int>(::getpid())) {
  if (temporary_) {
    path_ = fmt::format("testbed-{}.tmp", owner_);
    CheckWritable(path_);
    return;
  }
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  if (fs::is_directory(path_)) lock_ = DirLock(path_, "--dir");
  const bool ours = fs::exists(fs::path(path_) / kRecord);
  if (options.reuse) {
    CheckReuse();
  } else if (fs::exists(path_) && !IsEmpty(path_)) {
    if (!ours) {
      throw Error(
          Error::kUsage,
          fmt::format("--dir {} is not empty and not a database of testbed, which leaves it "
                      "alone; choose another directory",
                      path_));
    }
    if (!options.fresh) {
      throw Error(Error::kUsage,
                  fmt::format("--dir {} holds a database already; add --reuse to run on "
                              "it or --fresh to load it anew",
                              path_));
    }
  }
  CheckWritable(path_);
}

DatabaseDir::~DatabaseDir() {
  if (!temporary_ || static_cast<int>(::getpid()) != owner_) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> DatabaseDir::CleanLeftovers(const std::string& directory) {
  std::vector<std::string> done;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    int pid = 0, end = 0;
    const std::string name = entry.path().filename().string();
    if (std::sscanf(name.c_str(), "testbed-%d.tmp%n", &pid, &end) != 1 ||
        name.size() != static_cast<size_t>(end)) {
      continue;
    }
    if (!fs::exists(entry.path() / kRecord) || ::kill(pid, 0) == 0 || errno != ESRCH) continue;
    fs::remove_all(entry.path(), error);
    if (!error)
      done.push_back("removed " + entry.path().string() +
                     ", the database of a run that was killed");
  }
  return done;
}

nlohmann::json DatabaseIdentity(const RunOptions& options, const std::vector<std::string>& loads) {
  const DatasetOptions& data = options.data;
  nlohmann::json settings = nlohmann::json::object();
  for (const std::string& load : loads) {
    for (const auto& [name, meaning] : FindWorkload(load).extra_options) {
      const auto given = options.workload.extra.find(name);
      if (given != options.workload.extra.end()) settings[name] = given->second;
    }
  }
  return {{"schema", "testbed-database/1"},
          {"workload", fmt::format("{}", fmt::join(loads, ","))},
          {"workload_option", settings},
          {"engine", options.engine_name},
          {"page_size", options.engine.page_size},
          {"compression", options.engine.compression},
          {"rows", data.rows},
          {"databases", options.databases},
          {"key_size", data.key_size},
          {"value_size", data.value_size},
          {"key_order", KeyOrderName(data.order)},
          {"keys", IdentityOfFile(data.keys_file)},
          {"compressibility", data.compressibility},
          {"indexes", data.indexes},
          {"seed", data.seed}};
}

nlohmann::json DatabaseDir::Record() const {
  nlohmann::json record =
      DatabaseIdentity(options_, {FindWorkload(options_.workloads[0]).loader});
  if (!options_.data.keys_file.empty()) record["keys"]["name"] = options_.data.keys_file;
  return record;
}

void DatabaseDir::CheckReuse() {
  const fs::path file = fs::path(path_) / kRecord;
  if (!fs::exists(path_)) {
    throw Error(Error::kUsage,
                fmt::format("--dir {} does not exist; load a database first, without "
                            "--reuse",
                            path_));
  }
  std::ifstream in(file);
  const nlohmann::json found = nlohmann::json::parse(in, nullptr, false);
  if (!in || found.is_discarded() || !found.is_object()) {
    throw Error(
        Error::kUsage,
        fmt::format("--dir {} holds no database that testbed loaded; load one first, without "
                    "--reuse",
                    path_));
  }
  if (!found.value("loaded", false)) {
    throw Error(Error::kUsage,
                fmt::format("--dir {} holds a database whose load was not finished; load "
                            "it anew with --fresh",
                            path_));
  }
  const nlohmann::json expected = Record();
  // Before the order and the number of keys, which follow from the file.
  const nlohmann::json keys = found.value("keys", nlohmann::json());
  if (!SameKeys(keys, expected["keys"])) {
    throw Error(Error::kUsage,
                fmt::format("--reuse: the database in {} was loaded with {}, not {}; give the "
                            "same --keys or load it anew with --fresh",
                            path_, KeysText(keys), KeysText(expected["keys"])));
  }
  for (const auto& [name, value] : expected.items()) {
    const nlohmann::json theirs = found.value(name, nlohmann::json());
    if (name == "keys" || theirs == value) continue;
    std::string option = name;
    for (char& c : option) c = c == '_' ? '-' : c;
    throw Error(
        Error::kUsage,
        fmt::format("--reuse: the database in {} was loaded with {} {}, not {}; give --{} {} or "
                    "load it anew with --fresh",
                    path_, name, theirs.dump(), value.dump(), option, theirs.dump()));
  }
  record_ = found;
}

void DatabaseDir::Remove() {
  // Only what testbed made: the engine's folder and the record.
  std::error_code error;
  fs::remove_all(engine_path(), error);
  if (!error) fs::remove(fs::path(path_) / kRecord, error);
  if (error) throw Error::Io("remove", path_, error.value());
}

void DatabaseDir::Prepare() {
  Remove();
  std::error_code error;
  fs::create_directories(engine_path(), error);
  if (error) throw Error::Io("create", engine_path(), error.value());
  lock_ = DirLock();
  lock_ = DirLock(path_, "--dir");
  record_ = Record();
  record_["loaded"] = false;
  WriteRecord();
}

void DatabaseDir::RecordLoaded() {
  record_["loaded"] = true;
  WriteRecord();
}

void DatabaseDir::RecordPopulation(const nlohmann::json& population) {
  if (this->population() == population) return;
  record_["population"] = population;
  WriteRecord();
}

// Replaces the record, so that after a power cut it is the old or the new one. What is done to the
// database next may rely on it.
void DatabaseDir::WriteRecord() const {
  const std::string file = fs::path(path_) / kRecord, temporary = file + ".new";
  {
    const std::string text = record_.dump(2) + "\n";
    const auto out = File::Open(temporary, {.create = FileOptions::kTruncate});
    out->Write(0, text.data(), text.size());
    out->Sync(true);
  }
  fs::rename(temporary, file);
  SyncDirectory(path_);
}

}  // namespace testbed
