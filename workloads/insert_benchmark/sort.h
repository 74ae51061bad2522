// Sorts more index entries than fit in the memory given to it, as an engine does that builds an
// index: sorted runs go to a temporary file and are merged when they are read.
//
//   IbSorter sorter(path, entry_size, 100000);
//   for (const IbSorter::Entry& entry : entries) sorter.Add(entry);  // writes a run when full
//   sorter.Finish();
//   while (sorter.Next(&entry)) ...                                  // in order
//
// All entries have the same size and compare as bytes. The temporary file is created with the first
// run; its I/O has kind temp in the ledger. It is unlinked as soon as it is open, so nothing stays
// behind. Not thread-safe.
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
  // `path` begins the temporary file's name. The sorter keeps up to `entries_in_memory` entries in
  // memory.
  IbSorter(std::string path, size_t entry_size, size_t entries_in_memory);

  // Adds an entry. Throws Error (kIo) when a run cannot be written.
  void Add(const Entry& entry);
  // Ends the adding; Add must not be called any more.
  void Finish();
  // Sets *entry to the next entry in order, or returns false after the last one. Call after Finish.
  // Throws Error (kIo) when the entries cannot be read as they were written.
  bool Next(Entry* entry);
  uint64_t size() const { return size_; }  // number of entries that were added
  size_t runs() const { return runs_.size(); }
  size_t entry_size() const { return entry_size_; }

 private:
  // A sorted run in the file, and the part of it that is in memory.
  struct Run {
    uint64_t at, end;  // rest of the run in the file, as entry numbers
    std::vector<Entry> buffer;
    size_t next = 0;  // position in `buffer`
  };
  bool Less(const Entry& a, const Entry& b) const;
  void Sort();
  void Spill();
  bool Fill(Run* run);

  const std::string path_;
  const size_t entry_size_, memory_;
  uint64_t size_ = 0, spilled_ = 0;
  std::vector<Entry> entries_;  // entries not written to a run
  size_t next_ = 0;             // position in entries_ when there are no runs
  std::unique_ptr<File> file_;
  std::vector<Run> runs_;
  std::vector<Run*> heap_;  // runs with entries left; the run with the least entry first
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_INSERT_BENCHMARK_SORT_H_
