// An IbSorter sorts more index entries than may be in memory, as an engine does that builds an
// index: it spills sorted runs to a temporary file and merges them when they are read.
//
//   IbSorter sorter(path, entry_size, 100000);
//   while (...) sorter.Add(entry);      // spills a run when memory is full
//   sorter.Finish();
//   while (sorter.Next(&entry)) ...     // in order
//
// Entries have one size and compare as bytes. The file is made when the first run is spilled, and
// its IO is of kind temp in the ledger. Its name is removed once it is open, so no file is left
// behind. Methods throw Error (kIo) when the file cannot be written or read. Not thread-safe.
#ifndef TESTBED_WORKLOADS_INSERT_BENCHMARK_SORT_H_
#define TESTBED_WORKLOADS_INSERT_BENCHMARK_SORT_H_

#include <memory>
#include <string>
#include <vector>

#include "device/file/file.h"
#include "workloads/insert_benchmark/schema.h"

namespace testbed {

class IbSorter {
 public:
  struct Entry {
    char bytes[IbSchema::kMaxIndexKeySize];
  };
  // `path` is where the temporary file is made. An entry has `entry_size` bytes.
  IbSorter(std::string path, size_t entry_size, size_t entries_in_memory);

  // Adds an entry; Finish() was not called yet.
  void Add(const Entry& entry);
  // Ends the adding and begins the reading.
  void Finish();
  // Sets *entry to the next entry in order. Returns false when all entries were read.
  bool Next(Entry* entry);
  uint64_t size() const { return size_; }  // number of entries that were added
  size_t runs() const { return runs_.size(); }
  size_t entry_size() const { return entry_size_; }

 private:
  // A sorted run in the file, and the part of it that is in memory.
  struct Run {
    uint64_t at, end;  // the part that is still to be read, in entries from the file's start
    std::vector<Entry> buffer;
    size_t next = 0;  // index of the next entry in the buffer
  };
  bool Less(const Entry& a, const Entry& b) const;
  void Sort();
  void Spill();
  bool Fill(Run* run);

  const std::string path_;
  const size_t entry_size_, memory_;
  uint64_t size_ = 0, spilled_ = 0;
  std::vector<Entry> entries_;  // entries that are not spilled
  size_t next_ = 0;             // index of the next entry to read in entries_, without runs
  std::unique_ptr<File> file_;
  std::vector<Run> runs_;
  std::vector<Run*> heap_;  // runs with entries left, as a heap with the least entry first
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_INSERT_BENCHMARK_SORT_H_
