#include "tools/history/history_store.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string_view>

#include "device/error.h"
#include "device/file/input_file.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kSchema = "testbed-history/1";

void CheckName(const char* option, const std::string& name) {
  static const std::regex* const kName = new std::regex(R"([A-Za-z0-9][A-Za-z0-9._/+-]{0,99})");
  if (std::regex_match(name, *kName)) return;
  throw Error(Error::kUsage,
              fmt::format("{} '{}' is no name; give 1 to 100 letters, digits and . _ / + -, "
                          "beginning with a letter or digit",
                          option, name));
}

bool IsEntry(const std::string& file) {
  static const std::regex* const kEntry =
      new std::regex(R"([0-9TZ]{16}-[A-Za-z0-9._+-]{1,12}-[0-9a-f]{16}\.json)");
  return std::regex_match(file, *kEntry);
}

// Returns the names of the entries by the time that they began, with which the names begin.
std::vector<std::string> FilesOf(const std::string& directory, std::error_code* error) {
  std::vector<std::string> files;
  for (fs::directory_iterator at(directory, *error), end; !*error && at != end;
       at.increment(*error)) {
    const std::string name = at->path().filename().string();
    if (IsEntry(name)) files.push_back(name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

HistoryEntry ReadEntry(const std::string& path) {
  const json stored = ParseJson(
      InputFile({.path = path, .name = path, .advice = "remove it, or restore it from a copy"})
          .ReadAll());
  const auto damaged = [&](const std::string& why) {
    return Error(Error::kUsage, fmt::format("{} is damaged, or not of a history of this version: "
                                            "{}; remove it, or restore it from a copy",
                                            path, why));
  };
  if (!stored.is_object()) throw damaged("it is no JSON object");
  try {
    if (stored.at("schema") != kSchema) throw damaged("its schema is another");
    return {stored.at("branch"), stored.at("commit"), stored.at("document")};
  } catch (const json::exception& e) {
    throw damaged(JsonErrorText(e));
  }
}

void WriteEntry(const std::string& path, const HistoryEntry& entry) {
  const json stored = {{"schema", kSchema},
                       {"branch", entry.branch},
                       {"commit", entry.commit},
                       {"document", entry.document}};
  ReplaceFile(path, JsonText(stored) + "\n");
}

// Returns the name of the entry's file. Throws Error (kUsage) when it has no place in a history.
std::string NameFor(const HistoryEntry& entry) {
  CheckName("--branch", entry.branch);
  CheckName("--commit", entry.commit);
  if (!TellsWhen(entry)) {
    throw Error(Error::kUsage,
                "the result does not tell when it was measured (\"started\"), so it "
                "has no place in a history");
  }
  std::string started = entry.started();
  std::erase_if(started, [](char c) { return c == '-' || c == ':'; });
  const std::string document = JsonText(entry.document);
  std::string commit = entry.commit.substr(0, 12);
  std::replace(commit.begin(), commit.end(), '/', '_');
  return fmt::format("{}-{}-{:016x}.json", started, commit,
                     XXH3_64bits(document.data(), document.size()));
}

// Returns whether the entry in the file is of the branch and the commit of `entry`.
bool IsOf(const std::string& path, const HistoryEntry& entry) {
  const HistoryEntry stored = ReadEntry(path);
  return stored.branch == entry.branch && stored.commit == entry.commit;
}

// Returns the end of the name of an entry's file, which is the hash of its document.
std::string_view HashIn(std::string_view file) {
  constexpr size_t kEnd = std::string_view("0123456789abcdef.json").size();
  return file.substr(file.size() - kEnd);
}

}  // namespace

bool TellsWhen(const HistoryEntry& entry) {
  static const std::regex* const kTime =
      new std::regex("[0-9]{4}-?[0-9]{2}-?[0-9]{2}T[0-9]{2}:?[0-9]{2}:?[0-9]{2}Z");
  return std::regex_match(entry.started(), *kTime);
}

size_t HistoryStore::Add(const std::vector<HistoryEntry>& entries) const {
  std::error_code none_yet;
  const std::vector<std::string> there = FilesOf(directory_, &none_yet);
  std::vector<std::string> names;
  std::vector<size_t> missing;  // entries that the store does not have
  for (const HistoryEntry& entry : entries) {
    const std::string name = NameFor(entry);
    const auto same = [&](const std::string& file) { return HashIn(file) == HashIn(name); };
    if (std::any_of(names.begin(), names.end(), same)) {
      throw Error(Error::kUsage,
                  fmt::format("the result of {} is given twice; give each once", entry.started()));
    }
    const auto file = std::find_if(there.begin(), there.end(), same);
    if (file == there.end()) {
      missing.push_back(names.size());
    } else if (!IsOf(directory_ + "/" + *file, entry)) {
      // The same result may not be stored for two commits: for one of them it would be wrong.
      throw AlreadyThere(*file);
    }
    names.push_back(name);
  }
  if (missing.empty() && !entries.empty()) throw AlreadyThere(names[0]);
  MakeOutputDirectory("--store", directory_);
  size_t written = 0;
  try {
    for (; written < missing.size(); ++written) {
      WriteEntry(directory_ + "/" + names[missing[written]], entries[missing[written]]);
    }
  } catch (...) {
    // The entry that failed may be there, too: it has its name before it is durable.
    std::error_code ignored;
    for (size_t i = 0; i <= written; ++i) {
      fs::remove(directory_ + "/" + names[missing[i]], ignored);
    }
    throw;
  }
  return missing.size();
}

Error HistoryStore::AlreadyThere(const std::string& file) const {
  return Error(Error::kUsage, fmt::format("{} has this result already, as {}", directory_, file));
}

std::vector<HistoryEntry> HistoryStore::Read(const std::string& branch) const {
  std::error_code error;
  const std::vector<std::string> files = FilesOf(directory_, &error);
  if (error) {
    throw Error(Error::kUsage,
                fmt::format("--store {} cannot be read ({}); `testbed history add` makes it",
                            directory_, error.message()));
  }
  std::vector<HistoryEntry> entries;
  for (const std::string& file : files) {
    HistoryEntry entry = ReadEntry(directory_ + "/" + file);
    if (entry.branch == branch) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace testbed
