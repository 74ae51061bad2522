// A Table has a table's entry in the namespace file, its heap of records and its b-tree.
//
//   std::optional<uint32_t> slot = FindTable(files, name);
//   Table table(&files, settings, &counts, CreateTable(&files, name));   // or *slot
//   table.Put(key, value);
//
// A row is a record with the BSON document {_id: <binary key>, v: <binary value>}, and a key in the
// b-tree that names the record. A row with an empty value is a key without a record. So a table in
// which a workload keeps index entries is what a secondary index is in the original.
//
// Put changes the record of an existing row in place when the document fits in, and otherwise moves
// the row to a new record.
//
// The caller holds the locks that Tree and RecordSpace need.
#ifndef TESTBED_ENGINES_MMAPV1_TREE_TABLE_H_
#define TESTBED_ENGINES_MMAPV1_TREE_TABLE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/mmapv1/files/files.h"
#include "engines/mmapv1/tree/space.h"
#include "engines/mmapv1/tree/tree.h"

namespace testbed::mmapv1 {

// Finds the table by its name, in the hash table of the namespace file.
std::optional<uint32_t> FindTable(const Files& files, std::string_view name);
// Creates a table that is not there yet. Throws Error (kUsage) when the namespace file is full.
uint32_t CreateTable(Files* files, std::string_view name);
DiskLoc EntryLoc(uint32_t slot);
// Throws Error (kCorruption) when the last extent of a table of this namespace file, whose bytes
// are `ns`, lies outside of what the data files with these headers use.
void CheckLastExtents(const std::string& dir, std::string_view ns,
                      const std::vector<FileHeader>& headers);
// Throws Error (kCorruption) when an extent of a table lies in a data file without a header.
void CheckFilesWithoutHeader(const Files& files);
// Throws Error (kUsage) for a name that no table can have.
void CheckTableName(const std::string& name);

struct RowCounts {
  std::atomic<uint64_t> moved{0}, in_place{0};
};

class Table {
 public:
  Table(Files* files, const Settings& settings, RowCounts* counts, uint32_t slot);

  const NsEntry& entry() const { return *entry_; }
  const Tree& tree() const { return tree_; }

  void Put(std::string_view key, std::string_view value);
  void Erase(std::string_view key);

  // Returns the value of the row at a position, as a view of the mapping.
  std::string_view Value(TreePosition at) const;
  // Returns whether the row has a record that is not wholly in memory. If so, sets *begin and
  // *bytes to the record's begin and length.
  bool RecordNotInMemory(TreePosition at, const char** begin, uint64_t* bytes) const;

 private:
  DiskLoc AddRecord(std::string_view key, std::string_view value);
  DiskLoc UpdateRecord(DiskLoc loc, std::string_view key, std::string_view value);
  void WriteDocument(DiskLoc loc, std::string_view key, std::string_view value);
  void CountRows(int64_t change);
  void AdaptPadding(bool moved);

  Files* const files_;
  const Settings& settings_;
  RowCounts* const counts_;
  NsEntry* const entry_;
  Tree tree_;
  RecordSpace heap_;
};

// Parses the document of a row. Returns false when the bytes are no such document.
bool ParseDocument(std::string_view bytes, std::string_view* key, std::string_view* value);

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_TREE_TABLE_H_
