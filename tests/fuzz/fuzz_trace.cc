#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "device/error.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_files.h"
#include "tools/trace/trace_import.h"
#include "tools/trace/trace_info.h"
#include "workloads/trace/trace_file.h"

namespace testbed {
namespace {

TraceFacts SomeFacts() {
  TraceFacts facts;
  facts.kinds = {"point-read", "update", "scan"};
  facts.tables = {{0, "default", {}, {}}, {3, "index1", {}, {}}};
  facts.clients = 2;
  return facts;
}

// Takes the bytes for a file. It must be refused with a sentence that names it, or be read to its
// end.
void UseFile(std::string_view bytes, const std::string& path) {
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    (void)TraceInfoText(TraceInfo(TraceFile(path)));
  } catch (const Error& error) {
    Require(std::string_view(error.what()).find(path) != std::string_view::npos,
            "a refusal does not name the trace");
  }
}

// Takes the bytes for a block whose checksum is right.
void UseBlock(std::string_view bytes, uint32_t operations) {
  const TraceFacts facts = SomeFacts();
  OperationDecoder decoder(facts, {.client = 1, .operations = operations},
                           std::make_shared<const std::string>(bytes));
  TraceOperation operation;
  uint32_t count = 0;
  try {
    while (decoder.Next(&operation)) {
      ++count;
      Require(operation.kind < facts.kinds.size(), "a kind that the trace does not have");
      for (const TraceCall& call : operation.calls) {
        Require(call.table == 0 || call.table == 3, "a table that the trace does not have");
        Require(call.kind != TraceCallKind::kMultiGet ||
                    call.first + call.number <= operation.keys.size(),
                "a multi-get of keys that are not there");
      }
    }
    Require(count == operations, "a block of another number of operations");
  } catch (const Error&) {
  }
}

void UseImport(std::string_view text, ImportOptions::Format format, const std::string& path) {
  std::istringstream in{std::string(text)};
  try {
    ImportTrace(in, {.format = format, .from = "input", .hash_keys = true}, path);
  } catch (const Error&) {
    Require(!std::filesystem::exists(path), "a refused import left a file");
    return;
  }
  (void)TraceInfo(TraceFile(path));
}

}  // namespace

// Takes any bytes for a trace, which must be read to its end, or refused with a sentence.
TESTBED_FUZZ_TARGET(trace) {
  FuzzInput input(bytes);
  const ScratchDir dir;
  const std::string path = dir.path() + "/a.trace";
  switch (input.Byte()) {
    case 'B': {
      const uint32_t operations = input.Below(16);
      return UseBlock(input.Rest(), operations);
    }
    case 'C':
      return UseImport(input.Rest(), ImportOptions::kCsv, path);
    case 'R':
      return UseImport(input.Rest(), ImportOptions::kRocksdb, path);
    case 'T':
      return UseImport(input.Rest(), ImportOptions::kTwitter, path);
    default:
      return UseFile(bytes, path);
  }
}

}  // namespace testbed
