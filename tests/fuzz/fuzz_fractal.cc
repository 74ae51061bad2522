#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/fractal/cache/block_table.h"
#include "engines/fractal/cache/meta.h"
#include "engines/fractal/log_record.h"
#include "engines/fractal/node/basement.h"
#include "engines/fractal/node/message_buffer.h"
#include "engines/fractal/node/node_image.h"
#include "tests/fuzz/fuzz_target.h"

namespace testbed::fractal {
namespace {

constexpr BlockId kBlock = 7;
constexpr size_t kPageSize = 4096;
constexpr uint32_t kMostRaw = 16 << 20;

void UseBasement(std::string_view bytes) {
  std::string why;
  if (!Basement::Validate(bytes, &why)) {
    Require(!why.empty(), "a basement refused without a reason");
    return;
  }
  const Basement basement{std::string(bytes)};
  BasementBuilder builder(bytes.size());
  for (uint32_t i = 0; i < basement.count(); ++i) {
    bool equal;
    Require(basement.LowerBound(basement.key(i), &equal) == i && equal, "a row is not found");
    builder.Add(basement.key(i), basement.value(i));
  }
  Require(builder.Finish()->bytes() == bytes, "its rows make another basement");
}

void UseBuffer(std::string_view bytes) {
  MessageBuffer buffer;
  std::string why;
  if (!buffer.Parse(bytes, &why)) {
    Require(!why.empty(), "a buffer refused without a reason");
    return;
  }
  const std::vector<Message> messages = buffer.All();
  for (const Message& m : messages) {
    const std::optional<Message> found = buffer.Find(m.key);
    Require(found && found->number == m.number && found->value == m.value, "a message is lost");
  }
  const std::string stored = buffer.Serialize();
  MessageBuffer again;
  Require(again.Parse(stored, &why) && again.Serialize() == stored, "another buffer: " + why);
  again.Add({1, false, "key", "value"});
  Require(again.Find("key")->value == "value", "a message cannot be added");
}

// Generates keys in ascending order.
class Keys {
 public:
  std::string Next(FuzzInput* input) {
    char number[16];
    snprintf(number, sizeof number, "%06u", at_ += 1 + input->Below(200));
    return number + std::string(input->Bytes(input->Below(8)));
  }

 private:
  uint32_t at_ = 0;
};

Snapshot MakeNode(FuzzInput* input) {
  Snapshot s;
  s.block = kBlock;
  s.height = input->Below(3);
  s.max_number = input->Below(1000);
  const uint32_t parts = 1 + input->Below(6);
  Keys keys;
  for (uint32_t i = 0; i < parts; ++i) {
    if (i > 0) s.pivots.push_back(keys.Next(input));
    if (s.height == 0) {
      BasementBuilder builder(kPageSize);
      for (uint32_t rows = input->Below(10); rows > 0; --rows) {
        const std::string key = keys.Next(input);
        builder.Add(key, std::string(input->Below(40), 'v'));
      }
      s.rows.push_back(builder.Finish());
    } else {
      MessageBuffer buffer;
      for (uint32_t n = input->Below(10); n > 0; --n) {
        const std::string key = keys.Next(input);
        buffer.Add({input->Below(1000), input->Below(4) == 0, key, "value"});
      }
      s.buffers.push_back(buffer.Serialize());
      s.children.push_back(8 + i);
    }
  }
  return s;
}

// Makes a node as the input describes it, changes some bytes, makes its checksums right again, and
// reads it.
void UseNode(FuzzInput* input) {
  const Snapshot snapshot = MakeNode(input);
  constexpr Codec kCodecs[] = {Codec::kNone, Codec::kLz4, Codec::kZlib, Codec::kZstd};
  NodeImage image = MakeImage(snapshot, kCodecs[input->Below(4)]);
  char* const bytes = image.bytes.data();
  const uint32_t changes = input->Below(4);
  for (uint32_t i = 0; i < changes; ++i) {
    const uint32_t from = input->Below(2) == 0 ? image.header_bytes : image.extent;
    bytes[input->Below(from)] ^= static_cast<char>(input->Byte());
  }
  const std::string_view header(bytes, image.header_bytes);
  const uint64_t checksum = Checksum(header.substr(sizeof checksum), kBlock);
  std::memcpy(bytes, &checksum, sizeof checksum);
  Node node(kBlock);
  std::string why;
  if (!ParseHeader(header, image.extent, &node, &why)) {
    Require(changes > 0 && !why.empty(), "a node refused: " + why);
    return;
  }
  for (Part& part : node.parts) {
    if (part.place.raw > kMostRaw) return;  // would only take memory
    const std::string_view stored(bytes + part.place.start, part.place.stored);
    part.place.checksum = Checksum(stored, kBlock);
    if (!ParsePart(stored, part.place, kBlock, node.leaf(), &part, &why)) {
      Require(changes > 0 && !why.empty(), "a part refused: " + why);
      return;
    }
  }
  const NodeImage again = MakeImage(TakeSnapshot(node), Codec::kNone);
  Node other(kBlock);
  Require(ParseHeader({again.bytes.data(), again.header_bytes}, again.extent, &other, &why),
          "a node makes none: " + why);
  Require(other.pivots == node.pivots && other.parts.size() == node.parts.size(),
          "a node makes another");
}

void UseTable(std::string_view bytes) {
  std::vector<TableEntry> tables;
  BlockTable::Blocks blocks;
  std::string why;
  if (!ParseTable(bytes, &tables, &blocks, &why)) {
    Require(!why.empty(), "a table refused without a reason");
    return;
  }
  BlockTable table(kFileBegin);
  const size_t entries = blocks.size();
  if (!table.Restore(std::move(blocks), kFileBegin, kExtentUnit, &why)) return;
  Require(table.sizes().blocks == entries, "blocks are lost");
  const uint64_t place = table.Allocate(kExtentUnit);
  Require(place >= kFileBegin + kExtentUnit, "the table's own extent is given away");
}

void UseRecord(std::string_view bytes) {
  try {
    const DecodedRecord record = DecodeRecord(bytes);
    std::string_view operations = record.part.operations;
    std::string again = CommitHeader(record.part.transaction, record.part.more);
    RowWrite op;
    while (NextOperation(&operations, &op)) AppendOperation(op, &again);
    if (!record.is_table) Require(again.size() == bytes.size(), "operations are lost");
  } catch (const Error& e) {
    Require(e.kind() == Error::kCorruption, e.what());
  }
}

}  // namespace

// Decodes bytes whose checksum is right as the parts of fractal's files: basements, buffers, nodes,
// the translation table, log records. Each must be refused, or hold what its header says.
TESTBED_FUZZ_TARGET(fractal) {
  FuzzInput input(bytes);
  const uint32_t kind = input.Below(6);
  const std::string_view rest = bytes.substr(std::min<size_t>(1, bytes.size()));
  switch (kind) {
    case 0:
      return UseBasement(rest);
    case 1:
      return UseBuffer(rest);
    case 2:
      return UseTable(rest);
    case 3:
      return UseRecord(rest);
    default:
      return UseNode(&input);
  }
}

}  // namespace testbed::fractal
