#include "tests/unit/engines/failing_disk/failing_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "tests/unit/engines/failing_disk/failing_disk_model.h"

namespace testbed {
namespace disk_model {

namespace fs = std::filesystem;

std::atomic<bool> on{false};
Model& TheModel() {
  static Model* const model = new Model;  // never deleted: calls come until the process ends
  return *model;
}

std::string PathOf(int fd) {
  char name[64], path[4096];
  ::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const ssize_t n = ::readlink(name, path, sizeof path);
  std::string found(path, n > 0 ? static_cast<size_t>(n) : 0);
  return found.ends_with(" (deleted)") ? "" : found;
}

ssize_t RealPwrite(int fd, const void* data, size_t n, off_t at) {
  return ::syscall(SYS_pwrite64, fd, data, n, at);
}

// Reads with a descriptor of its own, because the program's may be direct or write-only.
ssize_t RealPread(const std::string& path, void* to, size_t n, off_t at) {
  const long own = ::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (own < 0) return 0;
  const ssize_t got = ::pread(static_cast<int>(own), to, n, at);
  ::syscall(SYS_close, own);
  return std::max<ssize_t>(got, 0);
}

uint64_t SizeOf(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 ? static_cast<uint64_t>(st.st_size) : 0;
}

uint64_t SizeOfAll(const std::string& dir) {
  uint64_t bytes = 0;
  std::error_code none;
  for (const auto& entry : fs::recursive_directory_iterator(dir, none)) {
    if (entry.is_regular_file(none)) bytes += SizeOf(entry.path());
  }
  return bytes;
}

namespace {

std::string Content(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return {};
  std::string bytes(static_cast<size_t>(st.st_size), '\0');
  bytes.resize(static_cast<size_t>(RealPread(path, bytes.data(), bytes.size(), 0)));
  return bytes;
}

}  // namespace

FileRef Model::FileAt(const std::string& path) {
  struct stat st;
  if (!Has(path) || ::stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return nullptr;
  FileRef& file = files[st.st_ino];
  if (file == nullptr) file = std::make_shared<DeviceFile>();
  file->path = path;
  return file;
}

void Model::Forget(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) == 0) files.erase(st.st_ino);
}

bool Model::Fails(DiskCall call, const std::string& path) {
  if (all_calls++ == cut_at) Cut(cut_seed);
  if (is_cut) {
    errno = EIO;
    return true;
  }
  if (call != fault.call || !path.ends_with(fault.file)) return false;
  const uint64_t n = calls++;
  if (fault.lasts ? n < fault.at : n != fault.at) return false;
  ++failed;
  errno = fault.error;
  return true;
}

// A direct write that does not fit writes the whole blocks that fit. In this model a buffered one
// does the same.
uint64_t Model::Fitting(const std::string& path, uint64_t at, uint64_t n) const {
  const uint64_t size = SizeOf(path);
  if (most_bytes == UINT64_MAX || at + n <= size) return n;
  const uint64_t end = size + most_bytes - std::min(most_bytes, SizeOfAll(dir));
  if (at + n <= end) return n;
  const uint64_t blocks_end = std::max(end / kBlock * kBlock, size / kBlock * kBlock);
  return blocks_end - std::min(at, blocks_end);
}

void Model::MarkDirty(DeviceFile* file, uint64_t from, uint64_t end) {
  if (from >= end) return;
  for (uint64_t block = from / kBlock; block <= (end - 1) / kBlock; ++block) {
    file->blocks[block] = true;
  }
}

void Model::KeepEarlier(DeviceFile* file, uint64_t from, uint64_t end) {
  for (uint64_t block = from / kBlock; block * kBlock < end; ++block) {
    const auto found = file->blocks.find(block);
    if (found == file->blocks.end() || !found->second) continue;
    std::string& bytes = file->earlier[block];
    bytes.resize(kBlock);
    bytes.resize(static_cast<size_t>(
        RealPread(file->path, bytes.data(), kBlock, static_cast<off_t>(block * kBlock))));
  }
}

void Model::FindMappedChanges(DeviceFile* file) {
  if (!file->is_mapped) return;
  std::string now = Content(file->path);
  for (uint64_t at = 0; at < now.size(); at += kBlock) {
    const size_t n = std::min(kBlock, now.size() - at);
    if (at + n <= file->bytes.size() && now.compare(at, n, file->bytes, at, n) == 0) continue;
    file->blocks.emplace(at / kBlock, true);  // emplace keeps the entry of a block that was lost
  }
}

void Model::Sync(DeviceFile* file, bool fails) {
  FindMappedChanges(file);
  struct stat st;
  if (::stat(file->path.c_str(), &st) != 0) return;
  if (!fails) file->bytes.resize(static_cast<size_t>(st.st_size));
  char block[kBlock];
  for (auto at = file->blocks.begin(); at != file->blocks.end();) {
    // A direct write ends only when its extent is marked as written.
    if (fails && at->second && !file->written.contains(at->first) &&
        !file->direct.contains(at->first)) {
      file->stuck.insert(at->first);
    }
    if (fails || !at->second || file->stuck.contains(at->first)) {
      at->second = false;
      ++at;
      continue;
    }
    file->written.insert(at->first);
    const uint64_t from = at->first * kBlock;
    const auto n =
        static_cast<size_t>(RealPread(file->path, block, kBlock, static_cast<off_t>(from)));
    if (from < file->bytes.size()) {
      file->bytes.replace(from, std::min(n, file->bytes.size() - from), block,
                          std::min(n, file->bytes.size() - from));
    }
    at = file->blocks.erase(at);
  }
  file->earlier.clear();
  if (fails && file->is_mapped) WatchLostPages(file);
}

void Model::NoteFreed(DeviceFile* file, uint64_t from, uint64_t end) {
  if (from >= end) return;
  for (auto* blocks : {&file->written, &file->stuck}) {
    blocks->erase(blocks->lower_bound((from + kBlock - 1) / kBlock),
                  blocks->lower_bound(end / kBlock));
  }
  file->earlier.erase(file->earlier.lower_bound(from / kBlock),
                      file->earlier.lower_bound((end + kBlock - 1) / kBlock));
}

bool Model::TellsOfWriteBack(int fd, const DeviceFile& file) {
  const auto known = told.find(fd);
  if (known == told.end() || known->second == file.write_back_errors) return false;
  known->second = file.write_back_errors;
  errno = EIO;
  return true;
}

uint64_t Model::NumberOf(const std::string& directory) {
  if (directory == dir) return kTop;
  struct stat st;
  if (::stat(directory.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return 0;
  uint64_t& number = directories[st.st_ino];
  if (number == 0) number = ++last_directory;
  return number;
}

Names Model::NamesNow(const std::string& directory) {
  Names now;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none)) {
    DeviceName& name = now[entry.path().filename()];
    name.file = FileAt(entry.path());
    if (name.file == nullptr) name.directory = NumberOf(entry.path());
  }
  return now;
}

void Model::SyncNames(const std::string& directory) {
  std::set<std::string> together = {directory};
  if (renamed_between.contains(directory)) together.swap(renamed_between);
  for (const std::string& path : together) {
    const uint64_t number = NumberOf(path);
    if (number == 0) continue;
    names[number] = NamesNow(path);
    for (auto& change : name_changes) change.erase(number);
  }
  std::erase_if(name_changes, [](const auto& change) { return change.empty(); });
  if (together.size() > 1) renamed_between.clear();
}

void Model::NoteNames(const std::set<std::string>& changed) {
  std::map<uint64_t, Names> change;
  for (const std::string& path : changed) {
    if (const uint64_t number = NumberOf(path); number != 0) change[number] = NamesNow(path);
  }
  name_changes.push_back(std::move(change));
}

void Model::NoteRename(const std::string& from, const std::string& to) {
  const std::string below = from + "/";  // when it was a directory
  for (const auto& [number, file] : files) {
    if (file->path == from) file->path = to;
    if (file->path.starts_with(below)) file->path = to + "/" + file->path.substr(below.size());
  }
  const std::string left = fs::path(from).parent_path(), entered = fs::path(to).parent_path();
  if (left != entered) renamed_between.insert({left, entered});
  NoteNames({left, entered});
}

void Model::DropCleanPages(DeviceFile* file, bool mapped_too) {
  if (file->is_mapped && !mapped_too) return;
  struct stat st;
  if (::stat(file->path.c_str(), &st) != 0) return;
  const long own = ::syscall(SYS_openat, AT_FDCWD, file->path.c_str(), O_RDWR | O_CLOEXEC);
  std::erase_if(file->blocks, [&](const auto& block) {
    // Blocks that were written by direct IO are in the device's cache, and not in the page cache.
    if (block.second || file->direct.contains(block.first)) return false;
    std::string old(kBlock, '\0');
    const size_t from = block.first * kBlock;
    if (from < file->bytes.size()) file->bytes.copy(old.data(), kBlock, from);
    const auto end = static_cast<size_t>(st.st_size);
    const size_t length = from < end ? std::min(kBlock, end - from) : 0;
    RealPwrite(static_cast<int>(own), old.data(), length, static_cast<off_t>(from));
    file->stuck.erase(block.first);
    return true;
  });
  ::syscall(SYS_close, own);
}

// Each dirty block reaches the device by chance: as a whole, not at all, or with some of its
// sectors. The kernel may have written it back before it was written last.
void Model::CutFile(DeviceFile* file, std::mt19937_64* random) {
  FindMappedChanges(file);
  const std::string now = Content(file->path);
  if ((*random)() % 2 == 0) file->bytes.resize(now.size());
  for (const auto& [block, dirty] : file->blocks) {
    const uint64_t luck = (*random)() % 3;
    const size_t begin = block * kBlock;
    if (!dirty || luck == 0 || begin >= now.size()) continue;
    std::string bytes = now.substr(begin, kBlock);
    const auto earlier = file->earlier.find(block);
    if (earlier != file->earlier.end() && (*random)() % 2 == 0) {
      const size_t length = bytes.size();
      bytes = earlier->second;
      bytes.resize(length);  // with zeros where the file had ended
    }
    for (size_t at = 0; at < bytes.size(); at += kSector) {
      if (luck == 2 && !whole_blocks && (*random)() % 2 == 0) continue;
      const size_t n = std::min(kSector, bytes.size() - at);
      if (begin + at + n > file->bytes.size()) break;
      file->bytes.replace(begin + at, n, bytes, at, n);
    }
  }
}

// The file system's journal may have made the latest names durable, or the first few of the changes
// since the last sync.
void Model::CutNames(std::mt19937_64* random) {
  const uint64_t luck = (*random)() % 3;
  if (luck == 0) {
    std::error_code none;
    SyncNames(dir);
    for (const auto& entry : fs::recursive_directory_iterator(dir, none)) {
      if (entry.is_directory(none)) SyncNames(entry.path());
    }
  }
  if (luck == 1) {
    const size_t durable = (*random)() % (name_changes.size() + 1);
    for (size_t i = 0; i < durable; ++i) {
      for (const auto& [number, now] : name_changes[i]) names[number] = now;
    }
  }
}

void Model::Cut(uint64_t seed) {
  if (is_cut) return;
  is_cut = true;
  std::mt19937_64 random(seed);
  CutNames(&random);
  std::set<DeviceFile*> all;
  for (const auto& [number, file] : files) all.insert(file.get());
  for (DeviceFile* file : all) CutFile(file, &random);
}

}  // namespace disk_model

