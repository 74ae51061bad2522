#include "engines/sql/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/error.h"

namespace testbed {

const char* WalkOperator(Walk walk) {
  static constexpr const char* kOperators[kWalks] = {"", ">=", ">", "", "<=", "<"};
  return kOperators[static_cast<size_t>(walk)];
}

Walk WithoutExcess(Walk walk, size_t longest, std::string_view* key) {
  if (key->size() <= longest) return walk;
  *key = key->substr(0, longest);
  // The key lies between the row with these bytes, if there is one, and the row after it.
  if (walk == Walk::kFrom) return Walk::kAfter;
  return walk == Walk::kBefore ? Walk::kUpTo : walk;
}

void CheckNamesIndexOf(const std::string& engine, const std::string& name,
                       const std::string& column, TableId of, TableId table) {
  if (!column.empty() && of == table) return;
  throw Error(Error::kUsage,
              fmt::format("{} cannot name an index '{}': {} has that name; give the index another "
                          "name",
                          engine, name, column.empty() ? "a table" : "an index of another table"));
}

SqlStore::SqlStore(std::string engine, std::unique_ptr<SqlDialect> dialect, std::string schema,
                   SqlLimits limits, ConnectTo connect, std::function<void()> made,
                   size_t addresses)
    : engine_(std::move(engine)),
      dialect_(std::move(dialect)),
      schema_(std::move(schema)),
      limits_(limits),
      connect_(std::move(connect)),
      made_(std::move(made)),
      addresses_(addresses),
      lost_(addresses),
      opens_tables_(!dialect_->OpenForReads({.name = "t", .column = {}}).empty()),
      connections_(addresses) {}

void SqlStore::FailCommits(const Error& error) {
  LockGuard lock(mutex_);
  if (!failure_) failure_ = error;
  failed_.store(true, std::memory_order_relaxed);
}

void SqlStore::ThrowFailure() const {
  LockGuard lock(mutex_);
  throw Error(*failure_);
}

std::unique_ptr<SqlConnection> SqlStore::ConnectFrom(size_t* address) {
  // The first address is never lost, so this loop ends there at the latest.
  for (;; *address = (*address + 1) % addresses_) {
    if (!WhyLost(*address).empty()) continue;
    try {
      return connect_(*address);
    } catch (const Error& error) {
      if (!MarkLost(*address, error.what())) throw;
    }
  }
}

bool SqlStore::MarkLost(size_t address, const std::string& why) {
  if (!GoesOnWithout(address)) return false;
  LockGuard lock(mutex_);
  if (lost_[address].empty()) lost_[address] = why;
  return true;
}

std::string SqlStore::WhyLost(size_t address) const {
  LockGuard lock(mutex_);
  return lost_[address];
}

void SqlStore::AtEach(const std::function<void(size_t address)>& work) {
  for (size_t address = 0; address < addresses_; ++address) {
    if (!WhyLost(address).empty()) continue;
    try {
      work(address);
    } catch (const LostConnection& lost) {
      if (!MarkLost(address, lost.what())) throw;
    }
  }
}

void SqlStore::CheckName(const std::string& name) const {
  if (!name.empty() && name.size() <= dialect_->max_name_size() && name.back() != ' ' &&
      name.find_first_of(std::string_view("`\"'\0", 4)) == std::string::npos) {
    return;
  }
  throw Error(
      Error::kUsage,
      fmt::format("{}: a table's name has 1 to {} bytes, no quotation mark, and no space at "
                  "its end: '{}'",
                  engine_, dialect_->max_name_size(), name));
}

std::string SqlStore::Qualified(const std::string& table) const {
  return dialect_->Quote(schema_) + "." + dialect_->Quote(table);
}

std::optional<TableId> SqlStore::Find(const std::string& name) const {
  LockGuard lock(mutex_);
  const auto it = std::find(names_.begin(), names_.end(), name);
  if (it == names_.end()) return {};
  return static_cast<TableId>(it - names_.begin());
}

TableId SqlStore::Add(const std::string& name, SqlTable table) {
  if (made_) made_();
  LockGuard lock(mutex_);
  // Another thread may have added the name since this thread looked for it.
  const auto known = std::find(names_.begin(), names_.end(), name);
  if (known != names_.end()) return static_cast<TableId>(known - names_.begin());
  const auto id = static_cast<TableId>(names_.size());
  if (table.column.empty()) table.table = id;
  names_.push_back(name);
  tables_.push_back(std::move(table));
  return id;
}

TableId SqlStore::OpenTable(const std::string& table) {
  CheckName(table);
  if (const std::optional<TableId> known = Find(table)) return *known;
  SqlTable made{.name = Qualified(table), .column = {}};
  for (const std::string& sql : dialect_->MakeTable(made)) Ask(sql);
  return Add(table, std::move(made));
}

TableId SqlStore::OpenIndex(const std::string& index, TableId table,
                            const std::vector<IndexPart>& parts) {
  CheckName(index);
  if (const std::optional<TableId> known = Find(index)) {
    const SqlTable named = Table(*known);
    CheckNamesIndexOf(engine_, index, named.column, named.table, table);
    return *known;
  }
  SqlTable made = Table(table);
  for (const IndexPart& part : parts) made.key_part += part.length;
  if (!made.column.empty() || made.key_part == 0 || made.key_part > 255) {
    throw Error(Error::kUsage,
                engine_ + ": an index is of a table, and of 1 to 255 bytes of its values");
  }
  made.column = dialect_->Quote(index);
  // While `alone` is held, no session opens the table again, so the table gets its index first.
  const std::unique_lock alone(turns_);
  {
    LockGuard lock(readers_mutex_);
    for (SqlTableReader* reader : readers_) reader->LetGo(table);
  }
  if (!dialect_->HasIndex(made, [this](const std::string& sql) { return Ask(sql); })) {
    for (const std::string& sql : dialect_->MakeIndex(made, parts)) Ask(sql);
  }
  return Add(index, std::move(made));
}

void SqlStore::Join(SqlTableReader* reader) {
  LockGuard lock(readers_mutex_);
  readers_.push_back(reader);
}

void SqlStore::Leave(SqlTableReader* reader) {
  LockGuard lock(readers_mutex_);
  std::erase(readers_, reader);
}

SqlTable SqlStore::Table(TableId table) const {
  LockGuard lock(mutex_);
  if (table >= tables_.size()) throw Error(Error::kUsage, engine_ + ": no such table");
  return tables_[table];
}

std::vector<std::string> SqlStore::TableNames() const {
  LockGuard lock(mutex_);
  std::vector<std::string> names;
  for (const SqlTable& table : tables_) {
    if (table.column.empty()) names.push_back(table.name);
  }
  return names;
}

std::vector<SqlConnection::Row> SqlStore::Ask(const std::string& sql, size_t address) {
  LockGuard lock(asking_);
  return Asked(address).Run(sql);
}

bool SqlStore::IsFollowed(size_t address) {
  LockGuard lock(asking_);
  return Asked(address).server_thread() != 0;
}

// Returns the store's own connection to the address, which the first call makes.
SqlConnection& SqlStore::Asked(size_t address) {
  std::unique_ptr<SqlConnection>& connection = connections_[address];
  if (connection == nullptr) connection = connect_(address);
  return *connection;
}

std::string SqlStore::AskOne(const std::string& sql, size_t address) {
  const std::vector<SqlConnection::Row> rows = Ask(sql, address);
  return rows.empty() || rows[0].empty() ? "" : rows[0][0];
}

}  // namespace testbed
