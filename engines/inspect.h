// What an engine can tell of a database that is not open: whether its files are sound, and what its
// trees look like. The commands `check` and `tree` print it; EngineInfo (registry.h) has the doors.
//
//   const EngineInfo& engine = FindEngine("btree");
//   if (engine.check) {
//     const Inspection result = engine.check(dir, options);
//     for (const Fault& fault : result.faults.kept) ...   // none: the database is sound
//   }
//
// Nothing in the directory is changed, whatever the files hold, and bytes that make no sense are
// faults, never errors. Errors throw Error: kUsage when `dir` is no database of the engine, is of
// a newer format or is open in another process; kIo when its main file cannot be opened.
#ifndef TESTBED_ENGINES_INSPECT_H_
#define TESTBED_ENGINES_INSPECT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace testbed {

// Something that is not as it should be, and where.
struct Fault {
  std::string file;              // its path
  std::optional<uint64_t> page;  // of the file
  std::optional<uint64_t> byte;  // of the file
  std::string table;             // empty: of none, or not known
  std::string what;              // goes on after a colon: "its checksum does not match"
  std::string expected, found;   // may be empty
  std::string Text() const;      // one line
};

// Counts all faults and keeps the first ones.
struct Faults {
  std::vector<Fault> kept;
  uint64_t count = 0;
  uint64_t most = 1000;  // kept
  void Add(Fault fault);
};

struct InspectOptions {
  uint64_t most_faults = 1000;  // described; more are only counted
  std::string table;            // look at this one only; empty: at everything
  uint32_t shape_levels = 0;    // levels of each tree to draw, from the root down
  uint32_t shape_children = 8;  // of each page, at most
  // Called now and then with how many of the pages have been looked at.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// Bytes by what they are used for, in the order in which they are shown.
using NamedBytes = std::vector<std::pair<std::string, uint64_t>>;
uint64_t SumOf(const NamedBytes& parts);

struct PageCount {
  std::string type;
  uint64_t pages = 0, bytes = 0;
};

// The log after the last checkpoint: what opening the database will replay.
struct ReplayNeeded {
  uint64_t log_bytes = 0;
  uint64_t records = 0;
  uint64_t transactions = 0, rows = 0;
  uint64_t unfinished = 0;  // transactions without their end: they never happened
  uint64_t pages = 0;       // whose shape or content is in the log
};

struct LevelStats {
  uint64_t pages = 0;
  uint64_t entries = 0;
  uint64_t used_bytes = 0;  // of the pages' capacity: what entries cannot be put into any more
  uint64_t capacity_bytes = 0;
  std::array<uint64_t, 10> fill = {};  // pages by tenth of the capacity used
  double Fill() const {
    return capacity_bytes == 0
               ? 0
               : static_cast<double>(used_bytes) / static_cast<double>(capacity_bytes);
  }
};

// A page in the drawing of a tree.
struct TreePage {
  uint64_t page = 0;
  uint32_t level = 0;
  uint64_t entries = 0;
  double fill = 0;
  std::string low, high;  // keys k with low <= k < high, made readable; high empty: no bound
  std::string fault;      // why it could not be read
  std::vector<TreePage> children;
  uint64_t hidden = 0;  // children left out, before the last one drawn
};

struct TreeStats {
  std::string table;
  uint64_t rows = 0;
  uint64_t key_bytes = 0, value_bytes = 0;  // as the user gave them
  uint64_t overflow_values = 0, overflow_pages = 0;
  std::vector<LevelStats> levels;  // [0] = leaves; size = height
  NamedBytes parts;                // of all its pages; adds up to Bytes()
  std::optional<TreePage> shape;
  uint64_t Pages() const;
  uint64_t Bytes() const { return SumOf(parts); }
};

struct Inspection {
  Faults faults;
  Faults notes;  // harmless: what a crash leaves and opening the database puts right
  uint64_t page_size = 0;
  std::vector<PageCount> pages;  // of the data file by type; adds up to its length
  std::vector<TreeStats> trees;  // the engine's own first
  NamedBytes disk;               // of all files; adds up to Engine::SizeOnDisk and holes
  uint64_t holes = 0;            // of it, what compressed pages leave of their places: not on disk
  std::optional<ReplayNeeded> replay;
  bool stopped = false;  // by a signal: what follows was not looked at
};

// Bytes that a terminal can show: control characters become question marks.
std::string Printable(std::string text);

// A key in messages: as text when it is text, else as a hexadecimal number, shortened.
std::string KeyText(std::string_view key);

}  // namespace testbed

#endif  // TESTBED_ENGINES_INSPECT_H_
