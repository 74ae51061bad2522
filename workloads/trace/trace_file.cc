#include "workloads/trace/trace_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <new>
#include <numeric>
#include <system_error>
#include <utility>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/input_file.h"

namespace testbed {
namespace {

constexpr uint64_t kMostIndexBytes = 1ull << 30;

// Reading a trace is testbed's own work, and no operation's of its clients.
OpKind ReadTraceOp() {
  static const OpKind op = DefineOp("read-trace", Ground::kBackground);
  return op;
}

uint64_t Checksum(const char* head, size_t head_bytes, const std::string& stored) {
  return XXH3_64bits_withSeed(stored.data(), stored.size(), XXH3_64bits(head, head_bytes));
}

// Unpacks `stored` to exactly `raw_bytes`. Returns whether it could.
bool Unpack(const std::string& stored, uint64_t raw_bytes, std::string* raw) {
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != raw_bytes) return false;
  raw->resize(raw_bytes);
  return ZSTD_decompress(raw->data(), raw_bytes, stored.data(), stored.size()) == raw_bytes;
}

}  // namespace

void TraceFile::Refuse(const std::string& what) const {
  throw Error(Error::kUsage, fmt::format("trace {}: {}", path_, what));
}

TraceFile::TraceFile(const std::string& path) : path_(path) {
  const IoScope scope(ReadTraceOp());
  // InputFile refuses directories and files of the kernel, which File takes.
  std::error_code none;
  if (std::filesystem::exists(path_, none)) {
    InputFile(
        {.path = path_, .name = "trace " + path_ + ":", .advice = "give the file of a trace"});
  }
  try {
    file_ = File::Open(path_, {.kind = FileKind::kTemp, .read_only = true});
    bytes_ = file_->Size();
  } catch (const Error& error) {
    Refuse(fmt::format("cannot be opened: {}", error.what()));
  }
  ReadHead();
  ReadIndex();
}

void TraceFile::ReadHead() const {
  char head[kTraceHeadBytes] = {};
  const size_t got = file_->ReadSome(0, head, sizeof head);
  if (got < 8 || std::memcmp(head, kTraceMagic, 8) != 0) {
    Refuse("is no trace; `testbed trace import` makes one of other formats");
  }
  const auto version = FixedAt<uint32_t>(head + 8);
  if (got == sizeof head && version != kTraceVersion) {
    Refuse(fmt::format("has version {}, and this testbed reads version {}; record it anew", version,
                       kTraceVersion));
  }
}

void TraceFile::ReadIndex() {
  char tail[kTraceTailBytes] = {};
  const char* const cut =
      "is cut off: its end is missing, so the copy or the recording is not whole";
  if (bytes_ < kTraceHeadBytes + kTraceTailBytes) Refuse(cut);
  file_->Read(bytes_ - kTraceTailBytes, tail, sizeof tail);
  if (std::memcmp(tail + 32, kTraceEndMagic, 8) != 0) Refuse(cut);
  const auto offset = FixedAt<uint64_t>(tail), stored_bytes = FixedAt<uint64_t>(tail + 8);
  const auto raw_bytes = FixedAt<uint64_t>(tail + 16);
  const char* const damaged = "is damaged: the checksum of its index does not match";
  const uint64_t room = bytes_ - kTraceTailBytes;
  if (offset > room || stored_bytes != room - offset || raw_bytes > kMostIndexBytes) {
    Refuse(damaged);
  }
  std::string stored(stored_bytes, '\0'), raw;
  file_->Read(offset, stored.data(), stored.size());
  if (FixedAt<uint64_t>(tail + 24) != Checksum(tail, 24, stored) ||
      !Unpack(stored, raw_bytes, &raw)) {
    Refuse(damaged);
  }
  Identify(FixedAt<uint64_t>(tail + 24));
  TakeIndex(raw, offset);
}

void TraceFile::Identify(uint64_t index_checksum) {
  struct stat status;
  if (::fstat(file_->fd(), &status) != 0) throw Error::Io("fstat", path_, errno);
  identity_ = fmt::format("{} {} {}.{:09} {:016x}", status.st_ino, bytes_, status.st_mtim.tv_sec,
                          status.st_mtim.tv_nsec, index_checksum);
}

