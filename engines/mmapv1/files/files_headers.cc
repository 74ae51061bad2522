// This file has the functions of Files that work on the headers of the files.
#include <atomic>
#include <cstddef>
#include <filesystem>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/random_id.h"
#include "engines/mmapv1/files/files.h"

namespace testbed::mmapv1 {

void Files::CreateNamespace(const std::string& dir, const Settings& settings) {
  std::error_code error;
  // A file gets its name after its header is written. A file that an earlier attempt has left is
  // overwritten.
  const std::string path = NsPath(dir), unfinished = path + ".creating";
  try {
    DataFile::Create(unfinished, settings.ns_bytes, settings.zero_fill);
    NsHeader header{};
    header.magic = kNsMagic;
    header.version = kFormatVersion;
    header.database = RandomId();
    header.slots = static_cast<uint32_t>((settings.ns_bytes - kNsHeaderBytes) / sizeof(NsEntry));
    header.mark.state = OpenState::kClean;
    header.mark.checksum = ChecksumOf(header);
    FileOptions options;
    const std::unique_ptr<File> file = File::Open(unfinished, options);
    file->Write(0, &header, sizeof header);
    file->Sync();
    RenameFile(unfinished, path);
    SyncDirectory(dir);
  } catch (...) {
    std::filesystem::remove(unfinished, error);
    std::filesystem::remove(path, error);
    throw;
  }
}

void Files::CheckNamespace() const {
  const NsHeader* header = ns();
  if (header->magic != kNsMagic) {
    throw Error(Error::kCorruption, "file " + NsPath(dir_) + " is no namespace file of mmapv1");
  }
  if (header->version != kFormatVersion) {
    throw Error(Error::kUsage, "the database in " + dir_ + " is of format " +
                                   std::to_string(header->version) + "; this testbed knows " +
                                   std::to_string(kFormatVersion) + ": load it anew with --fresh");
  }
  if (header->mark.checksum != ChecksumOf(*header)) {
    throw Error(Error::kCorruption,
                "the header of file " + NsPath(dir_) +
                    " is damaged: its checksum does not match, so nobody knows whether the journal "
                    "is needed; put a copy of the database back, or load it anew with --fresh");
  }
}

void Files::CloseUnused() {
  int32_t n = count();
  while (n > 0 && As<FileHeader>({n - 1, 0})->magic == 0) {
    --n;
    views_[static_cast<size_t>(n)] = {};
    files_[static_cast<size_t>(n)].reset();
  }
  count_.store(n, std::memory_order_release);
}

std::vector<FileHeader> Files::Headers() const {
  std::vector<FileHeader> headers;
  for (int32_t n = 0; n < count(); ++n) headers.push_back(*As<FileHeader>({n, 0}));
  return headers;
}

void Files::CheckHeaders(const std::vector<FileHeader>& headers) const {
  auto used = static_cast<int32_t>(headers.size());
  while (used > 0 && headers[static_cast<size_t>(used - 1)].magic == 0) --used;
  for (int32_t n = 0; n < used; ++n) {
    const FileHeader& header = headers[static_cast<size_t>(n)];
    if (header.magic == kFileMagic && header.database == ns()->database &&
        header.number == static_cast<uint32_t>(n) && header.bytes == file(n).bytes()) {
      continue;
    }
    // The first extent of a file never moves, so its magic number shows whether a header was lost.
    if (AllZeros(header) && As<ExtentHeader>({n, kFileHeaderBytes})->magic != kExtentMagic) {
      continue;
    }
    throw Error(Error::kCorruption,
                "file " + file(n).path() + " is damaged, was cut, or belongs to another database");
  }
}

void Files::SetState(OpenState state) {
  DataFile& ns_file = file(kNsFile);
  auto* header = reinterpret_cast<NsHeader*>(ns_file.shared());
  NsHeader next = *header;
  next.mark.state = state;
  next.mark.checksum = ChecksumOf(next);
  static_assert(std::atomic_ref<OpenMark>::is_always_lock_free);
  std::atomic_ref(header->mark).store(next.mark);
  ns_file.MarkShared(offsetof(NsHeader, mark), sizeof next.mark);
  ns_file.Sync();
}

}  // namespace testbed::mmapv1
