#include "engines/databases.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/mutex.h"
#include "engines/elsewhere.h"
#include "engines/registry.h"

namespace testbed {
namespace {

// Returns the options for one of `count` databases, each of which gets an equal part of the memory.
EngineOptions OptionsOfOne(EngineOptions options, uint32_t count) {
  if (count <= 1) return options;
  options.cache_bytes /= count;
  options.most_cache_bytes /= count;
  options.ram_bytes /= count;
  return options;
}

// A Place says in which database a table of DatabasesEngine lies.
struct Place {
  uint32_t database;  // index in databases()
  TableId table;      // the table's id within that database
};

// Returns the table's place. Throws Error (kUsage) when no table has this number.
Place PlaceIn(const std::vector<Place>& places, TableId table) {
  if (table < places.size()) return places[table];
  throw Error(Error::kUsage, fmt::format("table {} of the databases is not open", table));
}

class DatabasesEngine;

// A DatabasesReadQueue has a queue in each database. Its slot n stands for slot n of the queue in
// the database whose table is read.
class DatabasesReadQueue : public ReadQueue {
 public:
  using PlaceOf = std::function<Place(TableId)>;
  DatabasesReadQueue(std::vector<std::unique_ptr<ReadQueue>> queues, PlaceOf place_of)
      : queues_(std::move(queues)), place_of_(std::move(place_of)) {
    for (const auto& queue : queues_) {
      queue->SetBeforeWaiting([this, waits = queue.get()] {
        for (const auto& other : queues_) {
          if (other.get() != waits) other->EndReads();
        }
      });
    }
  }

  void Start(uint32_t slot, TableId table, std::string_view key, IoTask* task) override {
    const Place place = place_of_(table);
    queues_[place.database]->Start(slot, place.table, key, task);
    in_flight_.push_back(place.database);
  }
  // Takes turns among the databases, in the order in which their reads were started.
  uint32_t Finish(bool* found, std::string_view* value) override {
    const uint32_t database = in_flight_.front();
    in_flight_.pop_front();
    return queues_[database]->Finish(found, value);
  }

 private:
  const std::vector<std::unique_ptr<ReadQueue>> queues_;  // one for each database
  const PlaceOf place_of_;
  std::deque<uint32_t> in_flight_;  // the databases of the reads in flight, in the order of starts
};

// A DatabasesSession has one session in each database. Begin opens no transaction yet: the first
// write begins one, in the database of its table.
class DatabasesSession : public Session {
 public:
  // The session belongs to the client thread `client` (Engine::NewClientSession), or is that of
  // NewSession when `client` is empty.
  explicit DatabasesSession(const DatabasesEngine& engine, std::optional<int> client = {});

