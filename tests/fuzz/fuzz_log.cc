#include <algorithm>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/log/log.h"
#include "device/log/log_format.h"
#include "device/log/log_reader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_files.h"

namespace testbed {
namespace {

struct Entry {
  Lsn lsn = 0;
  std::string bytes;
  friend bool operator==(const Entry&, const Entry&) = default;
};

struct FramePlace {
  size_t file = 0, at = 0;
  Lsn lsn = 0;
  FrameHeader header;
};

// A log of three segments that was opened three times, and its records.
struct WrittenLog {
  std::vector<FileImage> files;
  std::vector<Entry> entries;
  std::vector<FramePlace> frames;
  uint64_t log_id = 0;
};

LogOptions SmallLog() {
  LogOptions options;
  options.write_size = 512;
  options.space = LogSpace::kGrowing;
  options.segment_bytes = 64 << 10;
  options.buffer_bytes = 64 << 10;
  return options;
}

// Returns all records up to the end of the log, or up to the error, which it then throws.
void ReadAll(const std::string& dir, std::vector<Entry>* entries) {
  LogReader reader(dir);
  LogRecord record;
  while (reader.Next(&record)) entries->push_back({record.lsn, std::string(record.bytes)});
}

void FindFrames(WrittenLog* log) {
  for (size_t file = 0; file < log->files.size(); ++file) {
    const std::string& bytes = log->files[file].used;
    SegmentHeader segment;
    Require(DecodeSegmentHeader(std::string_view(bytes).substr(0, kSegmentHeaderUsed), "log",
                                &segment) == HeaderState::kValid,
            "a header");
    log->log_id = segment.log_id;
    for (size_t at = kSegmentHeaderBytes; at + kFrameHeaderBytes <= bytes.size();) {
      FramePlace frame{file, at, segment.first_lsn + at, {}};
      if (!PlausibleFrame(frame.lsn, bytes.size() - at, bytes.data() + at, &frame.header)) break;
      at += frame.header.span;
      log->frames.push_back(frame);
    }
  }
}

const WrittenLog& Written() {
  static const WrittenLog written = [] {
    WrittenLog log;
    const ScratchDir dir;
    for (int opened = 0; opened < 3; ++opened) {
      const auto writer = Log::Open(dir.path(), SmallLog());
      for (int i = 0; i < 40; ++i) {
        for (int n = i % 4; n >= 0; --n) {
          std::string bytes((i * 53 + n) % 1500, static_cast<char>('a' + i % 26));
          log.entries.push_back({writer->Append(bytes).begin, bytes});
        }
        writer->Flush();
      }
    }
    log.files = ReadFiles(dir.path());
    FindFrames(&log);
    Require(log.files.size() >= 3 && log.frames.size() >= 100, "a log of some length");
    std::vector<Entry> read;
    ReadAll(dir.path(), &read);
    Require(read == log.entries, "the log as it was written");
    return log;
  }();
  return written;
}

// Changes fields of a frame's header, or bytes of its records, and makes its checksum right again.
void ForgeFrame(std::vector<FileImage>* files, FuzzInput* input) {
  const WrittenLog& log = Written();
  const FramePlace& place = log.frames[input->Below(static_cast<uint32_t>(log.frames.size()))];
  std::string& bytes = (*files)[place.file].used;
  FrameHeader header = place.header;
  switch (input->Below(6)) {
    case 0:
      header.chain ^= input->Byte();
      break;
    case 1:
      header.durable += input->Below(2000);
      break;
    case 2:
      header.length = kFrameHeaderBytes + input->Below(70000);
      break;
    case 3:
      header.span = input->Below(70000);
      break;
    case 4:
      header.epoch = input->Below(6);
      break;
    default:
      header.records = input->Below(300);
  }
  if (header.length > bytes.size() - place.at) header.length = place.header.length;
  for (uint32_t changes = input->Below(3); changes > 0; --changes) {
    const size_t at = place.at + kFrameHeaderBytes + input->Below(64);
    if (at < place.at + header.length) bytes[at] = static_cast<char>(input->Byte());
  }
  (void)SealFrame(log.log_id, place.lsn, header, bytes.data() + place.at);
}

// Reads the log, and opens it as a user would. The opening must refuse the log, or go on where the
// reading ended.
void ReadAndGoOn(const std::string& dir, std::vector<Entry>* read, bool* refused) {
  try {
    ReadAll(dir, read);
  } catch (const Error& e) {
    Require(e.kind() != Error::kIo, e.what());
    *refused = true;
  }
  try {
    const auto log = Log::Open(dir, SmallLog());
    log->Append("one more");
    log->Flush();
  } catch (const Error& e) {
    Require(*refused, std::string("a log that can be read cannot be opened: ") + e.what());
    return;
  }
  Require(!*refused, "a log that cannot be read was opened");
  std::vector<Entry> again;
  ReadAll(dir, &again);
  Require(again.size() == read->size() + 1 && again.back().bytes == "one more", "another end");
  again.pop_back();
  Require(again == *read, "opening changed records");
}

}  // namespace

// Changes bytes of the segment files of a log, or cuts them. As long as no frame is forged, reading
// must give the records as they were written, in order, and may end before the last one only where
// a torn tail may begin. A log with forged frames must be refused, or give the same records twice.
TESTBED_FUZZ_TARGET(log) {
  FuzzInput input(bytes);
  const WrittenLog& log = Written();
  std::vector<FileImage> files = log.files;
  const bool forged = input.Below(2) == 0;
  const uint32_t changes = 1 + input.Below(3);
  for (uint32_t i = 0; i < changes; ++i) {
    forged ? ForgeFrame(&files, &input) : void(ChangeByte(&files, 512, &input));
  }
  if (!forged && input.Below(8) == 0) {
    FileImage& last = files.back();
    last.size = input.Below(static_cast<uint32_t>(last.used.size()));
    last.used.resize(last.size);
  }
  const ScratchDir dir;
  WriteFiles(files, dir.path());
  std::vector<Entry> read;
  bool refused = false;
  ReadAndGoOn(dir.path(), &read, &refused);
  if (forged) return;
  Require(read.size() <= log.entries.size() &&
              std::equal(read.begin(), read.end(), log.entries.begin()),
          "a record that was never written");
  // The last frame says up to where the log was durable before it. If that frame is whole, nothing
  // before that place may be absent without an error.
  const FramePlace& last = log.frames.back();
  const FileImage& file = files[last.file];
  const bool whole =
      file.used.size() >= last.at + last.header.length &&
      std::equal(file.used.begin() + static_cast<ptrdiff_t>(last.at),
                 file.used.begin() + static_cast<ptrdiff_t>(last.at) +
                     static_cast<ptrdiff_t>(last.header.length),
                 log.files[last.file].used.begin() + static_cast<ptrdiff_t>(last.at));
  if (refused || !whole) return;
  const size_t durable = static_cast<size_t>(
      std::count_if(log.entries.begin(), log.entries.end(),
                    [&](const Entry& e) { return e.lsn < last.header.durable; }));
  Require(read.size() >= durable, "durable records are absent, and nobody says so");
}

}  // namespace testbed
