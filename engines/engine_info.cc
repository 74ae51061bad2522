// This file has functions on one engine that need not know the other engines. Those that must are
// in registry.cc.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/direct_io.h"
#include "device/file/directory.h"
#include "device/nearest_name.h"
#include "engines/elsewhere.h"
#include "engines/registry.h"

namespace testbed {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'A' && c <= 'F'); }

// Returns whether `path` matches `pattern`, by the rule of EngineInfo::files.
bool Matches(std::string_view pattern, std::string_view path) {
  if (pattern.empty()) return path.empty();
  const std::string_view rest = pattern.substr(1);
  if (pattern[0] == '*') {
    return Matches(rest, path) ||
           (!path.empty() && path[0] != '/' && Matches(pattern, path.substr(1)));
  }
  if (path.empty()) return false;
  if (pattern[0] == '#') {
    return IsDigit(path[0]) && (Matches(rest, path.substr(1)) || Matches(pattern, path.substr(1)));
  }
  if (pattern[0] == '~') return IsHexDigit(path[0]) && Matches(rest, path.substr(1));
  if (pattern[0] == '\\' && !rest.empty()) {
    return rest[0] == path[0] && Matches(rest.substr(1), path.substr(1));
  }
  return pattern[0] == path[0] && Matches(rest, path.substr(1));
}

template <typename T, typename Name>
void CheckOneOf(const std::string& engine, const std::string& option, T value,
                const std::vector<T>& accepted, Name name) {
  std::vector<std::string> names;
  for (const T& a : accepted) {
    if (a == value) return;
    names.push_back(name(a));
  }
  // With a single accepted value the sentence repeats the option: "it accepts none" would read as
  // if the engine accepted no value.
  const std::string only = names.size() == 1 ? option + " " : "";
  throw Error(Error::kUsage, engine + " cannot honour " + option + " " + name(value) +
                                 "; it accepts " + only + JoinWords(names) +
                                 DidYouMean(name(value), names));
}

void Add(const std::optional<uint64_t>& more, std::optional<uint64_t>* sum) {
  if (more) *sum = sum->value_or(0) + *more;
}

void Add(const std::vector<std::pair<std::string, uint64_t>>& more,
         std::vector<std::pair<std::string, uint64_t>>* sum) {
  for (const auto& [name, value] : more) {
    const auto known =
        std::find_if(sum->begin(), sum->end(), [&n = name](const auto& s) { return s.first == n; });
    if (known == sum->end()) {
      sum->emplace_back(name, value);
    } else {
      known->second += value;
    }
  }
}

// Replaces --engine-option `name` in a sentence by `words`, which end with a space or a colon. The
// sentence names the option with a value or alone.
void RenameOption(const std::string& name, const std::string& words, std::string* sentence) {
  const std::string option = "--engine-option " + name;
  for (size_t at = sentence->find(option); at != std::string::npos;) {
    const size_t end = at + option.size();
    const char next = end < sentence->size() ? (*sentence)[end] : ' ';
    std::string in_place = next == '=' ? words : words.substr(0, words.size() - 1);
    if ((next >= 'a' && next <= 'z') || next == '_') in_place = option;  // another option
    sentence->replace(at, option.size() + (next == '=' ? 1 : 0), in_place);
    at = sentence->find(option, at + in_place.size());
  }
}

// Returns the sentence with the names of the options as the user gave them.
std::string AsGiven(std::string sentence, const EngineOptions& options) {
  for (const auto& [name, words] : options.given_as) RenameOption(name, words, &sentence);
  return sentence;
}

[[noreturn]] void ThrowNoDatabase(const EngineInfo& info, const std::string& dir) {
  throw Error(Error::kUsage, "the directory " + dir + " holds no database of " + info.name +
                                 ": load one first, or choose another --dir");
}

// Returns whether a library, or a server of the run, opens the database's files for direct IO. The
// file layer would refuse a file that has none.
bool OpensItsFilesDirectly(const Capabilities& can, const EngineOptions& options) {
  return !can.file_layer && options.io == IoMode::kDirect && !WorksElsewhere(can, options);
}

}  // namespace

EngineCounters& EngineCounters::operator+=(const EngineCounters& other) {
  Add(other.block_requests, &block_requests);
  Add(other.block_hits, &block_hits);
  Add(other.block_reads, &block_reads);
  Add(other.block_read_bytes, &block_read_bytes);
  Add(other.blocks_written, &blocks_written);
  Add(other.block_write_bytes, &block_write_bytes);
  Add(other.log_payload_bytes, &log_payload_bytes);
  Add(other.log_written_bytes, &log_written_bytes);
  Add(other.cache_bytes, &cache_bytes);
  Add(other.more, &more);
  Add(other.now, &now);
  return *this;
}

EngineCounters SumOfCounters(const std::vector<std::optional<EngineCounters>>& parts) {
  EngineCounters sum;
  for (const std::optional<EngineCounters>& part : parts) {
    if (!part) return {};
    if (!part->repeated) sum += *part;
  }
  return sum;
}