using disk_model::TheModel;

FailingDisk::FailingDisk(const std::string& dir, bool whole_blocks) {
  auto& model = TheModel();
  const disk_model::Hold hold;
  model.dir = dir;
  model.files.clear();
  model.names.clear();
  model.name_changes.clear();
  model.directories.clear();
  model.last_directory = disk_model::Model::kTop;
  model.renamed_between.clear();
  model.mappings.clear();
  model.told.clear();
  model.fault = {};
  model.calls = model.failed = model.all_calls = 0;
  model.cut_at = UINT64_MAX;
  model.is_cut = false;
  model.whole_blocks = whole_blocks;
  model.most_bytes = UINT64_MAX;
  model.SyncNames(dir);
  std::error_code none;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir, none)) {
    if (entry.is_directory(none)) {
      model.SyncNames(entry.path());
    } else if (const auto file = model.FileAt(entry.path())) {
      file->bytes = disk_model::Content(entry.path());
      for (uint64_t at = 0; at < file->bytes.size(); at += disk_model::kBlock) {
        file->written.insert(at / disk_model::kBlock);
      }
    }
  }
  disk_model::on.store(true);
}
FailingDisk::~FailingDisk() { disk_model::on.store(false); }

DiskPause::DiskPause() : hold_(std::make_unique<disk_model::Hold>()) {}
DiskPause::~DiskPause() = default;