// Takes the facts and the entries of the blocks, which end at `end`, out of the index.
void TraceFile::TakeIndex(const std::string& raw, uint64_t end) {
  const auto wrong = [this](const std::string& why) {
    Refuse(fmt::format("is damaged: its index is none ({})", why));
  };
  const uint64_t json_bytes = raw.size() < 8 ? UINT64_MAX : FixedAt<uint64_t>(raw.data());
  if (raw.size() < 8 || json_bytes > raw.size() - 8 ||
      (raw.size() - 8 - json_bytes) % kIndexEntryBytes != 0) {
    wrong("sizes");
  }
  try {
    facts_ = TraceFacts::FromJson(nlohmann::json::parse(raw.substr(8, json_bytes)));
  } catch (const std::bad_alloc&) {
    throw;  // nothing is known of the trace
  } catch (const std::exception& error) {
    wrong(error.what());
  }
  uint64_t operations = 0;
  for (size_t at = 8 + json_bytes; at < raw.size(); at += kIndexEntryBytes) {
    const BlockEntry entry = BlockEntry::At(raw.data() + at);
    const bool fits = entry.offset >= kTraceHeadBytes && entry.offset <= end &&
                      end - entry.offset >= kBlockHeadBytes &&
                      entry.stored_bytes <= end - entry.offset - kBlockHeadBytes;
    if (!fits || entry.client >= facts_.clients || entry.raw_bytes > kMostBlockBytes) {
      wrong("a block");
    }
    operations += entry.operations;
    blocks_.push_back(entry);
  }
  if (operations != facts_.operations) wrong("the number of operations");
  const LockGuard lock(mutex_);
  held_.resize(blocks_.size());
}

void TraceFile::ReadStored(size_t i, std::string* stored) const {
  const IoScope scope(ReadTraceOp());
  const BlockEntry& entry = blocks_[i];
  char head[kBlockHeadBytes];
  stored->resize(entry.stored_bytes);
  file_->Read(entry.offset, head, sizeof head);
  file_->Read(entry.offset + sizeof head, stored->data(), stored->size());
  std::string expected;
  entry.AppendTo(&expected);
  if (std::memcmp(head, expected.data(), kIndexEntryBytes) != 0 ||
      FixedAt<uint64_t>(head + kIndexEntryBytes) != Checksum(head, kIndexEntryBytes, *stored)) {
    Refuse(fmt::format("is damaged: the checksum of block {} of {}, at byte {}, does not match",
                       i + 1, blocks_.size(), entry.offset));
  }
}

std::shared_ptr<const std::string> TraceFile::Read(size_t i) const {
  {
    const LockGuard lock(mutex_);
    if (std::shared_ptr<const std::string> held = held_[i].lock()) return held;
  }
  std::string stored;
  ReadStored(i, &stored);
  auto raw = std::make_shared<std::string>();
  if (!Unpack(stored, blocks_[i].raw_bytes, raw.get())) {
    Refuse(fmt::format("is damaged: block {} of {} cannot be unpacked", i + 1, blocks_.size()));
  }
  const LockGuard lock(mutex_);
  // Another thread may have been faster.
  if (std::shared_ptr<const std::string> held = held_[i].lock()) return held;
  held_[i] = raw;
  return raw;
}

void TraceFile::CheckBlocks() const {
  std::string stored;
  for (size_t i = 0; i < blocks_.size(); ++i) ReadStored(i, &stored);
}

TraceStream::TraceStream(const TraceFile& file, const std::vector<uint32_t>& clients)
    : file_(file), clients_(clients.size()) {
  std::vector<size_t> index(file.facts().clients, SIZE_MAX);
  for (size_t i = 0; i < clients.size(); ++i) index[clients[i]] = i;
  for (size_t i = file.blocks().size(); i-- > 0;) {
    const size_t client = index[file.blocks()[i].client];
    if (client != SIZE_MAX) clients_[client].blocks.push_back(i);
  }
  for (size_t i = 0; i < clients_.size(); ++i) {
    if (Advance(&clients_[i])) due_.push({clients_[i].next.start_ns, i});
  }
}

// Decodes the client's next operation. Returns false at the end of the client's operations.
bool TraceStream::Advance(Client* client) {
  try {
    while (client->decoder == nullptr || !client->decoder->Next(&client->next)) {
      client->decoder.reset();
      if (client->blocks.empty()) return false;
      const size_t i = client->blocks.back();
      client->blocks.pop_back();
      client->decoder =
          std::make_unique<OperationDecoder>(file_.facts(), file_.blocks()[i], file_.Read(i));
    }
  } catch (const Error& error) {
    // A read that the system refuses says nothing about the bytes of the trace.
    const bool refused = error.kind() == Error::kIo;
    if (refused || std::string_view(error.what()).starts_with("trace ")) throw;
    file_.Refuse(fmt::format("is damaged: {}", error.what()));
  }
  return true;
}

bool TraceStream::Next(TraceOperation* operation) {
  if (due_.empty()) return false;
  const size_t i = due_.top().second;
  due_.pop();
  std::swap(*operation, clients_[i].next);
  if (Advance(&clients_[i])) due_.push({clients_[i].next.start_ns, i});
  return true;
}

std::vector<uint32_t> AllClients(const TraceFile& file) {
  std::vector<uint32_t> all(file.facts().clients);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace testbed
