#include <string>
#include <vector>

#include "device/error.h"
#include "engines/mmapv1/check/check.h"
#include "engines/mmapv1/files/settings.h"
#include "engines/mmapv1/store.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_files.h"

namespace testbed::mmapv1 {
namespace {

constexpr int kRows = 600;
constexpr int kMostSteps = 2 * kRows;

std::string KeyOf(uint32_t i) { return "key" + std::to_string(i * 7919 % 10007); }

Settings SmallSettings() {
  EngineOptions options;
  options.io = IoMode::kMmap;
  options.durability = Durability::kNone;
  options.extra = {
      {"small_files", "on"}, {"first_file_size", "1M"}, {"ns_size", "64k"}, {"preallocate", "off"}};
  return MakeSettings(options);
}

void Put(Store* store, TableId table, const std::string& key, const std::string& value) {
  WriteSet writes;
  writes.Set(table, key, false, value);
  store->Apply(writes);
}

void Erase(Store* store, TableId table, const std::string& key) {
  WriteSet writes;
  writes.Set(table, key, true, {});
  store->Apply(writes);
}

// Returns the files of a small database, which is made once in each process.
const std::vector<FileImage>& SmallDatabase() {
  static const std::vector<FileImage> files = [] {
    const ScratchDir dir;
    {
      const Settings settings = SmallSettings();
      Store store(dir.path(), settings);
      const TableId table = store.OpenTable("t");
      for (int i = 0; i < kRows; ++i) {
        Put(&store, table, KeyOf(i), std::string(i % 50 == 0 ? 3000 : i % 90, 'v'));
      }
      for (int i = 0; i < kRows; i += 5) Erase(&store, table, KeyOf(i));
    }
    return ReadFiles(dir.path());
  }();
  return files;
}

void WriteChanged(const std::string& dir, FuzzInput* input) {
  std::vector<FileImage> files = SmallDatabase();
  for (uint32_t changes = input->Below(6); changes > 0; --changes) {
    ChangeByte(&files, kMemoryPage, input);
  }
  WriteFiles(files, dir);
}

void Walk(Store* store, TableId table, bool forward) {
  PlaceHint hint;
  std::string key, found, value;
  bool on = store->Move(table, forward ? Motion::kFirst : Motion::kLast, {}, &hint, &found, &value);
  for (int steps = 0; on && steps < kMostSteps; ++steps) {
    key = found;
    on = store->Move(table, forward ? Motion::kAfter : Motion::kBefore, key, &hint, &found, &value);
  }
}

// Uses the database as a user would. Any step may be refused.
void Use(const std::string& dir, FuzzInput* input) {
  const auto attempt = [](auto&& step) {
    try {
      step();
    } catch (const Error&) {
    }
  };
  attempt([&] {
    const Settings settings = SmallSettings();
    Store store(dir, settings);
    const TableId table = store.OpenTable("t");
    attempt([&] { Walk(&store, table, true); });
    attempt([&] { Walk(&store, table, false); });
    for (int i = 0; i < 30; ++i) {
      const std::string key = KeyOf(input->Below(2 * kRows));
      std::string value;
      attempt([&] { store.Get(table, key, &value); });
      attempt([&] { Put(&store, table, key, std::string(input->Below(300), 'w')); });
      attempt([&] { Erase(&store, table, KeyOf(input->Below(kRows))); });
    }
    attempt([&] { store.OpenTable("another"); });
  });
}

}  // namespace

// Changes bytes of a database, which has no checksums, and replays journal sections of any bytes.
// Checking, reading and writing must come to their ends, and stay inside the files.
TESTBED_FUZZ_TARGET(mmapv1) {
  FuzzInput input(bytes);
  const ScratchDir dir;
  WriteChanged(dir.path(), &input);
  try {
    (void)InspectDatabase(dir.path(), {});
  } catch (const Error&) {
  }
  Use(dir.path(), &input);
  // The bytes are also the body of a journal section whose checksum is right.
  int entries = 0;
  (void)ForEachEntry(bytes, [&](DiskLoc, std::string_view) { ++entries; });
  Require(entries <= static_cast<int>(bytes.size() / sizeof(EntryHeader)), "entries of nothing");
}

}  // namespace testbed::mmapv1
