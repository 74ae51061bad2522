// This file has the functions of Store that prepare the files of a database for use.
#include <algorithm>
#include <cstring>

#include "device/error.h"
#include "device/file/file.h"
#include "engines/mmapv1/store.h"

namespace testbed::mmapv1 {

ReplayResult Store::ReadJournal(const std::function<void(DiskLoc, std::string_view)>& each) const {
  return ReplayJournal(dir_, files_.ns()->database, [&](std::string_view body) {
    if (ForEachEntry(body, each)) return;
    throw Error(Error::kCorruption, "the journal in " + dir_ + " has an invalid section");
  });
}

std::string_view Store::NsBytes() const {
  const uint64_t bytes = files_.file(kNsFile).bytes();
  return {files_.At({kNsFile, 0}, bytes), bytes};
}

// Replays the journal to copies of the namespace file and of the data files' headers. The copies
// show whether the replayed database would be whole. The files stay as they are.
ReplayResult Store::CheckReplay() const {
  std::vector<FileHeader> headers = files_.Headers();
  std::string ns(NsBytes());
  const auto replay = [](DiskLoc at, std::string_view bytes, void* to, size_t size) {
    const auto ofs = static_cast<uint32_t>(at.ofs);
    if (ofs >= size) return;
    std::memcpy(static_cast<char*>(to) + ofs, bytes.data(), std::min(bytes.size(), size - ofs));
  };
  ReplayResult found = ReadJournal([&](DiskLoc at, std::string_view bytes) {
    files_.At(at, bytes.size());
    if (at.file == kNsFile) {
      replay(at, bytes, ns.data(), ns.size());
    } else if (at.file < static_cast<int32_t>(headers.size())) {
      replay(at, bytes, &headers[static_cast<size_t>(at.file)], sizeof(FileHeader));
    }
  });
  files_.CheckHeaders(headers);
  CheckLastExtents(dir_, ns, headers);
  return found;
}

// Brings the files to the state of the journal's last whole section. Without a journal they stay as
// they are.
void Store::Recover() {
  // The sync makes the names of the files durable, too.
  SyncDirectory(dir_);
  switch (files_.ns()->mark.state) {
    case OpenState::kClean:
      CheckJournalIsDone(dir_);
      break;
    case OpenState::kJournaled:
      MakeJournalDurable(dir_);
      // The whole journal is read before any of it is replayed, so that a database that is refused
      // stays as it is.
      WriteEndAgain(dir_, CheckReplay());
      replayed_ =
          ReadJournal([this](DiskLoc at, std::string_view bytes) { files_.Replay(at, bytes); });
      CheckFiles();
      files_.Sync();
      // Without this, a crash before the journal is removed would leave a clean database with
      // sections that seem to be needed.
      WriteReplayed(dir_, replayed_.last_seq);
      break;
    case OpenState::kUnjournaled:
      throw Error(Error::kUsage,
                  "the database in " + dir_ +
                      " was open without a journal (--durability none) when its process ended, so "
                      "nobody knows what its files hold: load it anew with --fresh");
    default:
      throw Error(Error::kCorruption,
                  "file " + NsPath(dir_) + " names no state in which a database can be left");
  }
  CheckFiles();
  // The state is written even if the file has it already. If its earlier sync failed, only the page
  // cache has it, and the device still says that there is a journal.
  files_.SetState(OpenState::kClean);
  RemoveJournal(dir_);
}

// The caller removes the journal after this check, because until then a replay of the journal can
// repair the files.
void Store::CheckFiles() {
  files_.CloseUnused();
  files_.CheckHeaders(files_.Headers());
  CheckLastExtents(dir_, NsBytes(), files_.Headers());
  CheckFilesWithoutHeader(files_);
}

}  // namespace testbed::mmapv1