  void Begin() override {
    if (open_) throw Error(Error::kRun, "databases: Begin inside a transaction");
    open_ = true;
  }
  void Commit() override {
    if (!open_) throw Error(Error::kRun, "databases: Commit without Begin");
    const uint32_t database = End();
    if (database != kNone) sessions_[database]->Commit();
  }
  void Rollback() override {
    if (!open_) throw Error(Error::kRun, "databases: Rollback without Begin");
    const uint32_t database = End();
    if (database != kNone) sessions_[database]->Rollback();
  }
  bool HeldByOtherThread() const override {
    return writes_to_ != kNone && sessions_[writes_to_]->HeldByOtherThread();
  }
  bool Get(TableId table, std::string_view key, std::string_view* value) override {
    const Place place = PlaceOf(table);
    return sessions_[place.database]->Get(place.table, key, value);
  }
  void MultiGet(TableId table, std::span<const std::string_view> keys,
                std::vector<FoundRow>* rows) override {
    const Place place = PlaceOf(table);
    sessions_[place.database]->MultiGet(place.table, keys, rows);
  }
  void TakeEach(TableId table, std::span<const std::string_view> keys,
                const TakeRow& take) override {
    const Place place = PlaceOf(table);
    sessions_[place.database]->TakeEach(place.table, keys, take);
  }
  void Put(TableId table, std::string_view key, std::string_view value) override {
    const Place place = PlaceToWrite(table);
    sessions_[place.database]->Put(place.table, key, value);
  }
  void Erase(TableId table, std::string_view key) override {
    const Place place = PlaceToWrite(table);
    sessions_[place.database]->Erase(place.table, key);
  }
  std::unique_ptr<Cursor> NewCursor(TableId table) override {
    const Place place = PlaceOf(table);
    return sessions_[place.database]->NewCursor(place.table);
  }
  std::unique_ptr<ReadQueue> NewReadQueue(uint32_t depth) override {
    std::vector<std::unique_ptr<ReadQueue>> queues;
    for (const auto& session : sessions_) {
      queues.push_back(session->NewReadQueue(depth));
      if (queues.back() == nullptr) return nullptr;
    }
    return std::make_unique<DatabasesReadQueue>(std::move(queues),
                                                [this](TableId table) { return PlaceOf(table); });
  }
  bool BlockCounts(uint64_t* requests, uint64_t* misses) override {
    uint64_t all_requests = 0, all_misses = 0;
    for (const auto& session : sessions_) {
      uint64_t some_requests = 0, some_misses = 0;
      if (!session->BlockCounts(&some_requests, &some_misses)) return false;
      all_requests += some_requests;
      all_misses += some_misses;
    }
    *requests = all_requests;
    *misses = all_misses;
    return true;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  // Marks the transaction as ended, unless another thread holds it, so that its database refuses to
  // end it here. Returns the database in which it has begun; kNone when the transaction has written
  // nothing.
  uint32_t End() {
    const uint32_t database = writes_to_;
    if (HeldByOtherThread()) return database;
    open_ = false;
    writes_to_ = kNone;
    return database;
  }
  Place PlaceOf(TableId table);
  // Returns the table's place. Begins a transaction in that database if one is open here and has
  // not begun yet. Throws Error (kUsage) when the transaction has begun in another database.
  Place PlaceToWrite(TableId table);

  const DatabasesEngine& engine_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<Place> places_;   // by TableId; copied from the engine when an id is not in it
  bool open_ = false;           // between Begin and Commit or Rollback
  uint32_t writes_to_ = kNone;  // the database in which the transaction has begun
};

// A DatabasesEngine gives its tables ids of its own, which its sessions map to places.
class DatabasesEngine : public Engine {
 public:
  // `options` are those for one database.
  DatabasesEngine(const std::string& name, const std::string& dir, const EngineOptions& options,
                  uint32_t count)
      : is_counted_together_(WorksElsewhere(name, options)) {
    for (uint32_t d = 0; d < count; ++d) {
      const std::string path = fmt::format("{}/{}", dir, d);
      if (options.create) MakeDirectories(path);
      databases_.push_back(OpenEngine(name, path, options));
    }
  }

  std::string name() const override { return databases_[0]->name(); }
  TableId OpenTable(const std::string& table) override {
    const auto count = static_cast<uint32_t>(databases_.size());
    const uint32_t database = DatabaseOfTable(table, count);
    return IdOf({database, databases_[database]->OpenTable(table)});
  }
  bool KeepsIndexes() const override { return databases_[0]->KeepsIndexes(); }
  TableId OpenIndex(const std::string& index, TableId table,
                    const std::vector<IndexPart>& parts) override {
    const Place place = PlaceIn(Places(), table);
    return IdOf({place.database, databases_[place.database]->OpenIndex(index, place.table, parts)});
  }
  // Returns the id of the table at `place`, a new id for a new place.
  TableId IdOf(Place place) {
    LockGuard lock(mutex_);
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].database == place.database && places_[i].table == place.table) {
        return static_cast<TableId>(i);
      }
    }
    places_.push_back(place);
    return static_cast<TableId>(places_.size() - 1);
  }
  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<DatabasesSession>(*this);
  }
  std::unique_ptr<Session> NewClientSession(int client) override {
    return std::make_unique<DatabasesSession>(*this, client);
  }
  void Flush() override {
    for (auto& database : databases_) database->Flush();
  }
  void Checkpoint() override {
    for (auto& database : databases_) database->Checkpoint();
  }
  void Settle() override {
    for (auto& database : databases_) database->Settle();
  }
  bool ResizeCache(uint64_t bytes) override {
    bool resized = true;
    // All databases have the same options, so they accept or refuse a size alike.
    for (auto& database : databases_) {
      resized = database->ResizeCache(bytes / databases_.size()) && resized;
    }
    return resized;
  }
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override {
    auto settings = databases_[0]->EffectiveSettings();
    settings.emplace_back("databases", std::to_string(databases_.size()));
    settings.emplace_back("settings_of", fmt::format("one database of {}", databases_.size()));
    return settings;
  }
  EngineCounters Counters() const override;
  // All databases are spread over the same addresses.
  std::vector<ServerAddress> ServerAddresses() const override {
    return is_counted_together_ ? databases_[0]->ServerAddresses() : std::vector<ServerAddress>();
  }
  // The sessions of a client would leave a lost address one by one.
  bool OutlivesLostAddress() const override { return false; }
  std::vector<std::optional<EngineCounters>> CountersByAddress() const override {
    if (!is_counted_together_) return {};
    return databases_[0]->CountersByAddress();
  }
  DiskSize SizeOnDisk() const override {
    DiskSize all;
    for (const auto& database : databases_) {
      all += database->SizeOnDisk();
    }
    return all;
  }

  const std::vector<std::unique_ptr<Engine>>& databases() const { return databases_; }
  std::vector<Place> Places() const {
    LockGuard lock(mutex_);
    return places_;
  }

 private:
  // If true, all databases are on one server that runs already. The server counts its work for them
  // together, so its counters are read once.
  const bool is_counted_together_;
  std::vector<std::unique_ptr<Engine>> databases_;
  mutable Mutex mutex_;                           // protects places_
  std::vector<Place> places_ GUARDED_BY(mutex_);  // by TableId
};

