#include "tools/maintenance/closed_database.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <utility>

#include "device/error.h"
#include "device/os/foreign_directory.h"
#include "engines/registry.h"
#include "tools/database/database_files.h"
#include "tools/options.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string NamedDirectory(const DatabaseArguments& arguments, const std::string& command) {
  if (!arguments.dir.empty() && !arguments.dir_option.empty()) {
    throw Error(Error::kUsage, fmt::format("testbed {} takes DIR or --dir, and got both; leave one "
                                           "out",
                                           command));
  }
  const std::string dir = arguments.dir.empty() ? arguments.dir_option : arguments.dir;
  if (dir.empty()) {
    throw Error(Error::kUsage, fmt::format("testbed {0} needs DIR (directory of the database); see "
                                           "`testbed {0} --help`",
                                           command));
  }
  return dir;
}

InspectedDir Inspected(const DatabaseArguments& arguments, const std::string& dir,
                       const std::string& command, const InspectedDir::Door& door) {
  const std::string& name = arguments.engine;
  if (!name.empty() && !door(FindKnownEngine(name))) {
    throw Error(Error::kUsage,
                fmt::format("--engine {}: testbed {} does not know its databases; it knows those "
                            "of {}",
                            name, command, EnginesThrough(door)));
  }
  CheckNotForeign(arguments.dir.empty() ? "--dir" : "DIR", dir);
  InspectedDir found(dir, command, door);
  for (const InspectedDir::Database& database : found.databases()) {
    if (name.empty() || database.engine->name == name) continue;
    throw Error(Error::kUsage,
                fmt::format("--engine {}: directory {} holds a database of {}; "
                            "leave --engine out, or give {}",
                            name, database.path, database.engine->name, database.engine->name));
  }
  return found;
}

std::string TextIn(const json& record, const char* name) {
  const json found = record.value(name, json());
  return found.is_string() ? found.get<std::string>() : "";
}

// Adds the settings that the run gave its engine.
void AddRecorded(const json& record, EngineOptions* options) {
  const json page_size = record.value("page_size", json());
  if (page_size.is_number_unsigned()) options->page_size = page_size.get<uint32_t>();
  const json settings = record.value("engine_options", json());
  if (!settings.is_object()) return;
  for (const auto& [name, value] : settings.items()) {
    if (value.is_string()) options->extra[name] = value.get<std::string>();
  }
}

}  // namespace

ClosedDatabase::ClosedDatabase(const DatabaseArguments& arguments, const std::string& command,
                               const InspectedDir::Door& door)
    : arguments_(arguments),
      dir_(NamedDirectory(arguments, command)),
      inspected_(Inspected(arguments, dir_, command, door)),
      path_(PathInRun(dir_)),
      base_(path_.string()) {
  const std::string& run = inspected_.run_directory();
  if (run.empty()) return;
  const std::string files = run + "/" + kEngineFiles;
  is_whole_ = path_ == run || path_ == files;
  // The run's record belongs to the run's directory, its db/, and the directories directly in db/
  // alone.
  if (is_whole_ || path_.parent_path() == files) record_ = ReadRecord(run);
  if (record_ && !record_->value("loaded", false)) {
    RefuseUnfinished(inspected_.directories().front(), run, *record_);
  }
  is_whole_ = is_whole_ && record_.has_value();
  if (is_whole_) base_ = run;
}

std::string ClosedDatabase::PlaceOf(const InspectedDir::Database& database) const {
  const fs::path below = fs::path(PlainPath(database.path)).lexically_relative(PlainPath(dir_));
  return fs::path(PlainPath(path_ / below)).lexically_relative(base_);
}

std::string ClosedDatabase::CompressionOf(const InspectedDir::Database& database,
                                          bool writes_pages) const {
  const EngineInfo& info = *database.engine;
  const std::string recorded = record_ ? TextIn(*record_, "compression") : "";
  if (arguments_.compression) {
    const std::string& given = *arguments_.compression;
    if (recorded.empty() || recorded == given) return given;
    throw Error(Error::kUsage,
                fmt::format("--compression {}: the database in {} was loaded with --compression "
                            "{}, which its record keeps for --reuse; leave --compression out",
                            given, database.path, recorded));
  }
  const bool compressed = info.format && info.format(database.path).compressed;
  if (!recorded.empty() && (compressed || !info.format)) return recorded;
  if (compressed && writes_pages) {
    throw Error(Error::kUsage,
                fmt::format("the pages of the database in {} may be compressed, and no record of "
                            "a run tells how; give the --compression that its program has: {}",
                            database.path, JoinWords(info.capabilities.compressions)));
  }
  return "none";
}

EngineOptions ClosedDatabase::OptionsOf(const InspectedDir::Database& database,
                                        bool writes_pages) const {
  const EngineInfo& info = *database.engine;
  EngineOptions options = DefaultEngineOptions(info);
  options.create = false;
  if (arguments_.io) options.io = *arguments_.io;
  if (record_) AddRecorded(*record_, &options);
  if (info.format) {
    const uint32_t page_size = info.format(database.path).page_size;
    if (page_size != 0) options.page_size = page_size;
  }
  options.compression = CompressionOf(database, writes_pages);
  ParseSettings("--engine-option", arguments_.settings, &options.extra);
  CheckEngineOptions(info, options);
  return options;
}

}  // namespace testbed
