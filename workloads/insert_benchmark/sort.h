// Sorts more index entries than shall be in memory, as an engine does that builds an index: sorted
// runs go to a temporary file and are merged when they are read.
//
//   IbSorter sorter(path, entry_size, 100000);
//   while (...) sorter.Add(entry);      // spills a run when memory is full
//   sorter.Finish();
//   while (sorter.Next(&entry)) ...     // in order
//
// Entries have one size and compare as bytes. The file is made only when something is spilled, is
// IO of kind temp in the ledger, and has no name once it is open, so nothing is left of it. Not
// thread-safe.
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
  IbSorter(std::string path, size_t entry_size, size_t entries_in_memory);

  void Add(const Entry& entry);
  void Finish();
  bool Next(Entry* entry);
  uint64_t size() const { return size_; }  // entries added
  size_t runs() const { return runs_.size(); }
  size_t entry_size() const { return entry_size_; }

 private:
  // A sorted run in the file, and the part of it that is in memory.
  struct Run {
    uint64_t at, end;  // of what is still to be read, in entries
    std::vector<Entry> buffer;
    size_t next = 0;  // in the buffer
  };
  bool Less(const Entry& a, const Entry& b) const;
  void Sort();
  void Spill();
  bool Fill(Run* run);

  const std::string path_;
  const size_t entry_size_, memory_;
  uint64_t size_ = 0, spilled_ = 0;
  std::vector<Entry> entries_;  // not spilled
  size_t next_ = 0;             // of them, when there are no runs
  std::unique_ptr<File> file_;
  std::vector<Run> runs_;
  std::vector<Run*> heap_;  // runs with entries left, the least first
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_INSERT_BENCHMARK_SORT_H_
