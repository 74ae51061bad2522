#include "tools/crashtest/crash_model.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "workloads/random.h"

namespace testbed {
namespace {

constexpr uint64_t kLongestValue = 100 << 10;
constexpr uint64_t kJunkAhead = 1000000;  // transactions between a key of the queue and its junk

uint64_t Hash(int client, uint64_t write) {
  return Mix64(write * 64 + static_cast<uint64_t>(client) + 1);
}

}  // namespace

const char* CrashTableName(CrashTable table) {
  static constexpr const char* kNames[] = {"left", "right",      "queue",
                                           "last", "left_index", "right_index"};
  return kNames[static_cast<size_t>(table)];
}

const std::vector<IndexPart>& CrashIndexParts(CrashTable index) {
  static const std::vector<IndexPart> kLeft = {{0, 8}}, kRight = {{4, 6}, {0, 2}};
  return index == CrashTable::kLeftIndex ? kLeft : kRight;
}

void CrashValue(const RowVersion& version, std::string* value) {
  value->clear();
  if (version.index) return;
  if (version.last) {
    value->assign(std::to_string(version.write));
    return;
  }
  const uint64_t hash = Hash(version.client, version.write);
  const uint64_t kind = hash % 128, length = hash >> 20;
  const uint64_t size = 16 + (kind == 0   ? length % kLongestValue
                              : kind < 16 ? length % 5000
                                          : length % 300);
  value->resize(size);
  // Values have few different beginnings, so that an index has many entries with equal keys. Half
  // of the values can be compressed.
  for (uint64_t i = 0; i < size; i += 8) {
    const uint64_t word = i == 0 ? Mix64(hash % 1000) : Mix64(hash + (kind % 2 == 0 ? i : i % 64));
    std::memcpy(value->data() + i, &word, std::min<uint64_t>(8, size - i));
  }
}

ClientModel::ClientModel(int client, uint32_t rows_per_transaction)
    : client_(client), rows_(rows_per_transaction) {
  for (auto* of_tables : {&written_, &before_}) {
    for (auto& slots : *of_tables) slots.assign(kSlots, 0);
  }
}

std::string ClientModel::SlotKey(uint32_t slot) const {
  std::string key = fmt::format("{:04x}-{:02d}-{:04d}", Mix64(slot) & 0xffff, client_, slot);
  if (slot % 11 == 0) key.append(90, '+');
  return key;
}

// Keys of the queue are in the order of the transactions, so that one side of the tree grows and
// the other shrinks.
std::string ClientModel::QueueKey(uint64_t n) const {
  return fmt::format("{:02d}-{:012d}", client_, n);
}

std::string ClientModel::IndexKey(size_t table, uint32_t slot, uint64_t write) const {
  std::string value, key;
  CrashValue({client_, write}, &value);
  const auto index = table == 0 ? CrashTable::kLeftIndex : CrashTable::kRightIndex;
  for (const IndexPart& part : CrashIndexParts(index))
    key += value.substr(part.offset, part.length);
  return key + SlotKey(slot);
}

void ClientModel::Add(CrashTable table, bool erase, std::string key, const RowVersion& version) {
  CrashWrite write{table, erase, std::move(key), {}};
  if (!erase) CrashValue(version, &write.value);
  writes_.push_back(std::move(write));
}

void ClientModel::WriteSlot(size_t table, uint32_t slot, uint64_t write, bool erase, bool make) {
  uint64_t& now = written_[table][slot];
  const auto rows = table == 0 ? CrashTable::kLeft : CrashTable::kRight;
  const auto index = table == 0 ? CrashTable::kLeftIndex : CrashTable::kRightIndex;
  if (make && now != 0) Add(index, true, IndexKey(table, slot, now), {});
  if (now != 0) before_[table][slot] = now;
  now = erase ? 0 : write;
  if (!make) return;
  Add(rows, erase, SlotKey(slot), {client_, now});
  if (!erase) Add(index, false, IndexKey(table, slot, now), {.index = true});
}

void ClientModel::Step(bool make) {
  const uint64_t n = ++transactions_;
  Random random(Hash(client_, n));
  const uint32_t rows = n % 101 == 0 ? 300 : rows_;
  // In every other 200 transactions most writes erase, so that pages become empty, are merged and
  // are freed.
  const uint64_t erased_pct = n / 200 % 2 == 0 ? 20 : 60;
  for (uint32_t r = 0; r < rows; ++r) {
    const auto slot = static_cast<uint32_t>(random.Below(kSlots));
    WriteSlot(r % 2, slot, n * kMostRows + r, random.Below(100) < erased_pct, make);
  }
  if (!make) return;
  Add(CrashTable::kQueue, false, QueueKey(n), {client_, n * kMostRows + kMostRows - 1});
  if (n > kQueued) Add(CrashTable::kQueue, true, QueueKey(n - kQueued), {});
  Add(CrashTable::kLast, false, fmt::format("client-{:02d}", client_), {.write = n, .last = true});
}

const std::vector<CrashWrite>& ClientModel::Next() {
  writes_.clear();
  Step(true);
  return writes_;
}

void ClientModel::SkipTo(uint64_t n) {
  while (transactions_ < n) Step(false);
}

std::vector<CrashWrite> ClientModel::Junk() const {
  std::vector<CrashWrite> writes;
  for (uint32_t i = 0; i < 4; ++i) {
    const auto slot = static_cast<uint32_t>(Mix64(transactions_ + i) % kSlots);
    const auto table = i % 2 == 0 ? CrashTable::kLeft : CrashTable::kRight;
    writes.push_back({table, i == 3, SlotKey(slot), std::string(50 * (i + 1), 'j')});
  }
  writes.push_back({CrashTable::kQueue, false, QueueKey(transactions_ + kJunkAhead), "junk"});
  return writes;
}

void ClientModel::AddRows(CrashTable table, std::map<std::string, RowVersion>* rows) const {
  if (table == CrashTable::kLast) {
    if (transactions_ == 0) return;
    rows->emplace(fmt::format("client-{:02d}", client_),
                  RowVersion{.write = transactions_, .last = true});
    return;
  }
  if (table == CrashTable::kQueue) {
    for (uint64_t n = transactions_ > kQueued ? transactions_ - kQueued + 1 : 1; n <= transactions_;
         ++n) {
      rows->emplace(QueueKey(n), RowVersion{client_, n * kMostRows + kMostRows - 1});
    }
    return;
  }
  const bool index = IsCrashIndex(table);
  const size_t of = table == CrashTable::kLeft || table == CrashTable::kLeftIndex ? 0 : 1;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const uint64_t write = written_[of][slot];
    if (write == 0) continue;
    rows->emplace(index ? IndexKey(of, slot, write) : SlotKey(slot),
                  RowVersion{client_, write, index});
  }
}

void ClientModel::AddAbsent(CrashTable table, std::vector<std::string>* keys) const {
  if (table == CrashTable::kQueue) {
    for (uint64_t n = 1; n < 20; ++n) {
      if (transactions_ >= kQueued + n) keys->push_back(QueueKey(transactions_ - kQueued - n + 1));
      keys->push_back(QueueKey(transactions_ + n));
      if (transactions_ + 1 >= n) keys->push_back(QueueKey(transactions_ + 1 - n + kJunkAhead));
    }
  }
  if (table == CrashTable::kQueue || table == CrashTable::kLast) return;
  const size_t of = table == CrashTable::kLeft || table == CrashTable::kLeftIndex ? 0 : 1;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const uint64_t now = written_[of][slot], before = before_[of][slot];
    if (!IsCrashIndex(table)) {
      if (now == 0) keys->push_back(SlotKey(slot));
    } else if (before != 0) {
      std::string key = IndexKey(of, slot, before);
      // A value may begin as the one that it replaced.
      if (now == 0 || key != IndexKey(of, slot, now)) keys->push_back(std::move(key));
    }
  }
}

}  // namespace testbed