std::string JoinWords(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

const char* DurabilityName(Durability durability) {
  static constexpr const char* kNames[] = {"sync", "lazy", "none"};
  return kNames[static_cast<size_t>(durability)];
}

TableId Engine::OpenIndex(const std::string& index, TableId, const std::vector<IndexPart>&) {
  throw Error(Error::kUsage, name() + " keeps no secondary indexes itself: " + index +
                                 " must be a table that its user writes");
}

void Engine::Backup(const std::string&) {
  throw Error(Error::kUsage, name() +
                                 " makes no backup of a database that is open: close it and "
                                 "copy its directory");
}

bool IsEngineFile(const EngineInfo& info, const std::string& path, bool directory) {
  std::string_view inside = path;
  if (const size_t slash = inside.find('/'); Matches("#", inside.substr(0, slash))) {
    if (slash == std::string_view::npos) return directory;
    inside.remove_prefix(slash + 1);
  }
  const auto leads_to = [&](std::string_view file) {
    for (size_t at = file.find('/'); at != std::string_view::npos; at = file.find('/', at + 1)) {
      if (Matches(file.substr(0, at), inside)) return true;
    }
    return false;
  };
  return std::any_of(info.files.begin(), info.files.end(), [&](std::string_view file) {
    return directory ? leads_to(file) : Matches(file, inside);
  });
}

EngineOptions DefaultEngineOptions(const EngineInfo& info) {
  const Capabilities& can = info.capabilities;
  EngineOptions options;
  const auto nearest = [](auto wanted, const auto& accepted) {
    const bool there = std::find(accepted.begin(), accepted.end(), wanted) != accepted.end();
    return there ? wanted : accepted.front();
  };
  options.io = nearest(options.io, can.io_modes);
  options.durability = nearest(options.durability, can.durabilities);
  if (can.max_page_size != 0) {
    options.page_size = std::clamp(options.page_size, can.min_page_size, can.max_page_size);
  }
  if (!can.cache) options.cache_bytes = 0;
  return options;
}

void CheckOptionsOfAnyMachine(const EngineInfo& info, const EngineOptions& options) {
  const Capabilities& can = info.capabilities;
  CheckOneOf(info.name, "--io", options.io, can.io_modes, IoModeName);
  CheckOneOf(info.name, "--durability", options.durability, can.durabilities, DurabilityName);
  if (options.durability == Durability::kLazy && options.lazy_interval_ms == 0) {
    throw Error(Error::kUsage,
                info.name +
                    " cannot honour --lazy-interval 0: give it 1 or more milliseconds, or "
                    "--durability sync, with which a commit is durable when it returns");
  }
  CheckOneOf(info.name, "--compression", options.compression, can.compressions,
             [](const std::string& s) { return s; });
  if (options.io == IoMode::kMmap) {
    CheckOneOf(info.name, "--mmap-advice", options.mmap_advice, can.mmap_advices, AdviceName);
  }
  const uint32_t page = options.page_size;
  if (can.max_page_size != 0 &&
      (page < can.min_page_size || page > can.max_page_size || (page & (page - 1)) != 0)) {
    const std::string least = std::to_string(can.min_page_size);
    throw Error(
        Error::kUsage,
        info.name + " cannot honour --page-size " + std::to_string(page) + "; it accepts " +
            (can.min_page_size == can.max_page_size
                 ? least
                 : "powers of two from " + least + " to " + std::to_string(can.max_page_size)));
  }
  for (const auto& [name, value] : options.extra) {
    std::vector<std::string> names;
    bool known = false;
    for (const auto& [accepted, meaning] : can.extra_options) {
      known = known || accepted == name;
      names.push_back(accepted);
    }
    if (!known) {
      throw Error(Error::kUsage, info.name + " has no --engine-option " + name + "; it has " +
                                     (names.empty() ? "none" : JoinWords(names)) +
                                     DidYouMean(name, names));
    }
  }
  if (!info.check_options) return;
  try {
    info.check_options(options);
  } catch (const Error& error) {
    if (error.kind() != Error::kUsage || options.given_as.empty()) throw;
    throw Error(Error::kUsage, AsGiven(error.what(), options));
  }
}

std::string MissingProgram(const EngineInfo& info, const EngineOptions& options) {
  if (info.check_programs == nullptr) return "";
  try {
    info.check_programs(options);
  } catch (const Error& error) {
    if (error.kind() != Error::kUsage) throw;
    return error.what();
  }
  return "";
}

void CheckEngineOptions(const EngineInfo& info, const EngineOptions& options) {
  CheckOptionsOfAnyMachine(info, options);
  const std::string missing = MissingProgram(info, options);
  if (!missing.empty()) throw Error(Error::kUsage, AsGiven(missing, options));
}

void CompactDatabase(const EngineInfo& info, const std::string& dir, const EngineOptions& options) {
  if (info.compact == nullptr) {
    throw Error(Error::kUsage, info.name +
                                   " compacts no databases: load it again in another "
                                   "directory");
  }
  CheckEngineOptions(info, options);
  if (!info.recognises(dir)) ThrowNoDatabase(info, dir);
  info.compact(dir, options);
}

bool WorksElsewhere(const Capabilities& can, const EngineOptions& options) {
  return can.server && options.extra.contains("connect");
}

std::unique_ptr<Engine> OpenEngine(const EngineInfo& info, const std::string& dir,
                                   const EngineOptions& options) {
  CheckEngineOptions(info, options);
  std::vector<std::string> made;
  if (info.capabilities.persistent && !options.create && !info.recognises(dir)) {
    ThrowNoDatabase(info, dir);
  }
  if (info.capabilities.persistent && options.create) {
    made = MissingDirectories(dir);
    MakeDirectories(dir);
    // A library makes the names of its files durable at most, but not the name of their directory.
    // That is made durable before the library makes files, so that a directory with a database is
    // durable.
    if (!info.recognises(dir)) MakeNameDurable(dir);
  }
  try {
    if (OpensItsFilesDirectly(info.capabilities, options)) RequireDirectIo(dir);
    return info.open(dir, options);
  } catch (const Error& e) {
    if (e.kind() == Error::kUsage) RemoveMadeDirectories(made);
    throw;
  } catch (const std::filesystem::filesystem_error& e) {
    throw Error::Io("open", e.path1().empty() ? dir : e.path1().string(), e.code().value());
  }
}

}  // namespace testbed
