#include "engines/fractal/cache/meta.h"

#include <algorithm>
#include <cstring>

#include "device/error.h"
#include "engines/fractal/node/codec.h"
#include "engines/fractal/node/wire.h"

namespace testbed::fractal {
namespace {

constexpr uint64_t kMagic = 0x316c617463617266;  // "fractal1"
// This is one sector, which the device writes as a whole or not at all.
constexpr size_t kHeaderBytes = 512;

std::string Encode(const Header& h) {
  std::string bytes;
  Append(uint64_t{0}, &bytes);
  Append(kMagic, &bytes);
  Append(h.version, &bytes);
  Append(h.page_size, &bytes);
  Append(h.node_size, &bytes);
  Append(h.fanout, &bytes);
  Append(uint32_t{0}, &bytes);
  for (const uint64_t field : {h.database, h.log_id, h.number, h.replay_from, h.next_block,
                               h.table_offset, h.table_bytes, h.table_checksum}) {
    Append(field, &bytes);
  }
  bytes.resize(kHeaderBytes);
  const uint64_t checksum = Checksum(std::string_view(bytes).substr(sizeof(uint64_t)), 0);
  std::memcpy(bytes.data(), &checksum, sizeof checksum);
  return bytes;
}

std::string Decode(std::string_view bytes, Header* h) {
  WireReader reader(bytes);
  const auto checksum = reader.Take<uint64_t>();
  if (checksum != Checksum(bytes.substr(sizeof(uint64_t)), 0)) {
    return "the header's checksum does not match";
  }
  if (reader.Take<uint64_t>() != kMagic) return "it is no header of a fractal database";
  h->version = reader.Take<uint32_t>();
  h->page_size = reader.Take<uint32_t>();
  h->node_size = reader.Take<uint64_t>();
  h->fanout = reader.Take<uint32_t>();
  reader.Take<uint32_t>();
  for (uint64_t* field : {&h->database, &h->log_id, &h->number, &h->replay_from, &h->next_block,
                          &h->table_offset, &h->table_bytes, &h->table_checksum}) {
    *field = reader.Take<uint64_t>();
  }
  return "";
}

}  // namespace

std::string DataPath(const std::string& dir) { return dir + "/fractal.data"; }
std::string LogPath(const std::string& dir) { return dir + "/fractal.log"; }

HeaderSlot ReadHeaderSlot(File* file, int slot) {
  HeaderSlot result;
  AlignedBuffer buffer(kHeaderSlot);
  const size_t got =
      file->ReadSome(static_cast<uint64_t>(slot) * kHeaderSlot, buffer.data(), kHeaderSlot);
  const std::string_view bytes(buffer.data(), std::min(got, kHeaderBytes));
  result.empty = std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
  result.fault =
      bytes.size() < kHeaderBytes ? "the header is cut off" : Decode(bytes, &result.header);
  return result;
}

Header ReadHeader(File* file) {
  std::optional<Header> newest;
  std::string fault;
  for (const int slot : {0, 1}) {
    const HeaderSlot found = ReadHeaderSlot(file, slot);
    if (!found.fault.empty()) {
      fault = found.fault;
    } else if (!newest || found.header.number > newest->number) {
      newest = found.header;
    }
  }
  if (!newest) {
    throw Error(Error::kCorruption, "the data file " + file->path() +
                                        " has no sound header: " + fault +
                                        "; restore the database from a copy, or load it "
                                        "again");
  }
  if (newest->version > kFormatVersion) {
    throw Error(Error::kUsage, "the fractal database " + file->path() + " has format version " +
                                   std::to_string(newest->version) + ", this testbed knows " +
                                   std::to_string(kFormatVersion) +
                                   ": use the testbed that made it, or --fresh");
  }
  return *newest;
}

void WriteHeader(File* file, const Header& header) {
  AlignedBuffer slot(kHeaderSlot);
  std::memset(slot.data(), 0, kHeaderSlot);
  const std::string bytes = Encode(header);
  std::memcpy(slot.data(), bytes.data(), bytes.size());
  file->Write(header.number % 2 * kHeaderSlot, slot.data(), kHeaderSlot);
}

std::string SerializeTables(const std::vector<TableEntry>& tables) {
  std::string bytes;
  Append(static_cast<uint64_t>(tables.size()), &bytes);
  for (const TableEntry& table : tables) {
    Append(table.id, &bytes);
    Append(table.root, &bytes);
    Append(static_cast<uint16_t>(table.name.size()), &bytes);
    bytes.append(table.name);
  }
  return bytes;
}

constexpr uint64_t kMostOffset = 1ull << 62;  // greater than the size of any file

bool ParseTable(std::string_view bytes, std::vector<TableEntry>* tables, BlockTable::Blocks* blocks,
                std::string* why) {
  WireReader reader(bytes);
  for (auto n = reader.Take<uint64_t>(); n > 0 && reader.ok(); --n) {
    TableEntry table;
    table.id = reader.Take<uint32_t>();
    table.root = reader.Take<BlockId>();
    table.name = reader.Bytes(reader.Take<uint16_t>());
    tables->push_back(std::move(table));
  }
  for (auto n = reader.Take<uint64_t>(); n > 0 && reader.ok(); --n) {
    const auto block = reader.Take<BlockId>();
    BlockPlace place;
    place.offset = reader.Take<uint64_t>();
    place.bytes = reader.Take<uint32_t>();
    place.header_bytes = reader.Take<uint32_t>();
    place.header_checksum = reader.Take<uint64_t>();
    if (place.offset < kFileBegin || place.offset > kMostOffset ||
        place.header_bytes > place.bytes || !blocks->emplace(block, place).second) {
      *why = "the translation table has an impossible entry";
      return false;
    }
  }
  if (!reader.ok()) *why = "the translation table is cut off";
  return reader.ok();
}

bool ReadTable(File* file, const Header& header, std::vector<TableEntry>* tables,
               BlockTable::Blocks* blocks, std::string* why) {
  if (header.table_offset < kFileBegin || header.table_bytes > (1ull << 32)) {
    *why = "the header names no place where the table could be";
    return false;
  }
  AlignedBuffer bytes(header.table_bytes);
  const size_t got = file->ReadSome(header.table_offset, bytes.data(), header.table_bytes);
  const std::string_view table(bytes.data(), got);
  if (got < header.table_bytes || Checksum(table, header.number) != header.table_checksum) {
    *why = "the translation table's checksum does not match";
    return false;
  }
  return ParseTable(table, tables, blocks, why);
}

}  // namespace testbed::fractal
