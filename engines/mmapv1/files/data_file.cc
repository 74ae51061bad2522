#include "engines/mmapv1/files/data_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "device/file/directory.h"
#include "device/file/file_faults.h"
#include "device/os/interrupted.h"

namespace testbed::mmapv1 {
namespace {

constexpr uint64_t kPagesPerWord = 64;

void WriteZeros(File* file, uint64_t bytes) {
  constexpr uint64_t kChunk = 1 << 20;
  const AlignedBuffer zeros(kChunk);
  std::memset(const_cast<char*>(zeros.data()), 0, kChunk);
  for (uint64_t at = 0; at < bytes; at += kChunk) {
    file->Write(at, zeros.data(), std::min(kChunk, bytes - at));
  }
}

}  // namespace

PageMarks::PageMarks(uint64_t bytes) : words_(bytes / kMemoryPage / kPagesPerWord + 1) {}

void PageMarks::Mark(uint64_t ofs, uint64_t n) {
  const uint64_t last = (ofs + n - 1) / kMemoryPage;
  for (uint64_t page = ofs / kMemoryPage; page <= last; ++page) {
    std::atomic<uint64_t>& word = words_[page / kPagesPerWord];
    const uint64_t bit = 1ull << page % kPagesPerWord;
    if ((word.load(std::memory_order_relaxed) & bit) != 0) continue;
    if ((word.fetch_or(bit) & bit) == 0) count_.fetch_add(1, std::memory_order_relaxed);
  }
}

bool PageMarks::Any(uint64_t ofs, uint64_t n) const {
  const uint64_t last = (ofs + std::max<uint64_t>(n, 1) - 1) / kMemoryPage;
  for (uint64_t page = ofs / kMemoryPage; page <= last; ++page) {
    const uint64_t word = words_[page / kPagesPerWord].load(std::memory_order_relaxed);
    if ((word >> page % kPagesPerWord & 1) != 0) return true;
  }
  return false;
}

uint64_t PageMarks::Clear(uint64_t begin, uint64_t end) {
  uint64_t cleared = 0;
  const uint64_t last = end / kMemoryPage;
  for (uint64_t page = begin / kMemoryPage; page < last;) {
    const uint64_t in_word = page % kPagesPerWord;
    const uint64_t here = std::min(kPagesPerWord - in_word, last - page);
    const uint64_t mask = (here == kPagesPerWord ? ~0ull : (1ull << here) - 1) << in_word;
    std::atomic<uint64_t>& word = words_[page / kPagesPerWord];
    if ((word.load(std::memory_order_relaxed) & mask) != 0) {
      cleared += static_cast<uint64_t>(std::popcount(word.fetch_and(~mask) & mask));
    }
    page += here;
  }
  count_.fetch_sub(cleared, std::memory_order_relaxed);
  return cleared;
}

void DataFile::Create(const std::string& path, uint64_t bytes, bool zero_fill) {
  const std::string unfinished = path + ".new";
  try {
    FileOptions options;
    options.kind = FileKind::kData;
    options.create = FileOptions::kTruncate;
    const std::unique_ptr<File> file = File::Open(unfinished, options);
    // Where the file system cannot allocate, zeros are written.
    if (zero_fill || !file->Allocate(0, bytes)) WriteZeros(file.get(), bytes);
    file->Sync(true);
    RenameFile(unfinished, path);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
    throw;
  }
  try {
    SyncDirectory(std::filesystem::path(path).parent_path());
  } catch (...) {
    // A file whose name is not durable must not be used.
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    throw;
  }
}

DataFile::DataFile(const std::string& path, Views views, Advice advice)
    : file_(File::Open(path,
                       [&] {
                         FileOptions options;
                         options.kind = FileKind::kData;
                         options.mode = IoMode::kMmap;
                         options.read_only = views == kPrivateView;
                         return options;
                       }())),
      bytes_(file_->Size()),
      private_marks_(bytes_),
      shared_marks_(bytes_) {
  if (bytes_ == 0 || bytes_ > kMostFileBytes) {
    throw Error(Error::kCorruption, "file " + path + " has " + std::to_string(bytes_) +
                                        " bytes, which no file of mmapv1 has");
  }
  if (views != kPrivateView) {
    write_back_ = std::make_unique<WriteBackWatch>(path, FileKind::kData);
  }
  if (views != kPrivateView) shared_ = Map(PROT_READ | PROT_WRITE, MAP_SHARED, advice);
  if (views != kSharedView) private_ = Map(PROT_READ | PROT_WRITE, MAP_PRIVATE, advice);
}

DataFile::~DataFile() {
  if (shared_ != nullptr) ::munmap(shared_, bytes_);
  if (private_ != nullptr) ::munmap(private_, bytes_);
}

char* DataFile::Map(int protection, int flags, Advice advice) const {
  // The mapping reserves no memory for private pages, because only few of them are ever copied.
  void* at = ::mmap(nullptr, bytes_, protection, flags | MAP_NORESERVE, file_->fd(), 0);
  if (at == MAP_FAILED) throw Error::Io("mmap", path(), errno);
  if (advice != Advice::kNormal) ::madvise(at, bytes_, MadviseValue(advice));
  return static_cast<char*>(at);
}

uint64_t DataFile::private_bytes() const { return private_marks_.count() * kMemoryPage; }
uint64_t DataFile::shared_bytes() const { return shared_marks_.count() * kMemoryPage; }

void DataFile::DropPrivate(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  // On a private mapping, this call does what mapping the range anew would do: it drops the copies,
  // and the next access finds the file's own page.
  if (::madvise(private_ + begin, end - begin, MADV_DONTNEED) != 0) {
    throw Error::Io("madvise", path(), errno);
  }
  private_marks_.Clear(begin, end);
  if (private_end_ <= end) private_end_ = std::min(private_end_, begin);
  if (private_marks_.count() == 0) private_end_ = 0;
}

uint64_t DataFile::Sync() {
  const uint64_t whole = (bytes_ + kMemoryPage - 1) / kMemoryPage * kMemoryPage;
  if (shared_marks_.count() == 0) return 0;
  syncs_.store(true);
  // The marks are taken before the sync. Pages that change during the sync are marked for the next
  // one.
  const uint64_t pages = shared_marks_.Clear(0, whole);
  CallMark mark(FileKind::kData);
  const int fault = FileFaults::Next(true);
  const auto sync = [this] { return ::msync(shared_, bytes_, MS_SYNC); };
  if (fault != 0 || Uninterrupted(sync) != 0) {
    const int code = fault != 0 ? fault : errno;
    shared_marks_.Mark(0, bytes_);
    throw Error::Io("msync", path(), code);
  }
  file_->CheckNamed();
  syncs_.store(false);
  return pages * kMemoryPage;
}

bool DataFile::InMemory(uint64_t ofs, uint64_t n) const {
  const uint64_t begin = ofs / kMemoryPage * kMemoryPage;
  std::array<unsigned char, 64> pages;
  // The first pages of a long range stand for the whole range.
  const uint64_t most = pages.size() * uint64_t{kMemoryPage};
  const uint64_t length = std::min({ofs + n - begin, most, bytes_ - begin});
  if (::mincore(view() + begin, length, pages.data()) != 0) return true;
  const uint64_t count = (length + kMemoryPage - 1) / kMemoryPage;
  return std::all_of(pages.begin(), pages.begin() + count,
                     [](unsigned char page) { return (page & 1) != 0; });
}

}  // namespace testbed::mmapv1
