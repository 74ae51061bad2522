// The pages that fuzzed log records are replayed on: a tree of one inner node and its leaves.
#ifndef TESTBED_TESTS_FUZZ_REPLAY_TREE_H_
#define TESTBED_TESTS_FUZZ_REPLAY_TREE_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "device/file/file.h"
#include "engines/btree/page/node.h"
#include "engines/btree/pool/page_file.h"

namespace testbed::btree {

inline constexpr uint32_t kReplayPageSize = 4096;
inline constexpr PageId kReplayPages = 12;  // 1 is the inner node, the others are leaves

inline std::string ReplayKey(int i) {
  char key[16];
  snprintf(key, sizeof key, "key%05d", i);
  return key;
}

inline void MakeReplayPage(PageId id, char* page) {
  Node node(page, kReplayPageSize);
  if (id <= 1) {
    node.Init(id, 1, PageType::kInner, 1, "key", "kez", false);
    for (int i = 0; i < 10; ++i) node.InsertInner(i, ReplayKey(100 * i), 2 + i);
    return;
  }
  node.Init(id, 1, PageType::kLeaf, 0, ReplayKey(100 * (id - 2)), ReplayKey(100 * (id - 1)), false);
  for (int i = 0; i < 30; ++i) {
    node.InsertLeaf(i, ReplayKey(100 * (id - 2) + 3 * i), {"a value of some length", false});
  }
}

// Returns a data file with these pages. The file `path` is made, or emptied first.
inline std::unique_ptr<PageFile> MakeReplayFile(const std::string& path) {
  FileOptions options;
  options.create = FileOptions::kTruncate;
  auto file = File::Open(path, options);
  AlignedBuffer page(kReplayPageSize);
  for (PageId id = 0; id <= kReplayPages; ++id) {
    MakeReplayPage(id, page.data());
    StampPage(page.data(), kReplayPageSize);
    file->Write(static_cast<uint64_t>(id) * kReplayPageSize, page.data(), kReplayPageSize);
  }
  return std::make_unique<PageFile>(std::move(file), nullptr, kReplayPageSize);
}

}  // namespace testbed::btree

#endif  // TESTBED_TESTS_FUZZ_REPLAY_TREE_H_
