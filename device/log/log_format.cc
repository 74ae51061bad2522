#include "device/log/log_format.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>

#include "device/error.h"
#include "device/file/directory.h"

namespace testbed {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the log's integers are stored as they lie in memory");

constexpr char kMagic[8] = {'t', 'b', 'l', 'o', 'g', 's', 'e', 'g'};

// These are the offsets of the fields of a segment header. The last field is the checksum of all
// bytes before it.
enum SegmentField : size_t {
  kSegmentMagic = 0,
  kSegmentVersion = 8,
  kSegmentHeaderSize = 12,
  kSegmentLogId = 16,
  kSegmentNumber = 24,
  kSegmentFirstLsn = 32,
  kSegmentBytes = 40,
  kSegmentEpoch = 48,
  kSegmentWriteSize = 52,
  kSegmentPad = 56,
  kSegmentFlags = 60,
  kSegmentChecksum = kSegmentHeaderUsed - 8,
};

// These are the bits of the field kSegmentFlags.
constexpr uint32_t kWholeFlag = 1, kHasNextFlag = 2;

// These are the offsets of the fields of a frame header.
enum FrameField : size_t {
  kFrameChecksum = 0,
  kFrameChain = 8,
  kFrameDurable = 16,
  kFrameLength = 24,
  kFrameSpan = 28,
  kFrameEpoch = 32,
  kFrameRecords = 36,
};

template <typename T>
void Put(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <typename T>
T Get(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Returns the checksum of a frame. The log's id and the frame's position are part of the seed, so
// that a frame of another log, or of this log at another position (a recycled segment is full of
// such frames), does not verify.
uint64_t FrameChecksum(uint64_t log_id, Lsn lsn, const char* frame, size_t length) {
  const uint64_t seed = log_id ^ (lsn * 0x9e3779b97f4a7c15ull);
  return XXH3_64bits_withSeed(frame + kFrameChain, length - kFrameChain, seed);
}

std::string NameOf(uint64_t number) {
  char name[32];
  std::snprintf(name, sizeof name, "log-%06" PRIu64, number);
  return name;
}

SegmentInfo ReadInfo(const std::string& directory, uint64_t number, IoMode mode) {
  SegmentInfo info;
  info.path = LogSegmentPath(directory, number);
  info.number = number;
  FileOptions options;
  options.kind = FileKind::kLog;
  options.mode = mode;
  options.read_only = true;
  auto file = File::Open(info.path, options);
  info.bytes = file->Size();
  AlignedBuffer block(kMaxLogWriteSize);
  const size_t n = file->ReadSome(0, block.data(), std::max(kSegmentHeaderUsed, file->alignment()));
  info.state =
      DecodeSegmentHeader({block.data(), std::min(n, kSegmentHeaderUsed)}, info.path, &info.header);
  return info;
}

// Throws unless every segment that a header speaks of is there, in its full length. A crash while a
// segment is made leaves a segment of which the header before it does not speak.
void CheckComplete(const std::string& directory, const std::vector<SegmentInfo>& segments) {
  // `known` is true when the segment before says that this one was made, and for the first segment.
  bool known = true;
  for (size_t i = 0; i < segments.size(); ++i) {
    const SegmentInfo& info = segments[i];
    const SegmentHeader& header = info.header;
    if (!info.in_use()) {
      known = false;
      continue;
    }
    if ((known || header.has_next) && header.whole && info.bytes < header.segment_bytes) {
      throw Error(Error::kCorruption,
                  "log file " + info.path + " has " + std::to_string(info.bytes) +
                      " bytes and had " + std::to_string(header.segment_bytes) +
                      ": it was cut; restore the database from a copy, or load it again");
    }
    known = header.has_next;
    if (!known) continue;
    const SegmentInfo* next = i + 1 < segments.size() ? &segments[i + 1] : nullptr;
    if (next != nullptr && next->number == info.number + 1 && next->in_use()) continue;
    throw Error(Error::kCorruption,
                "log file " + LogSegmentPath(directory, info.number + 1) +
                    " is missing, or is no log file, though " + info.path +
                    " says that it was made: put it back, restore the database from a copy, or "
                    "load it again");
  }
}

// Returns the numbers of the segment files of a directory, in ascending order.
std::vector<uint64_t> NumbersIn(const std::string& directory) {
  std::vector<uint64_t> numbers;
  for (const std::string& name : NamesIn(directory)) {
    if (auto number = LogSegmentNumber(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

bool IsHalfMade(const SegmentHeader& before, uint64_t number, bool last) {
  return last && number == before.number + 1 && !before.has_next;
}

void EncodeSegmentHeader(const SegmentHeader& header, char* block) {
  std::memset(block, 0, kSegmentHeaderUsed);
  std::memcpy(block + kSegmentMagic, kMagic, sizeof kMagic);
  Put<uint32_t>(block + kSegmentVersion, kLogFormatVersion);
  Put<uint32_t>(block + kSegmentHeaderSize, kSegmentHeaderBytes);
  Put<uint64_t>(block + kSegmentLogId, header.log_id);
  Put<uint64_t>(block + kSegmentNumber, header.number);
  Put<uint64_t>(block + kSegmentFirstLsn, header.first_lsn);
  Put<uint64_t>(block + kSegmentBytes, header.segment_bytes);
  Put<uint32_t>(block + kSegmentEpoch, header.epoch);
  Put<uint32_t>(block + kSegmentWriteSize, header.write_size);
  Put<uint32_t>(block + kSegmentPad, header.pad ? 1 : 0);
  Put<uint32_t>(block + kSegmentFlags,
                (header.whole ? kWholeFlag : 0) | (header.has_next ? kHasNextFlag : 0));
  Put<uint64_t>(block + kSegmentChecksum, SegmentHeaderChecksum(block));
}

uint64_t SegmentHeaderChecksum(const char* block) { return XXH3_64bits(block, kSegmentChecksum); }

HeaderState DecodeSegmentHeader(std::string_view block, const std::string& path,
                                SegmentHeader* header) {
  if (std::all_of(block.begin(), block.end(), [](char c) { return c == 0; })) {
    return HeaderState::kBlank;
  }
  const char* at = block.data();
  if (block.size() < kSegmentHeaderUsed || std::memcmp(at, kMagic, sizeof kMagic) != 0 ||
      Get<uint64_t>(at + kSegmentChecksum) != SegmentHeaderChecksum(at)) {
    return HeaderState::kDamaged;
  }
  const uint32_t version = Get<uint32_t>(at + kSegmentVersion);
  if (version != kLogFormatVersion) {
    throw Error(Error::kUsage, "log file " + path + " has format version " +
                                   std::to_string(version) + "; this program reads version " +
                                   std::to_string(kLogFormatVersion) +
                                   ": open the database with the release that wrote it");
  }
  header->log_id = Get<uint64_t>(at + kSegmentLogId);
  header->number = Get<uint64_t>(at + kSegmentNumber);
  header->first_lsn = Get<uint64_t>(at + kSegmentFirstLsn);
  header->segment_bytes = Get<uint64_t>(at + kSegmentBytes);
  header->epoch = Get<uint32_t>(at + kSegmentEpoch);
  header->write_size = Get<uint32_t>(at + kSegmentWriteSize);
  header->pad = Get<uint32_t>(at + kSegmentPad) != 0;
  const uint32_t flags = Get<uint32_t>(at + kSegmentFlags);
  header->whole = (flags & kWholeFlag) != 0;
  header->has_next = (flags & kHasNextFlag) != 0;
  return HeaderState::kValid;
}

uint64_t SealFrame(uint64_t log_id, Lsn lsn, const FrameHeader& header, char* frame) {
  Put<uint64_t>(frame + kFrameChain, header.chain);
  Put<uint64_t>(frame + kFrameDurable, header.durable);
  Put<uint32_t>(frame + kFrameLength, header.length);
  Put<uint32_t>(frame + kFrameSpan, header.span);
  Put<uint32_t>(frame + kFrameEpoch, header.epoch);
  Put<uint32_t>(frame + kFrameRecords, header.records);
  const uint64_t checksum = FrameChecksum(log_id, lsn, frame, header.length);
  Put<uint64_t>(frame + kFrameChecksum, checksum);
  return checksum;
}

bool PlausibleFrame(Lsn lsn, uint64_t room, const char* frame, FrameHeader* header) {
  // The check that fails most often comes first, as the search for damage calls this for every byte
  // after the end of the log.
  const uint32_t length = Get<uint32_t>(frame + kFrameLength);
  if (length < kFrameHeaderBytes || length > room) return false;
  const uint32_t span = Get<uint32_t>(frame + kFrameSpan);
  if (span < length || span > room || span - length >= kMaxLogWriteSize) return false;
  const Lsn durable = Get<uint64_t>(frame + kFrameDurable);
  if (durable > lsn) return false;
  header->checksum = Get<uint64_t>(frame + kFrameChecksum);
  header->chain = Get<uint64_t>(frame + kFrameChain);
  header->durable = durable;
  header->length = length;
  header->span = span;
  header->epoch = Get<uint32_t>(frame + kFrameEpoch);
  header->records = Get<uint32_t>(frame + kFrameRecords);
  return true;
}

bool ValidFrame(uint64_t log_id, Lsn lsn, const FrameHeader& header, const char* frame) {
  if (FrameChecksum(log_id, lsn, frame, header.length) != header.checksum) return false;
  size_t at = kFrameHeaderBytes;
  for (uint32_t i = 0; i < header.records; ++i) {
    if (header.length - at < kRecordHeaderBytes) return false;
    const uint32_t n = Get<uint32_t>(frame + at);
    at += kRecordHeaderBytes;
    if (n > header.length - at) return false;
    at += n;
  }
  return at == header.length;
}

std::string LogSegmentPath(const std::string& directory, uint64_t number) {
  return directory + "/" + NameOf(number);
}

std::optional<uint64_t> LogSegmentNumber(std::string_view name) {
  uint64_t number = 0;
  const size_t digits = std::min(name.size(), name.find('-') + 1);
  std::from_chars(name.data() + digits, name.data() + name.size(), number);
  if (name != NameOf(number)) return std::nullopt;
  return number;
}

std::vector<std::string> LogSegmentPaths(const std::string& directory) {
  std::vector<std::string> paths;
  if (!IsThere(directory)) return paths;
  for (const uint64_t number : NumbersIn(directory)) {
    paths.push_back(LogSegmentPath(directory, number));
  }
  return paths;
}

std::vector<SegmentInfo> ListLogSegments(const std::string& directory, IoMode mode) {
  const std::vector<uint64_t> numbers = NumbersIn(directory);
  std::vector<SegmentInfo> segments;
  const SegmentInfo* first = nullptr;
  segments.reserve(numbers.size());
  for (uint64_t number : numbers) {
    const SegmentHeader* const before = segments.empty() ? nullptr : &segments.back().header;
    segments.push_back(ReadInfo(directory, number, mode));
    SegmentInfo& info = segments.back();
    if (info.state == HeaderState::kDamaged) {
      if (before == nullptr || !IsHalfMade(*before, number, number == numbers.back())) {
        throw Error(Error::kCorruption, "log file " + info.path +
                                            " is damaged at offset 0: its header is neither blank "
                                            "nor does it match its checksum");
      }
      info.state = HeaderState::kBlank;
    }
    if (info.state != HeaderState::kValid) continue;
    // A crash may leave a recycled segment under its old name, but then no file has its new name.
    if (info.header.number > number &&
        std::binary_search(numbers.begin(), numbers.end(), info.header.number)) {
      throw Error(Error::kCorruption, "log file " + info.path + " is segment " +
                                          std::to_string(info.header.number) +
                                          " of its log: give it its name back");
    }
    if (first == nullptr) first = &info;
    if (info.header.log_id != first->header.log_id) {
      throw Error(Error::kCorruption, "log files " + first->path + " and " + info.path +
                                          " belong to two different databases: take the one away "
                                          "that was copied here");
    }
  }
  CheckComplete(directory, segments);
  return segments;
}

}  // namespace testbed
