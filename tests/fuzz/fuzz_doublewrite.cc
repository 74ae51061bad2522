#include <xxhash.h>

#include <cstring>
#include <memory>
#include <vector>

#include "device/error.h"
#include "engines/btree/page/meta.h"
#include "engines/btree/page/page.h"
#include "engines/btree/page/page_codec.h"
#include "engines/btree/pool/page_file.h"
#include "engines/btree/pool/write_batch.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/replay_tree.h"
#include "tests/fuzz/scratch_files.h"

namespace testbed::btree {
namespace {

constexpr uint32_t kPageSize = kReplayPageSize;

std::unique_ptr<PageFile> Open(const std::string& dir, bool compressed) {
  FileOptions data, doublewrite;
  data.create = doublewrite.create = FileOptions::kMayExist;
  doublewrite.kind = FileKind::kDoublewrite;
  PageFileOptions options;
  options.compressed = compressed;
  return std::make_unique<PageFile>(File::Open(DataPath(dir), data),
                                    File::Open(DoublewritePath(dir), doublewrite), kPageSize,
                                    options);
}

// The files after a batch, and the pages that it wrote.
struct Batch {
  std::vector<FileImage> files;
  std::vector<std::string> pages;  // by number, from 1 on; as they are in the pool
};

Batch WriteBatchOf(bool compressed) {
  Batch batch;
  const ScratchDir dir;
  const auto file = Open(dir.path(), compressed);
  file->Grow(kReplayPages + 1);
  WriteBatch pages(kPageSize, kReplayPages);
  AlignedBuffer page(kPageSize);
  for (PageId id = 1; id <= kReplayPages; ++id) {
    MakeReplayPage(id, page.data());
    pages.Add(page.data());
  }
  if (compressed) pages.Compress(PageCodec::kLz4);
  file->Write(&pages);
  file->Sync();
  for (PageId id = 1; id <= kReplayPages; ++id) {
    file->Read(id, page.data());
    batch.pages.emplace_back(page.data(), kPageSize);
  }
  batch.files = ReadFiles(dir.path());
  return batch;
}

const Batch& Written(bool compressed) {
  static const Batch plain = WriteBatchOf(false), small = WriteBatchOf(true);
  return compressed ? small : plain;
}

void ForgeHeader(FileImage* file, FuzzInput* input) {
  std::string& bytes = file->used;
  for (uint32_t changes = 1 + input->Below(4); changes > 0; --changes) {
    bytes[8 + input->Below(200)] = static_cast<char>(input->Byte());
  }
  const uint64_t checksum =
      XXH3_64bits(bytes.data() + sizeof checksum, WriteBatch::kHeaderBytes - sizeof checksum);
  std::memcpy(bytes.data(), &checksum, sizeof checksum);
}

}  // namespace

// Changes bytes of the doublewrite file and the data file after a batch. Each page must then be as
// it was written, or be detected as broken. A page that is torn in its place must be restored if
// the doublewrite file is whole. A forged header must not crash anything.
TESTBED_FUZZ_TARGET(doublewrite) {
  FuzzInput input(bytes);
  const bool compressed = input.Below(2) == 0;
  const Batch& batch = Written(compressed);
  std::vector<FileImage> files = batch.files;
  const ScratchDir dir;
  FileImage* const data = FindFile(&files, DataPath("").substr(1));
  FileImage* const doublewrite = FindFile(&files, DoublewritePath("").substr(1));
  const uint32_t kind = input.Below(3);
  for (uint32_t changes = input.Below(4); changes > 0; --changes) {
    data->used[ChooseByte(*data, 512, &input)] = static_cast<char>(input.Byte());
  }
  if (kind == 1)
    doublewrite->used[ChooseByte(*doublewrite, 512, &input)] ^= static_cast<char>(input.Byte());
  if (kind == 2) ForgeHeader(doublewrite, &input);
  WriteFiles(files, dir.path());
  const auto file = Open(dir.path(), compressed);
  try {
    file->RestoreTorn();
  } catch (const Error& e) {
    // A forged header may name a page beyond what the file system can hold.
    Require(kind == 2, e.what());
    return;
  }
  AlignedBuffer page(kPageSize);
  for (PageId id = 1; id <= kReplayPages; ++id) {
    const bool valid = file->Inspect(id, page.data()) == PageState::kValid;
    Require(valid || kind != 0, "a torn page was not restored");
    if (!valid) continue;
    Require(batch.pages[id - 1] == std::string_view(page.data(), kPageSize),
            "a page that was never written");
  }
}

}  // namespace testbed::btree
