#include "tools/results/store.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "device/error.h"
#include "tools/command/command_words.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

enum class StoreFile : uint8_t { kNothing, kEmpty, kStore };

const std::vector<std::string>& DocumentColumns() {
  static const std::vector<std::string> columns = {
      "document", "hash",  "path", "added",   "schema",  "experiment", "scale",
      "started",  "label", "host", "testbed", "command", "partial",    "notes"};
  return columns;
}

const std::vector<std::string>& CellColumns() {
  static const std::vector<std::string> columns = {
      "document", "experiment", "scale", "cell_name",    "cell_round",
      "labels",   "metric",     "unit",  "not_in_force", "value"};
  return columns;
}

std::vector<std::string> ColumnsOf(const RowTable& table) {
  std::vector<std::string> names = {"document"};
  for (const RowColumn& column : table.columns) names.push_back(column.name);
  return names;
}

std::string QuotedName(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string CreateSql(const std::string& table, const std::vector<std::string>& columns) {
  const bool documents = table == "documents";
  std::string sql = fmt::format("CREATE TABLE {} (", table);
  // Columns have no type, so that SQLite keeps the type that a value has in the document.
  for (const std::string& column : columns) {
    sql += (sql.ends_with("(") ? "" : ", ") + QuotedName(column);
    if (column == "document") {
      sql += documents ? " INTEGER PRIMARY KEY" : " INTEGER NOT NULL REFERENCES documents";
    } else if (documents && column == "hash") {
      sql += " TEXT NOT NULL UNIQUE";
    }
  }
  sql += ");";
  if (!documents) sql += fmt::format("CREATE INDEX {0}_document ON {0} (document);", table);
  return sql;
}

uint32_t BigEndian(const char* at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(at[i]);
  return value;
}

[[noreturn]] void RefuseStore(const std::string& path, const std::string& why) {
  throw Error(Error::kUsage, fmt::format("--store {} is {}; give another file", path, why));
}

[[noreturn]] void RefuseVersion(const std::string& path, int64_t version) {
  RefuseStore(path, fmt::format("a store of another version of testbed ({}; this one has {})",
                                version, kStoreVersion));
}

// Reads the head of the file before SQLite opens it, because SQLite changes a file that was left in
// the middle of a transaction. Throws Error (kUsage) for what is not a store of this version.
StoreFile LookAtStore(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return StoreFile::kNothing;
  if (error) {
    throw Error(Error::kUsage, fmt::format("--store {} cannot be read: {}", path, error.message()));
  }
  if (!fs::is_regular_file(status)) RefuseStore(path, "no regular file");
  // The layout of a database's first bytes: https://www.sqlite.org/fileformat2.html, 1.3.
  constexpr size_t kHead = 100, kVersionAt = 60, kApplicationAt = 68;
  char head[kHead];
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw Error(Error::kIo,
                fmt::format("--store {} cannot be read: {}", path, std::strerror(errno)));
  }
  in.read(head, kHead);
  if (in.gcount() == 0) return StoreFile::kEmpty;
  constexpr char kMagic[] = "SQLite format 3";
  if (in.gcount() < static_cast<std::streamsize>(kHead) ||
      std::memcmp(head, kMagic, sizeof kMagic) != 0) {
    RefuseStore(path, "no SQLite file");
  }
  if (BigEndian(head + kApplicationAt) != kStoreApplication) {
    RefuseStore(path, "another program's SQLite file");
  }
  const int64_t version = BigEndian(head + kVersionAt);
  if (version != kStoreVersion) RefuseVersion(path, version);
  return StoreFile::kStore;
}

// Throws Error (kUsage) when SQLite could not write here. Its journal lies beside the file.
void CheckWritable(const std::string& path, StoreFile found) {
  if (found == StoreFile::kNothing) {
    CheckOutputFile("--store", path);
    return;
  }
  CheckOutputPlaces({{"--store", path}}, {});
  const std::string directory = fs::absolute(path).parent_path().string();
  for (const std::string& place : {path, directory}) {
    if (::access(place.c_str(), W_OK) == 0) continue;
    throw Error(Error::kUsage,
                fmt::format("--store {} cannot be written: {}{}", path,
                            place == path ? "" : "its directory, where its journal must lie: ",
                            std::strerror(errno)));
  }
}

