#include <memory>

#include "device/error.h"
#include "engines/btree/page/node.h"
#include "engines/btree/page/space.h"
#include "engines/btree/pool/pool.h"
#include "engines/btree/pool/redo.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/replay_tree.h"
#include "tests/fuzz/scratch_files.h"

namespace testbed::btree {
namespace {

constexpr uint32_t kPageSize = kReplayPageSize;
constexpr PageId kPages = kReplayPages;

// Returns the pages of a small tree, in a file that each process makes once.
PageFile* Pages() {
  static const std::unique_ptr<PageFile> pages = [] {
    const ScratchDir dir;
    return MakeReplayFile(dir.path() + "/pages");
  }();
  return pages.get();
}

// Returns a record as the input describes it: actions on the tree's pages, with bytes of the input.
std::string MakeRecord(FuzzInput* input) {
  StructureRecord record;
  AlignedBuffer page(kPageSize);
  for (uint32_t n = 1 + input->Below(3); n > 0; --n) {
    const PageId id = 1 + input->Below(kPages + 4);
    const std::string key = input->Below(2) == 0 ? ReplayKey(static_cast<int>(input->Below(1200)))
                                                 : std::string(input->Bytes(input->Below(40)));
    switch (input->Below(8)) {
      case 0:
        record.Use(id, 1 + input->Below(4));
        break;
      case 1:
        record.Free(id, 1 + input->Below(4));
        break;
      case 2:
        record.Truncate(id, key);
        break;
      case 3:
        record.Insert(id, key, input->Below(40));
        break;
      case 4:
        record.Remove(id, key);
        break;
      case 5:
        record.FreePage(id);
        break;
      default: {
        MakeReplayPage(1 + id % kPages, page.data());
        Header(page.data())->id = id;
        Header(page.data())->lsn = input->Below(2000);
        for (uint32_t changes = input->Below(4); changes > 0; --changes) {
          page.data()[input->Below(kPageSize)] ^= static_cast<char>(input->Byte());
        }
        // The parts of the page from which the record is made must lie in the page.
        const NodeHeader* header = Node(page.data(), kPageSize).header();
        if (header->heap > kPageSize ||
            sizeof(NodeHeader) + Node::kSlotSize * header->count > kPageSize) {
          break;
        }
        input->Below(2) == 0 ? record.Image(page.data(), kPageSize)
                             : record.SavedImage(page.data(), kPageSize);
      }
    }
  }
  std::string bytes(record.Encode());
  for (uint32_t changes = input->Below(4); changes > 0; --changes) {
    bytes[input->Below(static_cast<uint32_t>(bytes.size()))] ^= static_cast<char>(input->Byte());
  }
  return bytes;
}

}  // namespace

// Replays records of the log. Replay must apply or refuse each, and leave well-formed pages.
TESTBED_FUZZ_TARGET(replay) {
  FuzzInput input(bytes);
  RedoLog log;
  Pool pool(Pages(), &log, Pool::BytesFor(64, kPageSize, 2000));
  PoolClient client(&pool);
  Space space(kPageSize, [](uint32_t pages) {
    if (pages > 100000) throw Error(Error::kIo, "no space left on device", ENOSPC);
  });
  StructureReplay replay(&pool, &space, &client);
  for (Lsn lsn = 1000; !input.empty(); lsn += 10) {
    const std::string raw =
        input.Below(4) == 0 ? std::string(input.Bytes(input.Below(200))) : MakeRecord(&input);
    try {
      const DecodedRecord record = DecodeRecord(raw);
      if ((record.flags & kHasStructure) != 0) replay.Apply(record.structure, lsn, lsn + 1);
      std::string_view operations = record.part.operations;
      RowWrite op;
      while (NextOperation(&operations, &op)) {
      }
    } catch (const Error&) {
    }
  }
  for (PageId id = 1; id <= kPages; ++id) {
    const SharedGuard guard = pool.Read(&client, id);
    if (Header(guard.page())->type == PageType::kFree) continue;
    const std::string fault = Node(guard.page(), kPageSize).Validate();
    Require(fault.empty(), "replay left an ill-formed page: " + fault);
  }
}

}  // namespace testbed::btree
