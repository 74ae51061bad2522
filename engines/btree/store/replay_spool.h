// A ReplaySpool keeps operations from the log for the second pass of recovery. The first pass must
// restore the trees' shape before any of them can run, and the log is read once. The operations of
// a small log stay in memory; those of a larger one go to a temporary file, so recovery needs
// little memory however long the log is. On a full disk they stay in memory: a database must open
// there, so that space can be made.
//
//   spool.Add(record);
//   spool.ForEach([](const SpooledRecord& r) { ... });    // in the order in which they were added
#ifndef TESTBED_ENGINES_BTREE_STORE_REPLAY_SPOOL_H_
#define TESTBED_ENGINES_BTREE_STORE_REPLAY_SPOOL_H_

#include <unistd.h>
#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "device/error.h"
#include "device/file/file.h"
#include "device/log/log.h"
#include "engines/transaction_parts.h"

namespace testbed::btree {

struct SpooledRecord {
  LogRange range;
  TransactionParts::Part part;
};

class ReplaySpool {
 public:
  explicit ReplaySpool(std::string path) : path_(std::move(path)) {}
  ~ReplaySpool() {
    if (file_ != nullptr) ::unlink(path_.c_str());
  }
  ReplaySpool(const ReplaySpool&) = delete;
  ReplaySpool& operator=(const ReplaySpool&) = delete;

  void Add(const SpooledRecord& record) {
    const TransactionParts::Part& part = record.part;
    const Head head = {record.range.begin, record.range.end, part.transaction,
                       part.later,         part.more,        part.operations.size()};
    buffer_.append(reinterpret_cast<const char*>(&head), sizeof head);
    buffer_.append(part.operations);
    if (buffer_.size() >= kMemory && !device_is_full_) Spill();
  }

  // Returns the bytes that the records take.
  uint64_t bytes() const { return written_ + buffer_.size(); }

  void ForEach(const std::function<void(const SpooledRecord&)>& use) {
    std::string_view left;
    std::string piece;
    uint64_t offset = 0;
    while (file_ != nullptr && offset < written_) {
      // No record lies in two pieces, because each record was written as a whole.
      Piece head;
      file_->Read(offset, &head, sizeof head);
      offset += sizeof head;
      if (head.size == 0 || head.size > written_ - offset) ThrowChanged();
      piece.resize(head.size);
      file_->Read(offset, piece.data(), head.size);
      if (XXH3_64bits(piece.data(), head.size) != head.checksum) ThrowChanged();
      offset += head.size;
      left = piece;
      UseAll(left, use);
    }
    UseAll(buffer_, use);
  }

 private:
  static constexpr size_t kMemory = 4 << 20;
  // The file is never synced, so no call reports that the kernel could not write a page of it back.
  // The checksum shows when a piece that is read differs from what was written.
  struct Piece {
    uint64_t size;
    uint64_t checksum;
  };
  struct Head {
    Lsn begin, end;
    uint64_t transaction;
    uint64_t later, more;
    uint64_t size;
  };

  static void UseAll(std::string_view bytes, const std::function<void(const SpooledRecord&)>& use) {
    while (!bytes.empty()) {
      Head head;
      std::memcpy(&head, bytes.data(), sizeof head);
      use({{head.begin, head.end},
           {head.transaction, head.later != 0, head.more != 0,
            bytes.substr(sizeof head, head.size)}});
      bytes.remove_prefix(sizeof head + head.size);
    }
  }

  [[noreturn]] void ThrowChanged() const {
    throw Error(Error::kIo,
                "the temporary file " + path_ +
                    " is read back otherwise than it was written: its device may fail; open the "
                    "database again");
  }

  void Spill() {
    const Piece head{buffer_.size(), XXH3_64bits(buffer_.data(), buffer_.size())};
    try {
      if (file_ == nullptr) {
        FileOptions options;
        options.kind = FileKind::kTemp;
        options.create = FileOptions::kTruncate;
        file_ = File::Open(path_, options);
      }
      file_->Write(written_, &head, sizeof head);
      file_->Write(written_ + sizeof head, buffer_.data(), buffer_.size());
    } catch (const Error& e) {
      if (!e.disk_is_full()) throw;
      device_is_full_ = true;
      return;
    }
    written_ += sizeof head + buffer_.size();
    buffer_.clear();
  }

  const std::string path_;
  std::unique_ptr<File> file_;
  uint64_t written_ = 0;
  std::string buffer_;
  bool device_is_full_ = false;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_REPLAY_SPOOL_H_
