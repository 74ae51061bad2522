#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_files.h"

namespace testbed {
namespace {

constexpr int kRows = 500;

std::string KeyOf(uint32_t i) { return "key" + std::to_string(i * 7919 % 10007); }
std::string ValueOf(uint32_t i) {
  return std::string(i % 40 == 0 ? 9000 : i % 200, static_cast<char>('a' + i % 26));
}

// A database whose engine has a checksum over everything, and how it is opened.
struct Kind {
  const char* engine;
  const char* compression;
  std::map<std::string, std::string> extra;
};
const Kind kKinds[] = {
    {"btree", "none", {}},
    {"btree", "lz4", {}},
    {"btree", "none", {{"torn_page", "full_page_image"}}},
    {"fractal", "none", {}},
    {"fractal", "zstd", {}},
};
constexpr uint32_t kKindCount = std::size(kKinds);

EngineOptions OptionsOf(const Kind& kind) {
  EngineOptions options = DefaultEngineOptions(FindEngine(kind.engine));
  options.page_size = 8192;
  options.cache_bytes = 1 << 20;
  options.durability = Durability::kNone;
  options.compression = kind.compression;
  options.extra = kind.extra;
  // The log is small and grows, because the files are written anew for each input.
  options.extra["log_segment"] = "1M";
  options.extra["log_space"] = "growing";
  return options;
}

// Returns the files of a database: closed in order with `in_order`, otherwise as a kill leaves
// them.
std::vector<FileImage> MakeDatabase(const Kind& kind, bool in_order) {
  const ScratchDir dir;
  EngineOptions options = OptionsOf(kind);
  options.durability = Durability::kSync;
  auto engine = OpenEngine(kind.engine, dir.path(), options);
  {
    const TableId table = engine->OpenTable("t");
    const auto session = engine->NewSession();
    for (uint32_t i = 0; i < kRows; ++i) {
      session->Put(table, KeyOf(i), ValueOf(i));
      if (i == kRows / 2) engine->Checkpoint();
    }
    engine->Flush();
  }
  if (in_order) engine.reset();
  return ReadFiles(dir.path());
}

const std::vector<FileImage>& Database(uint32_t kind, bool in_order) {
  static std::optional<std::vector<FileImage>> made[kKindCount][2];
  auto& files = made[kind][in_order];
  if (!files) files = MakeDatabase(kKinds[kind], in_order);
  return *files;
}

template <typename Step>
bool Attempt(const Step& step) {
  try {
    step();
    return true;
  } catch (const Error&) {
    return false;
  }
}

void Use(const Kind& kind, const std::string& dir, bool changed) {
  EngineOptions options = OptionsOf(kind);
  options.create = false;
  std::unique_ptr<Engine> engine;
  const bool opened = Attempt([&] { engine = OpenEngine(kind.engine, dir, options); });
  Require(opened || changed, "a database does not open");
  if (!opened) return;
  TableId table{};
  if (!Attempt([&] { table = engine->OpenTable("t"); })) return;
  const auto session = engine->NewSession();
  for (uint32_t i = 0; i < kRows; ++i) {
    std::string_view value;
    bool found = false;
    const bool read = Attempt([&] { found = session->Get(table, KeyOf(i), &value); });
    Require(read || changed, "a row cannot be read");
    if (read) Require(found && value == ValueOf(i), "a row is not what was written: " + KeyOf(i));
  }
  Attempt([&] {
    const auto cursor = session->NewCursor(table);
    std::string last;
    int rows = 0;
    for (bool on = cursor->First(); on; on = cursor->Next(), ++rows) {
      Require(cursor->key() > last, "rows out of order");
      last = cursor->key();
    }
    Require(rows == kRows, "a scan of " + std::to_string(rows) + " rows");
  });
  Attempt([&] { session->Put(table, "new", "row"); });
}

}  // namespace

// Changes bytes of a database or cuts its files. The check must come to its end, and each row must
// be as it was written, or an error. Damage to the last records of a log would look like a torn
// tail, with those records absent, so the log of a database that was not closed in order is left
// unchanged.
TESTBED_FUZZ_TARGET(damage) {
  FuzzInput input(bytes);
  const uint32_t which = input.Below(kKindCount);
  const bool in_order = input.Below(2) == 0;
  std::vector<FileImage> files = Database(which, in_order);
  bool changed = false;
  for (uint32_t changes = input.Below(4); changes > 0; --changes) {
    FileImage& file = files[input.Below(static_cast<uint32_t>(files.size()))];
    if (file.used.empty() || (!in_order && file.name.find(".log/") != std::string::npos)) continue;
    if (input.Below(16) == 0) {
      file.used.resize(ChooseByte(file, 4096, &input));
      file.size = file.used.size();
    } else {
      file.used[ChooseByte(file, 4096, &input)] = static_cast<char>(input.Byte());
    }
    changed = true;
  }
  const ScratchDir dir;
  WriteFiles(files, dir.path());
  const Kind& kind = kKinds[which];
  const EngineInfo& info = FindEngine(kind.engine);
  Attempt([&] { (void)info.check(dir.path(), InspectOptions()); });
  Attempt([&] { (void)info.tree(dir.path(), InspectOptions()); });
  Use(kind, dir.path(), changed);
}

}  // namespace testbed