EngineCounters DatabasesEngine::Counters() const {
  if (is_counted_together_) return databases_[0]->Counters();
  EngineCounters sum;
  for (const auto& database : databases_) sum += database->Counters();
  return sum;
}

DatabasesSession::DatabasesSession(const DatabasesEngine& engine, std::optional<int> client)
    : engine_(engine) {
  for (const auto& database : engine.databases()) {
    sessions_.push_back(client ? database->NewClientSession(*client) : database->NewSession());
  }
}

Place DatabasesSession::PlaceOf(TableId table) {
  if (table >= places_.size()) places_ = engine_.Places();
  return PlaceIn(places_, table);
}

Place DatabasesSession::PlaceToWrite(TableId table) {
  const Place place = PlaceOf(table);
  if (!open_ || writes_to_ == place.database) return place;
  if (writes_to_ != kNone) {
    throw Error(Error::kUsage,
                "a transaction writes to two databases; use --databases 1, or a workload whose "
                "clients have tables of their own");
  }
  sessions_[place.database]->Begin();
  writes_to_ = place.database;
  return place;
}

}  // namespace

std::vector<std::string> TableFilesIn(const EngineInfo& info, const std::string& dir) {
  if (!info.table_files || !IsThere(dir)) return {};
  std::vector<std::string> files = info.table_files(dir);
  for (const std::string& name : NamesIn(dir)) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    for (const std::string& file : info.table_files(dir + "/" + name)) {
      files.push_back(name + "/" + file);
    }
  }
  return files;
}

uint32_t DatabaseOfTable(const std::string& table, uint32_t count) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto begin = std::find_if(table.begin(), table.end(), digit);
  uint64_t number = 0;
  for (auto at = begin; at != table.end() && digit(*at); ++at) {
    number = (number * 10 + static_cast<uint64_t>(*at - '0')) % (1ull << 32);
  }
  return number == 0 ? 0 : static_cast<uint32_t>((number - 1) % count);
}

std::unique_ptr<Engine> OpenDatabases(const std::string& name, const std::string& dir,
                                      const EngineOptions& options, uint32_t count) {
  if (count <= 1) return OpenEngine(name, dir, options);
  return std::make_unique<DatabasesEngine>(name, dir, OptionsOfOne(options, count), count);
}

void CheckDatabaseOptions(const std::string& name, const EngineOptions& options, uint32_t count) {
  CheckEngineOptions(FindEngine(name), OptionsOfOne(options, count));
}

uint64_t CacheInForce(const Capabilities& can, uint64_t cache_bytes, uint32_t count) {
  if (!can.cache_of_power_of_two) return cache_bytes;
  // The share of such a size, as the results have it, may stand for a byte less than the size.
  return std::bit_floor(cache_bytes / count + 1) * count;
}

}  // namespace testbed
