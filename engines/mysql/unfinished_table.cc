#include "engines/mysql/unfinished_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/file.h"
#include "engines/sql/mariadb_files.h"

namespace testbed::mysql::unfinished_table {
namespace {

using mariadb::kDefinitionEnd;
using mariadb::kRowsEnd;

std::string SchemaDirectory(const std::string& dir, const std::string& schema) {
  return fmt::format("{}/cluster/{}", dir, schema);
}

// Returns the names of the tables that have a file, as the names of files spell them.
std::set<std::string> TablesIn(const std::string& directory) {
  std::set<std::string> tables;
  if (!IsThere(directory)) return tables;
  for (const std::string& name : NamesIn(directory)) {
    for (const std::string_view end : {kRowsEnd, kDefinitionEnd}) {
      if (name.ends_with(end)) tables.insert(name.substr(0, name.size() - end.size()));
    }
  }
  return tables;
}

struct Noted {
  std::set<std::string> before;  // tables that had files when the note was made
  std::string table;
};

std::optional<Noted> Read(const std::string& dir) {
  std::ifstream file(dir + "/" + kFile, std::ios::binary);
  if (!file) return std::nullopt;
  Noted noted;
  std::string line;
  while (std::getline(file, line) && !line.empty()) noted.before.insert(line);
  noted.table.assign(std::istreambuf_iterator<char>(file), {});
  if (noted.table.empty()) return std::nullopt;
  return noted;
}

// Returns the name, as files spell it, of the table that was being made. Returns an empty string
// when the table has no files. It also does so when several tables have new files: then the noted
// table is complete, because it is the first of these tables, and a crash has undone the removal of
// its note.
std::string FilesOf(const Noted& noted, const std::string& directory) {
  std::string found;
  for (const std::string& table : TablesIn(directory)) {
    if (noted.before.contains(table)) continue;
    if (!found.empty()) return "";
    found = table;
  }
  return found;
}

// Returns whether the table's file begins with a page that was written.
bool HasFirstPage(const std::string& path) {
  std::array<char, 4096> begin{};
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), begin.size()) &&
         std::any_of(begin.begin(), begin.end(), [](char c) { return c != 0; });
}

void RemoveFilesOf(const std::string& table, const std::string& directory) {
  for (const std::string_view end : {kDefinitionEnd, kRowsEnd}) {
    RemoveFile(fmt::format("{}/{}{}", directory, table, end));
  }
  SyncDirectory(directory);
}

}  // namespace

void Note(const std::string& dir, const std::string& schema, const std::string& table) {
  std::string text;
  for (const std::string& known : TablesIn(SchemaDirectory(dir, schema))) text += known + "\n";
  text += "\n" + table;
  const std::string path = fmt::format("{}/{}", dir, kFile), making = path + ".new";
  RemoveFile(making);
  FileOptions options;
  options.create = FileOptions::kMustCreate;
  options.kind = FileKind::kMeta;
  {
    const std::unique_ptr<File> file = File::Open(making, options);
    file->Write(0, text.data(), text.size());
    file->Sync();
  }
  RenameFile(making, path);
  SyncDirectory(dir);
}

void Forget(const std::string& dir) {
  const std::string path = fmt::format("{}/{}", dir, kFile);
  if (!IsThere(path)) return;
  RemoveFile(path);
  SyncDirectory(dir);
}

void RemoveBrokenFiles(const std::string& dir, const std::string& schema) {
  const std::optional<Noted> noted = Read(dir);
  if (!noted) return;
  const std::string directory = SchemaDirectory(dir, schema);
  const std::string table = FilesOf(*noted, directory);
  if (table.empty() || HasFirstPage(fmt::format("{}/{}{}", directory, table, kRowsEnd))) return;
  RemoveFilesOf(table, directory);
}

void Repair(const std::string& dir, const std::string& schema,
            const std::function<void(const std::string&)>& run) {
  const std::optional<Noted> noted = Read(dir);
  if (!noted) return;
  const std::string directory = SchemaDirectory(dir, schema);
  const std::string table = FilesOf(*noted, directory);
  if (!table.empty()) {
    try {
      run(fmt::format("SELECT 1 FROM {} LIMIT 1", noted->table));
    } catch (const Error& error) {
      if (error.kind() != Error::kCorruption) throw;  // kCorruption: the server lacks the table
      run(fmt::format("DROP TABLE IF EXISTS {}", noted->table));
      RemoveFilesOf(table, directory);
    }
  }
  Forget(dir);
}

}  // namespace testbed::mysql::unfinished_table