int64_t NumberFrom(SqliteFile& file, const std::string& sql) {
  const auto statement = file.Prepare(sql);
  return statement->Step() ? statement->Value(0).get<int64_t>() : 0;
}

// A transaction that is undone unless it was committed.
class StoreTransaction {
 public:
  explicit StoreTransaction(SqliteFile* file) : file_(file) { file_->Execute("BEGIN IMMEDIATE"); }
  ~StoreTransaction() {
    if (done_) return;
    try {
      file_->Execute("ROLLBACK");
    } catch (const Error&) {
      // ROLLBACK fails when SQLite has already rolled the transaction back.
    }
  }
  StoreTransaction(const StoreTransaction&) = delete;
  StoreTransaction& operator=(const StoreTransaction&) = delete;
  void Commit() {
    file_->Execute("COMMIT");
    done_ = true;
  }

 private:
  SqliteFile* file_;
  bool done_ = false;
};

std::string HashOf(const json& document) {
  const std::string text = JsonText(document);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// Returns the command line as a shell reads it; null when the document does not tell it.
json CommandOf(const json& document) {
  const json words = document.value("command", json());
  if (!words.is_array()) return {};
  std::vector<std::string> plain;
  for (const json& word : words) {
    if (word.is_string()) plain.push_back(word.get<std::string>());
  }
  return "testbed " + ShellLine(plain);
}

}  // namespace

AddedRows& AddedRows::operator+=(const AddedRows& o) {
  documents += o.documents, runs += o.runs, results += o.results, series += o.series;
  cells += o.cells, causes += o.causes;
  return *this;
}

std::vector<std::pair<std::string, std::vector<std::string>>> StoreColumns() {
  std::vector<std::pair<std::string, std::vector<std::string>>> all = {
      {"documents", DocumentColumns()}};
  for (const RowTable* table : {&RunRows(), &ResultRows(), &SeriesRows(), &CauseRows()}) {
    all.emplace_back(table->name, ColumnsOf(*table));
  }
  all.emplace_back("cells", CellColumns());
  return all;
}

ResultsStore::ResultsStore(const std::string& path) {
  CheckWritable(path, LookAtStore(path));
  file_ = SqliteFile::Open(path, SqliteFile::Access::kWrite);
  StoreTransaction transaction(file_.get());
  // Another process may have made the file since it was looked at.
  const int64_t application = NumberFrom(*file_, "PRAGMA application_id");
  const int64_t version = NumberFrom(*file_, "PRAGMA user_version");
  const bool empty = NumberFrom(*file_, "SELECT count(*) FROM sqlite_schema") == 0;
  if (!empty && application != kStoreApplication)
    RefuseStore(path, "another program's SQLite file");
  if (!empty && version != kStoreVersion) RefuseVersion(path, version);
  PrepareTables();
  transaction.Commit();
}

// Makes the tables and columns that the file lacks.
void ResultsStore::PrepareTables() {
  bool changed = false;
  for (const auto& [table, columns] : StoreColumns()) {
    std::set<std::string> known;
    const auto statement = file_->Prepare(fmt::format("PRAGMA table_info({})", table));
    while (statement->Step()) known.insert(statement->Value(1).get<std::string>());
    if (known.empty()) {
      file_->Execute(CreateSql(table, columns));
      changed = true;
      continue;
    }
    for (const std::string& column : columns) {
      if (known.contains(column)) continue;
      file_->Execute(fmt::format("ALTER TABLE {} ADD COLUMN {}", table, QuotedName(column)));
    }
  }
  if (!changed) return;
  file_->Execute(fmt::format("PRAGMA application_id = {}", kStoreApplication));
  file_->Execute(fmt::format("PRAGMA user_version = {}", kStoreVersion));
}

SqliteStatement& ResultsStore::Insert(const std::string& table,
                                      const std::vector<std::string>& columns) {
  auto& statement = inserts_[table];
  if (statement == nullptr) {
    std::string names, places;
    for (const std::string& column : columns) {
      names += (names.empty() ? "" : ", ") + QuotedName(column);
      places += places.empty() ? "?" : ", ?";
    }
    statement =
        file_->Prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})", table, names, places));
  }
  return *statement;
}

