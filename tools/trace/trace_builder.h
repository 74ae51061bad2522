// Builds the trace of an import, for all formats: its clients, its tables, and hashes in place of
// keys.
//
// Not thread-safe.
#ifndef TESTBED_TOOLS_TRACE_TRACE_BUILDER_H_
#define TESTBED_TOOLS_TRACE_TRACE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/trace/trace_import.h"
#include "workloads/trace/trace_client.h"
#include "workloads/trace/trace_writer.h"

namespace testbed {

class TraceBuilder {
 public:
  // Throws Stopped when the user has asked to stop. Importers call it after each part that they
  // read, and at the end: an interrupt of the terminal also ends the program that writes into a
  // pipe, and what came before would pass for the whole file.
  static void CheckStop();
  // Returns what is to be said of a key of more than kMostTraceKey bytes: "a key of ...".
  static std::string LongKey(size_t bytes);
  // Begins the trace `to`, which has at most `clients` clients. `options` must outlive the object.
  // Throws Error as TraceWriter does.
  TraceBuilder(const ImportOptions& options, const std::string& to, const std::string& workload,
               const std::vector<std::string>& kinds, uint32_t clients);
  // Returns the client of the trace that stands for client `i` of the file, a number or a hash. The
  // first clients of the file, as many as the trace may have, get one each. Later ones are folded
  // onto these by their numbers. The clients of the trace are numbered in the order of their first
  // operations.
  TraceClient& client(uint64_t i);
  // Returns the id of the table of that name. Throws Error (kUsage) when there are too many, or the
  // name is no UTF-8.
  uint32_t TableOf(std::string_view name);
  // Returns the key itself or, with hash_keys, a hash of the length of the key and of at least 8
  // bytes, so that different keys stay different. The hash lies in *room.
  std::string_view KeyOf(std::string_view key, std::string* room) const;
  // Completes the trace and returns the number of its operations; 0 leaves no file behind.
  uint64_t Finish();

 private:
  const ImportOptions& options_;
  TraceWriter writer_;
  TraceFacts facts_;
  const size_t most_clients_;
  std::vector<std::unique_ptr<TraceClient>> clients_;    // by number of the client in the trace
  std::unordered_map<uint64_t, size_t> own_;             // that number, by client of the file
  std::map<std::string, uint32_t, std::less<>> tables_;  // id of a table, by its name
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_TRACE_TRACE_BUILDER_H_
