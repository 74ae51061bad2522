#include "engines/fractal/log_record.h"

#include "device/error.h"
#include "engines/fractal/node/wire.h"

namespace testbed::fractal {
namespace {

constexpr uint8_t kCommit = 1, kTable = 2;

[[noreturn]] void MalformedRecord() {
  throw Error(Error::kCorruption, "a record of the fractal log is not well-formed");
}

}  // namespace

void AppendOperation(const RowWrite& op, std::string* to) {
  Append(static_cast<uint8_t>(op.erase ? 1 : 0), to);
  Append(op.table, to);
  Append(static_cast<uint16_t>(op.key.size()), to);
  Append(static_cast<uint32_t>(op.value.size()), to);
  to->append(op.key);
  to->append(op.value);
}

std::string CommitHeader(uint64_t transaction, bool more) {
  std::string header;
  Append(kCommit, &header);
  Append(transaction, &header);
  Append(static_cast<uint8_t>(more ? 1 : 0), &header);
  return header;
}

std::string TableRecord(uint32_t table, std::string_view name) {
  std::string record;
  Append(kTable, &record);
  Append(table, &record);
  record.append(name);
  return record;
}

DecodedRecord DecodeRecord(std::string_view bytes) {
  WireReader reader(bytes);
  DecodedRecord record;
  switch (reader.Take<uint8_t>()) {
    case kCommit:
      record.part.transaction = reader.Take<uint64_t>();
      record.part.more = reader.Take<uint8_t>() != 0;
      record.part.operations = reader.Bytes(reader.left());
      break;
    case kTable:
      record.is_table = true;
      record.table = reader.Take<uint32_t>();
      record.name = reader.Bytes(reader.left());
      break;
    default:
      MalformedRecord();
  }
  if (!reader.ok()) MalformedRecord();
  return record;
}

bool NextOperation(std::string_view* operations, RowWrite* op) {
  if (operations->empty()) return false;
  WireReader reader(*operations);
  op->erase = reader.Take<uint8_t>() != 0;
  op->table = reader.Take<uint32_t>();
  const auto key_size = reader.Take<uint16_t>();
  const auto value_size = reader.Take<uint32_t>();
  op->key = reader.Bytes(key_size);
  op->value = reader.Bytes(value_size);
  if (!reader.ok()) MalformedRecord();
  operations->remove_prefix(operations->size() - reader.left());
  return true;
}

}  // namespace testbed::fractal
