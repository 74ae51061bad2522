#include "engines/sql/ownership.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/file.h"
#include "device/machine/host.h"
#include "device/os/signal_guard.h"
#include "device/os/temporary_dir.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLockPoll(20);
// This is how long to wait for the lock of another run. The server of a killed run may still
// execute its statement, so the lock takes a while to become free. A leftover schema is of a run
// that ended longer ago, as its directory is gone. If its lock is still held, that run lives, and
// waiting is useless.
constexpr std::chrono::seconds kPatienceWithKilled(20), kPatienceWithLeftover(1);

// Returns the id in the record; empty when there is no such file.
std::string ReadRecord(const std::string& path) {
  std::ifstream in(path);
  std::string id;
  std::getline(in, id);
  return id;
}

bool IsTemporary(const fs::path& dir) {
  return std::any_of(dir.begin(), dir.end(),
                     [](const fs::path& part) { return IsTemporaryName(part.string()); });
}

// Returns whether a temporary run on this host has left the schema behind, provided that no engine
// holds its lock. If another directory than a temporary one is gone, that is not enough: the
// directory may just not be visible here (unmounted, in another container), and its database must
// not be lost.
bool IsLeftover(const SchemaMarker& marker) {
  const fs::path dir = marker.directory;
  std::error_code unknown;
  return marker.host == HostName() && !fs::exists(dir, unknown) && !unknown && IsTemporary(dir);
}

// Returns whether this run, whose directory is the temporary directory `dir`, has made the schema
// for an earlier load. The run has emptied the directory since, and no other run has a directory of
// that name.
bool IsOfEarlierLoad(const SchemaMarker& marker, const std::string& dir) {
  return marker.host == HostName() && marker.directory == dir && IsTemporary(dir);
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

bool SchemaOwner::Take(const std::function<FoundSchema()>& find,
                       const std::function<bool()>& try_lock) const {
  const FoundSchema found = find();
  if (!guest_of.empty()) {
    if (found.marker && found.marker->id == guest_of) return false;
    throw Error(Error::kUsage,
                fmt::format("{} {} of the server is not the one that task 0 of the run has open: "
                            "--connect must lead each task to the same server",
                            kind, schema));
  }
  // MustMake throws at once for a schema of another owner.
  const bool anew = MustMake(found);
  const bool leftover = anew && found.marker && IsLeftover(*found.marker);
  const auto deadline =
      std::chrono::steady_clock::now() + (leftover ? kPatienceWithLeftover : kPatienceWithKilled);
  while (!try_lock()) {
    if (StopRequested()) throw Stopped("while it waited for " + kind + " " + schema);
    if (std::chrono::steady_clock::now() > deadline) {
      const std::string whose =
          !found.marker || found.marker->id.empty()
              ? ""
              : fmt::format(" (that of {} on {})", found.marker->directory, found.marker->host);
      throw Error(Error::kUsage,
                  fmt::format("{} {} of the server is in use by another run of testbed{}: wait for "
                              "its end, or give --engine-option schema=NAME",
                              kind, schema, whose));
    }
    std::this_thread::sleep_for(kLockPoll);
  }
  // A run that held the lock before may have changed the schema.
  return MustMake(find());
}

bool SchemaOwner::MustMake(const FoundSchema& found) const {
  const auto& [schema_is_there, marker] = found;
  const std::string record = ReadRecord(RecordFile());
  if (!schema_is_there && record.empty()) return true;
  if (schema_is_there && !marker) {
    throw Error(Error::kUsage,
                fmt::format("{} {} of the server is not testbed's, which leaves it alone: give "
                            "--engine-option schema=NAME",
                            kind, schema));
  }
  // Such a schema was cut short in its making before its marker had a row, and so before it had
  // tables. An engine that is making it now holds its lock (Take).
  if (schema_is_there && marker->id.empty() && record.empty()) return true;
  if (schema_is_there && !record.empty() && marker->id == record) return false;
  if (!record.empty()) {
    throw Error(Error::kUsage,
                fmt::format("the server no longer has in {} {} the database that {} stands for: "
                            "load it anew with --fresh",
                            kind, schema, dir));
  }
  if (replace || IsLeftover(*marker) || IsOfEarlierLoad(*marker, dir)) return true;
  throw Error(Error::kUsage,
              fmt::format("{} {} of the server holds a database of testbed that belongs to {} on "
                          "{}: give --fresh to replace it, or --engine-option schema=NAME",
                          kind, schema, marker->directory, marker->host),
              EEXIST);
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

std::string SchemaLockName(const std::string& schema) { return "testbed." + schema; }

}  // namespace testbed
