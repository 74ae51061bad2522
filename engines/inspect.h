// An Inspection is the report of an engine on a database that is not open: whether its files are
// sound, and what its trees look like. The commands `check` and `tree` print it. EngineInfo
// (engines/registry.h) has the functions that make it.
//
//   const EngineInfo& engine = FindEngine("btree");
//   if (engine.check) {
//     const Inspection result = engine.check(dir, InspectOptions());
//     for (const Fault& fault : result.faults.kept) Print(fault.Text());   // none: it is sound
//   }
//
// These functions change nothing in the directory, whatever the files hold. Bytes that make no
// sense are reported as faults, never thrown as errors. They throw Error (kUsage) when `dir` is not
// a database of the engine, has a newer format or is open or being inspected elsewhere, and Error
// (kIo) when the main file cannot be opened.
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

// A Fault is one thing in a file that is not as it should be.
struct Fault {
  std::string file;              // path
  std::optional<uint64_t> page;  // page number in the file
  std::optional<uint64_t> byte;  // byte offset in the file
  std::string table;             // empty: the fault is in no table, or in an unknown one
  std::string what;              // clause about the page or file: "its checksum does not match"
  std::string expected, found;   // may be empty
  std::string Text() const;      // the fault as one line
};

// Faults counts all faults and keeps the first `most` of them.
struct Faults {
  std::vector<Fault> kept;
  uint64_t count = 0;
  uint64_t most = 1000;
  void Add(Fault fault);
};

struct InspectOptions {
  uint64_t most_faults = 1000;  // number of faults to describe; further ones are only counted
  std::string table;            // the only table to look at; empty: all tables
  uint32_t shape_levels = 0;    // levels of each tree to draw, from the root down
  uint32_t shape_children = 8;  // children to draw of each page, at most
  // The engine calls it every few hundred pages with the number of pages looked at and of all
  // pages.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// NamedBytes are numbers of bytes, each with its use, in the order in which they are shown.
using NamedBytes = std::vector<std::pair<std::string, uint64_t>>;
uint64_t SumOf(const NamedBytes& parts);

struct PageCount {
  std::string type;
  uint64_t pages = 0, bytes = 0;
};

// ReplayNeeded describes the log after the last checkpoint, which the next open will replay.
struct ReplayNeeded {
  uint64_t log_bytes = 0;
  uint64_t records = 0;
  uint64_t transactions = 0, rows = 0;
  uint64_t unfinished = 0;  // transactions without a commit record, which replay ignores
  uint64_t pages = 0;       // pages whose shape or content is in the log
};

struct LevelStats {
  uint64_t pages = 0;
  uint64_t bytes = 0;  // of these pages, as the file has them
  uint64_t entries = 0;
  uint64_t used_bytes = 0;             // bytes of the capacity that further entries cannot use
  uint64_t capacity_bytes = 0;         // bytes of all pages of the level that entries can use
  std::array<uint64_t, 10> fill = {};  // number of pages by tenth of the capacity used
  double Fill() const {
    return capacity_bytes == 0
               ? 0
               : static_cast<double>(used_bytes) / static_cast<double>(capacity_bytes);
  }
};

// A TreePage is a page in the drawing of a tree, with the pages drawn below it.
struct TreePage {
  uint64_t page = 0;
  uint32_t level = 0;
  uint64_t entries = 0;
  double fill = 0;
  std::string low, high;  // bounds of the page's keys, low <= key < high; high empty: no bound
  std::string fault;      // why the page could not be read; empty: it was read
  std::vector<TreePage> children;
  uint64_t hidden = 0;  // children left out of `children`, just before its last element
};

struct TreeStats {
  std::string table;
  bool own = false;  // a tree of the engine itself, such as a catalogue
  uint64_t rows = 0;
  uint64_t key_bytes = 0, value_bytes = 0;  // as the user gave them, without encoding
  uint64_t overflow_values = 0, overflow_pages = 0;
  std::vector<LevelStats> levels;  // [0] = leaves; size = height
  NamedBytes parts;                // bytes of all its pages; adds up to Bytes()
  std::optional<TreePage> shape;
  uint64_t Pages() const;
  uint64_t Bytes() const { return SumOf(parts); }
};

struct Inspection {
  Faults faults;
  Faults notes;  // harmless findings: a crash leaves them and the next open repairs them
  uint64_t page_size = 0;
  std::vector<PageCount> pages;  // pages of the data file by type; adds up to its length
  std::vector<TreeStats> trees;  // the engine's own trees, such as a catalogue, come first
  NamedBytes disk;               // bytes of all files; adds up to Engine::SizeOnDisk plus `holes`
  uint64_t holes = 0;  // bytes of `disk` that compressed pages save, so that they are not on disk
  std::optional<ReplayNeeded> replay;
  bool stopped = false;  // a signal ended the inspection, so that the rest was not looked at
};

// Returns `text` with its control characters replaced by question marks, so that a terminal can
// show it.
std::string Printable(std::string text);

// Returns a key as messages show it: printable ASCII in quotes, other keys in hexadecimal; long
// keys are cut off.
std::string KeyText(std::string_view key);

}  // namespace testbed

#endif  // TESTBED_ENGINES_INSPECT_H_