void FailingDisk::Fail(const DiskFault& fault) {
  auto& model = TheModel();
  const disk_model::Hold hold;
  model.fault = fault;
  model.calls = model.failed = 0;
}
void FailingDisk::Heal() {
  const disk_model::Hold hold;
  TheModel().fault.at = UINT64_MAX;
}
void FailingDisk::Limit(uint64_t bytes) {
  const disk_model::Hold hold;
  TheModel().most_bytes = bytes;
}
void FailingDisk::FailWriteBack(const std::string& ending) {
  auto& model = TheModel();
  const disk_model::Hold hold;
  for (const auto& [number, file] : model.files) {
    if (!file->path.ends_with(ending)) continue;
    ++file->write_back_errors;
    model.Sync(file.get(), true);
    model.DropCleanPages(file.get(), true);
  }
}
void FailingDisk::CutAfter(uint64_t calls, uint64_t seed) {
  auto& model = TheModel();
  const disk_model::Hold hold;
  model.cut_at = model.all_calls + calls;
  model.cut_seed = seed;
}
void FailingDisk::Cut(uint64_t seed) {
  const disk_model::Hold hold;
  TheModel().Cut(seed);
}
bool FailingDisk::is_cut() const {
  const disk_model::Hold hold;
  return TheModel().is_cut;
}
uint64_t FailingDisk::calls() const { return TheModel().calls; }
uint64_t FailingDisk::failed() const { return TheModel().failed; }
uint64_t FailingDisk::all_calls() const { return TheModel().all_calls; }

void FailingDisk::CopyTo(const std::string& to) const {
  namespace fs = std::filesystem;
  auto& model = TheModel();
  const disk_model::Hold hold;
  fs::remove_all(to);
  std::vector<std::pair<std::string, uint64_t>> directories{{"", disk_model::Model::kTop}};
  while (!directories.empty()) {
    const auto [below, number] = directories.back();
    directories.pop_back();
    fs::create_directories(to + below);
    for (const auto& [name, found] : model.names[number]) {
      if (found.file == nullptr) {
        directories.emplace_back(below + "/" + name, found.directory);
      } else {
        std::ofstream(to + below + "/" + name, std::ios::binary) << found.file->bytes;
      }
    }
  }
}

}  // namespace testbed
