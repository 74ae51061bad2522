#include "engines/sql/ownership.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/file.h"
#include "device/os/temporary_dir.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// Returns the id in the record; empty when there is no such file.
std::string ReadRecord(const std::string& path) {
  std::ifstream in(path);
  std::string id;
  std::getline(in, id);
  return id;
}

// Returns whether the schema is what a temporary run on this host left behind. A directory that only
// cannot be seen (unmounted, of another container) must not cost its database, so no other directory
// that is gone suffices.
bool IsLeftover(const SchemaMarker& marker) {
  const fs::path dir = marker.directory;
  std::error_code unknown;
  return marker.host == HostName() && !fs::exists(dir, unknown) && !unknown &&
         std::any_of(dir.begin(), dir.end(),
                     [](const fs::path& part) { return IsTemporaryName(part.string()); });
}

}  // namespace

std::string SchemaRecordName(const std::string& engine) { return "testbed-" + engine; }

std::string SchemaOwner::RecordFile() const { return dir + "/" + SchemaRecordName(engine); }

bool SchemaOwner::HasRecord() const { return !ReadRecord(RecordFile()).empty(); }

DirLock SchemaOwner::TakeDirectory() const {
  if (!create && !HasRecord()) {
    throw Error(Error::kUsage, fmt::format("{} has no database of {}: load one", dir, engine));
  }
  std::error_code error;
  fs::create_directories(dir, error);
  if (error) throw Error::Io("create", dir, error.value());
  if (::access(dir.c_str(), W_OK) != 0) throw Error::Io("write to", dir, errno);
  return DirLock(dir, "the database in");
}

bool SchemaOwner::MustMake(bool schema_is_there, const std::optional<SchemaMarker>& marker) const {
  const std::string record = ReadRecord(RecordFile());
  if (!schema_is_there && record.empty()) return true;
  if (schema_is_there && !marker) {
    throw Error(Error::kUsage,
                fmt::format("{} {} of the server is not testbed's, which leaves it alone: give "
                            "--engine-option schema=NAME",
                            kind, schema));
  }
  if (schema_is_there && marker->id == record) return false;
  if (!record.empty()) {
    throw Error(Error::kUsage,
                fmt::format("the server no longer has in {} {} the database that {} stands for: "
                            "load it anew with --fresh",
                            kind, schema, dir));
  }
  if (replace || IsLeftover(*marker)) return true;
  throw Error(Error::kUsage,
              fmt::format("{} {} of the server holds a database of testbed that belongs to {} on "
                          "{}: give --fresh to replace it, or --engine-option schema=NAME",
                          kind, schema, marker->directory, marker->host));
}

void SchemaOwner::WriteRecord(const std::string& id) const {
  const std::string path = RecordFile(), making = path + ".new";
  RemoveFile(making);
  FileOptions options;
  options.create = FileOptions::kMustCreate;
  options.kind = FileKind::kMeta;
  {
    const std::unique_ptr<File> file = File::Open(making, options);
    const std::string text = id + "\n";
    file->Write(0, text.data(), text.size());
    file->Sync();
  }
  RenameFile(making, path);
  SyncDirectory(dir);
}

std::string SchemaOfDirectory(const std::string& dir, const std::string& schema, bool shared) {
  const std::string last = fs::path(dir).filename();
  const bool numbered = !last.empty() && last.find_first_not_of("0123456789") == std::string::npos;
  return numbered && shared ? schema + "_" + last : schema;
}

std::string HostName() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0) return "";
  return name;
}

}  // namespace testbed