size_t ResultsStore::AddRows(const RowTable& table, const StoredDocument& stored,
                             int64_t document) {
  SqliteStatement& insert = Insert(table.name, ColumnsOf(table));
  size_t rows = 0;
  ForEachRow(table, stored.document, [&](const std::vector<json>& cells) {
    insert.Bind(1, document);
    for (size_t i = 0; i < cells.size(); ++i) insert.Bind(static_cast<int>(i) + 2, cells[i]);
    insert.Step();
    insert.Reset();
    ++rows;
  });
  return rows;
}

size_t ResultsStore::AddCells(const StoredDocument& stored, int64_t document) {
  SqliteStatement& insert = Insert("cells", CellColumns());
  const json none = json::object();
  const auto found = stored.document.find("cell");
  const json& cell = found != stored.document.end() && found->is_object() ? *found : none;
  const json not_in_force = stored.document.value("not_in_force", json());
  for (const CellMetric& metric : stored.metrics) {
    const json values[] = {document,
                           stored.experiment,
                           stored.scale,
                           cell.value("name", json()),
                           cell.value("round", json()),
                           cell.value("labels", json()),
                           metric.metric,
                           metric.unit,
                           not_in_force,
                           metric.value};
    for (size_t i = 0; i < std::size(values); ++i) insert.Bind(static_cast<int>(i) + 1, values[i]);
    insert.Step();
    insert.Reset();
  }
  return stored.metrics.size();
}

// Adds the experiment and the metrics of a known document that was first added without them.
AddedRows ResultsStore::AddKnown(const StoredDocument& stored, int64_t document, bool told) {
  if (told || stored.experiment.empty()) return {};
  const auto update =
      file_->Prepare("UPDATE documents SET experiment = ?, scale = ? WHERE document = ?");
  update->Bind(1, stored.experiment);
  update->Bind(2, stored.scale);
  update->Bind(3, document);
  update->Step();
  return {.cells = AddCells(stored, document)};
}

AddedRows ResultsStore::Add(const StoredDocument& stored) {
  const json& d = stored.document;
  const std::string hash = HashOf(d);
  StoreTransaction transaction(file_.get());
  AddedRows added;
  const auto known = file_->Prepare("SELECT document, experiment FROM documents WHERE hash = ?");
  known->Bind(1, hash);
  if (known->Step()) {
    const auto document = known->Value(0).get<int64_t>();
    const bool told = !known->Value(1).is_null();
    known->Reset();
    added = AddKnown(stored, document, told);
    transaction.Commit();
    return added;
  }
  known->Reset();
  SqliteStatement& insert = Insert("documents", DocumentColumns());
  const json values[] = {json(),
                         hash,
                         stored.path,
                         fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
                         d.value("schema", json()),
                         stored.experiment,
                         stored.scale,
                         d.value("started", json()),
                         d.value("label", json()),
                         d.value("host", json()),
                         d.value("testbed", json()),
                         CommandOf(d),
                         d.value("partial", json()),
                         d.value("notes", json())};
  for (size_t i = 0; i < std::size(values); ++i) insert.Bind(static_cast<int>(i) + 1, values[i]);
  insert.Step();
  insert.Reset();
  const int64_t document = file_->LastRow();
  added.documents = 1;
  added.runs = AddRows(RunRows(), stored, document);
  added.results = AddRows(ResultRows(), stored, document);
  added.series = AddRows(SeriesRows(), stored, document);
  added.causes = AddRows(CauseRows(), stored, document);
  added.cells = AddCells(stored, document);
  transaction.Commit();
  return added;
}

std::unique_ptr<SqliteFile> OpenStore(const std::string& path) {
  if (LookAtStore(path) != StoreFile::kStore) {
    throw Error(
        Error::kUsage,
        fmt::format("--store {} has no results yet; `testbed results add` puts some there", path));
  }
  return SqliteFile::Open(path, SqliteFile::Access::kRead);
}

}  // namespace testbed
