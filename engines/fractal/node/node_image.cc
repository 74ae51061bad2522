#include "engines/fractal/node/node_image.h"

#include <cstring>
#include <utility>

#include "device/error.h"

namespace testbed::fractal {
namespace {

constexpr uint32_t kMagic = 0x63617266;  // "frac"
constexpr size_t kPlaceBytes = 3 * sizeof(uint32_t) + 1 + sizeof(uint64_t);
constexpr uint32_t kMostHeight = 64;

bool Fail(std::string* why, const char* what) {
  *why = what;
  return false;
}

}  // namespace

size_t Snapshot::bytes() const {
  size_t bytes = 0;
  for (const BasementRef& rows : this->rows) bytes += rows->bytes().size();
  for (const std::string& buffer : buffers) bytes += buffer.size();
  return bytes;
}

Snapshot TakeSnapshot(const Node& node) {
  Snapshot s;
  s.block = node.block;
  s.height = node.height;
  s.max_number = node.max_number;
  s.pivots = node.pivots;
  s.changes = node.changes;
  for (const Part& part : node.parts) {
    if (node.leaf()) {
      s.rows.push_back(part.rows);
    } else {
      s.children.push_back(part.child);
      s.buffers.push_back(part.buffer->Serialize());
    }
  }
  return s;
}

namespace {

// Returns the header, with the places of the parts. The checksum is set last.
std::string EncodeHeader(const Snapshot& s, size_t bytes, NodeImage* image) {
  std::string header;
  header.reserve(bytes);
  Append(uint64_t{0}, &header);
  Append(kMagic, &header);
  Append(static_cast<uint32_t>(bytes), &header);
  Append(s.block, &header);
  Append(s.max_number, &header);
  Append(s.height, &header);
  Append(static_cast<uint32_t>(image->places.size()), &header);
  for (const PartPlace& place : image->places) {
    Append(place.start, &header);
    Append(place.stored, &header);
    Append(place.raw, &header);
    Append(static_cast<uint8_t>(place.codec), &header);
    Append(place.checksum, &header);
  }
  for (const BlockId child : s.children) Append(child, &header);
  for (const std::string& pivot : s.pivots) {
    Append(static_cast<uint16_t>(pivot.size()), &header);
    header.append(pivot);
  }
  image->header_checksum = Checksum(std::string_view(header).substr(sizeof(uint64_t)), s.block);
  std::memcpy(header.data(), &image->header_checksum, sizeof image->header_checksum);
  return header;
}

}  // namespace

NodeImage MakeImage(const Snapshot& s, Codec codec, AlignedBuffer buffer) {
  NodeImage image;
  const size_t n = s.height == 0 ? s.rows.size() : s.buffers.size();
  size_t header_bytes = 3 * sizeof(uint64_t) + 4 * sizeof(uint32_t) + n * kPlaceBytes +
                        s.children.size() * sizeof(BlockId);
  for (const std::string& pivot : s.pivots) header_bytes += sizeof(uint16_t) + pivot.size();
  const size_t most = RoundUpToUnit(header_bytes + s.bytes());
  // A place in a node has 32 bits. No node comes near to that length (kMostTransactionBytes,
  // store.h).
  if (most > UINT32_MAX) {
    throw Error(Error::kRun, "a node of fractal would have " + std::to_string(most) +
                                 " bytes, and takes less than 4 GiB");
  }
  if (buffer.size() < most) buffer = AlignedBuffer(most);
  char* const bytes = buffer.data();
  size_t at = header_bytes;
  for (size_t i = 0; i < n; ++i) {
    const std::string_view raw = s.height == 0 ? s.rows[i]->bytes() : s.buffers[i];
    PartPlace place;
    size_t stored;
    place.codec = Compress(codec, raw, bytes + at, &stored);
    place.start = static_cast<uint32_t>(at);
    place.raw = static_cast<uint32_t>(raw.size());
    place.stored = static_cast<uint32_t>(stored);
    place.checksum = Checksum({bytes + at, stored}, s.block);
    at += stored;
    image.raw_bytes += raw.size();
    image.places.push_back(place);
  }
  image.extent = RoundUpToUnit(at);
  std::memset(bytes + at, 0, image.extent - at);
  const std::string header = EncodeHeader(s, header_bytes, &image);
  std::memcpy(bytes, header.data(), header_bytes);
  image.header_bytes = static_cast<uint32_t>(header_bytes);
  image.bytes = std::move(buffer);
  return image;
}

bool ParseHeader(std::string_view header, uint64_t extent_bytes, Node* node, std::string* why) {
  WireReader reader(header);
  const auto checksum = reader.Take<uint64_t>();
  if (!reader.ok() || checksum != Checksum(header.substr(sizeof(uint64_t)), node->block)) {
    return Fail(why, "its header's checksum does not match");
  }
  if (reader.Take<uint32_t>() != kMagic) return Fail(why, "it is no node");
  if (reader.Take<uint32_t>() != header.size()) return Fail(why, "its header has another length");
  if (reader.Take<BlockId>() != node->block) return Fail(why, "it is another node");
  node->max_number = reader.Take<uint64_t>();
  node->height = reader.Take<uint32_t>();
  const auto n = reader.Take<uint32_t>();
  if (!reader.ok() || n == 0 || n > reader.left() / kPlaceBytes || node->height > kMostHeight) {
    return Fail(why, "its header makes no sense");
  }
  node->parts.resize(n);
  uint64_t end = header.size();  // end of the bytes before the part
  for (Part& part : node->parts) {
    PartPlace& place = part.place;
    place.start = reader.Take<uint32_t>();
    place.stored = reader.Take<uint32_t>();
    place.raw = reader.Take<uint32_t>();
    const auto codec = reader.Take<uint8_t>();
    place.checksum = reader.Take<uint64_t>();
    if (codec > static_cast<uint8_t>(kLastCodec) ||
        uint64_t{place.start} + place.stored > extent_bytes || place.start < header.size()) {
      return Fail(why, "a part lies outside of it");
    }
    // A run of parts is read from the begin of its first part to the end of its last.
    if (place.start < end) return Fail(why, "its parts are not one behind the other");
    end = uint64_t{place.start} + place.stored;
    place.codec = static_cast<Codec>(codec);
  }
  if (!node->leaf()) {
    for (Part& part : node->parts) part.child = reader.Take<BlockId>();
  }
  for (uint32_t i = 1; i < n; ++i) {
    node->pivots.emplace_back(reader.Bytes(reader.Take<uint16_t>()));
    if (i > 1 && node->pivots[i - 2] >= node->pivots[i - 1]) {
      return Fail(why, "its pivots are not in ascending order");
    }
  }
  return reader.done() || Fail(why, "its header is cut off");
}

bool ParsePart(std::string_view stored, const PartPlace& place, BlockId block, bool leaf,
               Part* part, std::string* why) {
  if (Checksum(stored, block) != place.checksum) {
    return Fail(why, "a part's checksum does not match");
  }
  std::string raw(place.raw, '\0');
  if (!Expand(place.codec, stored, place.raw, raw.data())) {
    return Fail(why, "a part does not expand");
  }
  if (leaf) {
    if (!Basement::Validate(raw, why)) return false;
    part->rows = std::make_shared<const Basement>(std::move(raw));
  } else {
    auto buffer = std::make_unique<MessageBuffer>();
    if (!buffer->Parse(raw, why)) return false;
    part->buffer = std::move(buffer);
  }
  return true;
}

}  // namespace testbed::fractal
