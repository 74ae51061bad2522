// A Tree is an open tree of the library: its one key space, without tables.
//
//   Tree tree(&host, settings, /*from_snapshot=*/false);
//   tree.Put(key, value);
//   if (tree.Get(key, &buffer, &value)) Use(value);
//
// Its methods throw Error; when a read has failed, they throw the error of the Host. Thread-safe.
#ifndef TESTBED_ENGINES_BF_TREE_TREE_H_
#define TESTBED_ENGINES_BF_TREE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/bf_tree/host.h"
#include "engines/bf_tree/library.h"
#include "engines/bf_tree/rows.h"
#include "engines/bf_tree/settings.h"

namespace testbed::bf_tree {

class Tree {
 public:
  // Opens the snapshot of the host's directory or, without one, makes a new tree. Throws Error:
  // kCorruption when the snapshot is damaged, kUsage when the cache has no room for what the tree's
  // cache held at the snapshot.
  Tree(Host* host, const Settings& settings, bool from_snapshot);
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  // Each key has the prefix of its table; values are as Encoded returns them. Get copies the value
  // to *buffer, and *value is that copy.
  bool Get(std::string_view key, std::string* buffer, std::string_view* value) const;
  void Put(std::string_view key, std::string_view value) const;
  void Erase(std::string_view key) const;
  // Sets *rows to the first rows with start <= key < end, at most `most`.
  void Scan(std::string_view start, std::string_view end, uint32_t most, Rows* rows) const;
  // Writes a snapshot to the host's kUnfinished. No other thread may use the tree meanwhile.
  void Snapshot() const;

  size_t longest_record() const { return longest_record_; }  // bytes of key and value
  uint64_t cache_bytes() const { return calls_.bf_cache_bytes(tree_); }
  // Returns the settings in force, by Bf-Tree's names.
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const;

 private:
  // Runs call(&error), which returns a BfCode. Returns true for BF_OK and false for BF_NOT_FOUND;
  // any other code throws (Fail).
  template <typename Call>
  bool Run(const char* doing, const Call& call) const;
  [[noreturn]] void Fail(const char* doing, BfCode code, const BfError& error) const;

  const Calls& calls_;
  Host* const host_;
  size_t longest_record_;
  BfTree* tree_ = nullptr;
};

}  // namespace testbed::bf_tree

#endif  // TESTBED_ENGINES_BF_TREE_TREE_H_
