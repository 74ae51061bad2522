#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/mmapv1/check/check.h"
#include "engines/mmapv1/settings.h"
#include "engines/mmapv1/store.h"
#include "tests/fuzz/fuzz_targets.h"

namespace testbed::mmapv1 {
namespace {

namespace fs = std::filesystem;

constexpr int kRows = 600;
constexpr int kMostSteps = 2 * kRows;

std::string KeyOf(uint32_t i) { return "key" + std::to_string(i * 7919 % 10007); }

class Directory {
 public:
  Directory() {
    const std::string base =
        ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fs::temp_directory_path();
    path_ = base + "/testbed_fuzz_XXXXXX";
    Require(::mkdtemp(path_.data()) != nullptr, "no directory");
  }
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

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

struct FileImage {
  std::string name;
  std::string used;  // what comes before zeros alone
  uint64_t size = 0;
};

// The files of a small database; made once a process.
const std::vector<FileImage>& SmallDatabase() {
  static const std::vector<FileImage> files = [] {
    const Directory dir;
    {
      const Settings settings = SmallSettings();
      Store store(dir.path(), settings);
      const TableId table = store.OpenTable("t");
      for (int i = 0; i < kRows; ++i) {
        Put(&store, table, KeyOf(i), std::string(i % 50 == 0 ? 3000 : i % 90, 'v'));
      }
      for (int i = 0; i < kRows; i += 5) Erase(&store, table, KeyOf(i));
    }
    std::vector<FileImage> found;
    for (const auto& entry : fs::directory_iterator(dir.path())) {
      std::ifstream in(entry.path(), std::ios::binary);
      std::string bytes{std::istreambuf_iterator<char>(in), {}};
      const uint64_t size = bytes.size();
      bytes.resize(bytes.find_last_not_of('\0') + 1);
      found.push_back({entry.path().filename(), std::move(bytes), size});
    }
    Require(!found.empty(), "no files");
    // An input means the same everywhere.
    std::sort(found.begin(), found.end(),
              [](const FileImage& a, const FileImage& b) { return a.name < b.name; });
    return found;
  }();
  return files;
}

void WriteChanged(const std::string& dir, FuzzInput* input) {
  std::vector<FileImage> files = SmallDatabase();
  for (uint32_t changes = input->Below(6); changes > 0; --changes) {
    std::string& used = files[input->Below(static_cast<uint32_t>(files.size()))].used;
    if (used.empty()) continue;
    // Often at the beginnings of structures, with their headers.
    size_t at =
        (size_t{input->Byte()} << 16 | size_t{input->Byte()} << 8 | input->Byte()) % used.size();
    if (input->Below(2) == 0) at = at / kMemoryPage * kMemoryPage + at % 64;
    if (at < used.size()) used[at] ^= static_cast<char>(input->Byte());
  }
  for (const FileImage& file : files) {
    const std::string path = dir + "/" + file.name;
    std::ofstream(path, std::ios::binary) << file.used;
    fs::resize_file(path, file.size);
  }
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

// What a user would do; that it is refused at any step is right.
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

void FuzzMmapv1(std::string_view bytes) {
  FuzzInput input(bytes);
  const Directory dir;
  WriteChanged(dir.path(), &input);
  try {
    (void)InspectDatabase(dir.path(), {});
  } catch (const Error&) {
  }
  Use(dir.path(), &input);
  // A section's body, of which the checksum was right.
  int entries = 0;
  (void)ForEachEntry(bytes, [&](DiskLoc, std::string_view) { ++entries; });
  Require(entries <= static_cast<int>(bytes.size() / sizeof(EntryHeader)), "entries of nothing");
}

}  // namespace testbed::mmapv1
