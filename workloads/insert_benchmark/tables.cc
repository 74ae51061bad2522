#include "workloads/insert_benchmark/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/error.h"
#include "device/os/signal_guard.h"

namespace testbed {
namespace {

constexpr const char* kIndexNames[IbSchema::kMaxIndexes] = {"market", "register", "pdc"};
constexpr char kSetupKey[] = "setup";
constexpr char kClientsKey[] = "clients";

std::string IndexedKey(uint32_t client) { return fmt::format("indexed.{}", client + 1); }
std::string NextKey(uint32_t client) { return fmt::format("next.{}", client + 1); }

}  // namespace

std::string IbTables::TableName(uint32_t owner) const {
  return options_.shared ? "pi" : fmt::format("pi{}", owner + 1);
}

void IbTables::OpenSet(const std::string& name) {
  Set set;
  set.rows = engine_->OpenTable(name);
  for (uint32_t k = 0; k < options_.indexes && !engine_->KeepsIndexes(); ++k) {
    set.indexes[k] = engine_->OpenTable(name + "_" + kIndexNames[k]);
  }
  sets_.push_back(set);
}

void IbTables::OpenIndexes(uint32_t owner) {
  Set& set = sets_[owner];
  for (uint32_t k = 0; k < options_.indexes; ++k) {
    set.indexes[k] = engine_->OpenIndex(TableName(owner) + "_" + kIndexNames[k], set.rows,
                                        IbSchema::IndexParts(k));
  }
}

void IbTables::BuildIndexes(uint32_t client) {
  if (!options_.shared || client == 0) OpenIndexes(options_.shared ? 0 : client);
}

void IbTables::Open(Engine& engine, int clients, Need need, const std::string& step) {
  options_.clients = static_cast<uint32_t>(clients);
  schema_ = std::make_unique<IbSchema>(options_);
  schema_->PrepareData();
  sets_.clear();
  states_.clear();
  engine_ = &engine;
  meta_ = engine.OpenTable("ib");
  const uint32_t all = AllClients(*engine.NewSession());
  const uint32_t owners = options_.shared ? 1 : all;
  for (uint32_t owner = 0; owner < owners; ++owner) OpenSet(TableName(owner));
  for (uint32_t c = 0; c < all; ++c) states_.push_back(std::make_unique<IbClientState>());
  std::unique_ptr<Session> session = engine.NewSession();
  Recognise(*session, need, step);
  for (uint32_t owner = 0; owner < owners && engine.KeepsIndexes(); ++owner) {
    if (options_.indexes > 0 && Indexed(*session, owner)) OpenIndexes(owner);
  }
  for (uint32_t c = 0; c < all; ++c) FindBounds(*session, c);
}

// Returns the settings from which the rows were made. The number of clients matters only to a
// shared table; with separate tables, fewer clients may use them than filled them.
std::string IbTables::Setup() const {
  return fmt::format("rows 1; seed {}; {}; indexes {}; data {} to {}, {} % random", options_.seed,
                     options_.shared ? fmt::format("one table of {} clients", options_.clients)
                                     : "a table a client",
                     options_.indexes, options_.data_min, options_.data_max, options_.random_pct);
}

bool IbTables::Indexed(Session& session, uint32_t client) const {
  std::string_view value;
  return session.Get(meta_, IndexedKey(client), &value);
}

void IbTables::RecordIndexed(Session& session, uint32_t client) const {
  session.Put(meta_, IndexedKey(client), "built");
}

bool IbTables::AllIndexed(Session& session, uint32_t owner) const {
  if (!options_.shared) return Indexed(session, owner);
  uint32_t c = 0;
  while (c < options_.clients && Indexed(session, c)) ++c;
  return c == options_.clients;
}

void IbTables::RecordNext(Session& session, uint32_t client, uint64_t next) const {
  char number[8];
  IbPut(next, sizeof number, number);
  session.Put(meta_, NextKey(client), {number, sizeof number});
}

uint32_t IbTables::AllClients(Session& session) const {
  std::string_view value;
  // An engine that stores nothing answers with an empty value, and so names no client.
  const bool known = session.Get(meta_, kSetupKey, &value) && !value.empty();
  if (!known || options_.shared) return options_.clients;
  if (session.Get(meta_, kClientsKey, &value) && value.size() == 8) {
    return std::max(options_.clients, static_cast<uint32_t>(IbGet(value.data(), 8)));
  }
  // Databases of older versions tell only the clients whose indexes are built.
  uint32_t clients = 0;
  while (Indexed(session, clients)) ++clients;
  return std::max(options_.clients, clients);
}

void IbTables::RecordClients(Session& session) const {
  std::string_view value;
  const bool known = session.Get(meta_, kClientsKey, &value) && value.size() == 8;
  if (options_.shared || (known && IbGet(value.data(), 8) == states_.size())) return;
  char number[8];
  IbPut(states_.size(), sizeof number, number);
  session.Put(meta_, kClientsKey, {number, sizeof number});
}

bool IbTables::HoldsRows(Session& session, uint32_t client) const {
  return session.NewCursor(set(client).rows)->First();
}

void IbTables::Recognise(Session& session, Need need, const std::string& step) {
  std::string_view value;
  const bool known = session.Get(meta_, kSetupKey, &value);
  // An engine that stores nothing cannot hold rows made with other settings.
  if (known && value.empty()) return;
  if (!known) {
    if (need != kNew && need != kNewIndexed) {
      throw Error(Error::kUsage,
                  fmt::format("{} finds no rows of the insert benchmark; run ib.i0 before it, in "
                              "the same --workload or with --dir and --reuse",
                              step));
    }
    session.Put(meta_, kSetupKey, Setup());
  } else if (value != Setup()) {
    throw Error(Error::kUsage, fmt::format("{} was asked for \"{}\" and the database holds \"{}\"; "
                                           "give the same --seed, --threads and --workload-option, "
                                           "or load it anew",
                                           step, Setup(), value));
  } else if (need == kNew) {
    throw Error(Error::kUsage,
                fmt::format("{} loads an empty database, and this one holds rows of the insert "
                            "benchmark; load it anew",
                            step));
  }
  uint32_t indexed_clients = 0;
  for (uint32_t c = 0; c < options_.clients; ++c) {
    // A client beyond those that inserted before has no rows yet.
    if (need == kNewIndexed && (!known || !HoldsRows(session, c))) RecordIndexed(session, c);
    const bool indexed = options_.indexes == 0 || Indexed(session, c);
    indexed_clients += indexed;
    if ((need == kIndexed || need == kNewIndexed) && !indexed) {
      throw Error(Error::kUsage,
                  fmt::format("{} needs client {}'s rows with their indexes; run ib.i0 and ib.x "
                              "with as many --threads before it",
                              step, c + 1));
    }
  }
  if (need == kUnindexed && options_.indexes > 0 && indexed_clients == options_.clients) {
    throw Error(Error::kUsage,
                fmt::format("{} builds the secondary indexes, and the database has them; go on "
                            "with ib.i1, or load it anew",
                            step));
  }
  RecordClients(session);
}

void IbTables::FindBounds(Session& session, uint32_t client) {
  std::unique_ptr<Cursor> cursor = session.NewCursor(set(client).rows);
  const auto mine = [&](uint64_t id) { return schema_->ClientOf(id, client) == client; };
  const auto id = [&] { return IbGet(cursor->key().data(), IbSchema::kKeySize); };
  // In a shared table other clients' rows may come first or last. They are few unless a step was
  // interrupted.
  bool on = cursor->First();
  while (on && !mine(id())) on = cursor->Next();
  IbClientState::Inserter& state = states_[client]->inserter;
  if (!on) {
    cursor.reset();
    std::string_view next;
    if (session.Get(meta_, NextKey(client), &next) && next.size() == 8) {
      state.first = state.next = IbGet(next.data(), 8);
    }
    return;
  }
  state.first = schema_->NumberOf(id());
  on = cursor->Last();
  while (on && !mine(id())) on = cursor->Prev();
  state.next = schema_->NumberOf(id()) + 1;
}

uint64_t IbTables::RowsOfFirst(size_t clients) const {
  uint64_t n = 0;
  for (size_t c = 0; c < std::min(clients, states_.size()); ++c) {
    n += states_[c]->inserter.next - states_[c]->inserter.first;
  }
  return n;
}

uint64_t IbTables::RowsOf(uint32_t owner) const {
  return options_.shared ? rows() : states_[owner]->inserter.next - states_[owner]->inserter.first;
}

bool IbTables::Belongs(uint64_t id, uint32_t owner) const {
  if (id == 0) return false;
  const IbClientState::Inserter& state = states_[schema_->ClientOf(id, owner)]->inserter;
  const uint64_t n = schema_->NumberOf(id);
  return n >= state.first && n < state.next;
}

std::string IbTables::CheckRows(Session& session, uint32_t owner, uint64_t every) const {
  std::string room(schema_->max_value_size(), '\0');
  uint64_t rows = 0, last = 0;
  std::unique_ptr<Cursor> cursor = session.NewCursor(set(owner).rows);
  for (bool on = cursor->First(); on; on = cursor->Next(), ++rows) {
    if (StopRequested()) return {};
    const bool sized = cursor->key().size() == IbSchema::kKeySize;
    const uint64_t id = sized ? IbGet(cursor->key().data(), IbSchema::kKeySize) : 0;
    if (!Belongs(id, owner) || id <= last) {
      return fmt::format("table {} holds a row {} that it should not hold there", TableName(owner),
                         id);
    }
    last = id;
    const uint64_t n = schema_->NumberOf(id);
    if (n % every == 0 &&
        !schema_->Check(schema_->ClientOf(id, owner), n, cursor->value(), room.data())) {
      return fmt::format("row {} of table {} is not what was inserted", id, TableName(owner));
    }
  }
  if (rows == RowsOf(owner)) return {};
  return fmt::format("table {} holds {} rows, not the {} that it should", TableName(owner), rows,
                     RowsOf(owner));
}

std::string IbTables::CheckIndex(Session& session, uint32_t owner, uint32_t index,
                                 uint64_t every) const {
  const bool indexed = Indexed(session, owner);
  if (engine_->KeepsIndexes() && !indexed) return {};  // the index does not exist yet
  const std::string name = fmt::format("{}_{}", TableName(owner), kIndexNames[index]);
  std::string room(schema_->max_value_size(), '\0');
  char key[IbSchema::kMaxIndexKeySize];
  uint64_t entries = 0;
  std::string last;
  std::unique_ptr<Cursor> cursor = session.NewCursor(set(owner).indexes[index]);
  for (bool on = cursor->First(); on; on = cursor->Next(), ++entries) {
    if (StopRequested()) return {};
    const std::string_view found = cursor->key();
    const uint64_t id = found.size() < IbSchema::kKeySize ? 0 : IbSchema::IdOfIndexKey(found);
    if (!Belongs(id, owner) || found <= last) {
      return fmt::format("index {} holds an entry of row {} that it should not hold there", name,
                         id);
    }
    last = found;
    const uint64_t n = schema_->NumberOf(id);
    if (n % every != 0) continue;
    const size_t size = schema_->Value(schema_->ClientOf(id, owner), n, room.data());
    if (found != std::string_view(key, IbSchema::IndexKey(index, id, {room.data(), size}, key))) {
      return fmt::format("index {} has a wrong entry for row {}", name, id);
    }
  }
  // An interrupted build leaves some entries, which the next build writes again.
  if (entries == RowsOf(owner) || !AllIndexed(session, owner)) return {};
  return fmt::format("index {} holds {} entries, not the {} that it should", name, entries,
                     RowsOf(owner));
}

std::string IbTables::Check(Engine& engine, uint64_t contents) const {
  if (contents == 0) return {};
  const uint64_t every = std::max<uint64_t>(1, (rows() + contents - 1) / contents);
  std::unique_ptr<Session> session = engine.NewSession();
  for (uint32_t owner = 0; owner < sets_.size(); ++owner) {
    std::string wrong = CheckRows(*session, owner, every);
    for (uint32_t k = 0; k < options_.indexes && wrong.empty(); ++k) {
      wrong = CheckIndex(*session, owner, k, every);
    }
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace testbed
