// Makes the values of a replay, since a trace has only their sizes. A row of the data set gets a
// value that Dataset::Check accepts, any other row gets bytes that are derived from its key.
#ifndef TESTBED_WORKLOADS_TRACE_VALUE_MAKER_H_
#define TESTBED_WORKLOADS_TRACE_VALUE_MAKER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "workloads/dataset.h"

namespace testbed {

// Not thread-safe; a client each has its own. Those of a data set share the bytes that they cut
// values from.
class ValueMaker {
 public:
  // `version` must differ in each phase that writes to the database, because an engine may leave
  // out a write that changes nothing.
  ValueMaker(const Dataset& dataset, uint64_t version);
  // Writes `size` bytes to `to`: a value that no call has made for this key before.
  void Make(std::string_view key, size_t size, char* to);
  // Writes the value that a load gives the key.
  void MakeFirst(std::string_view key, size_t size, char* to);

 private:
  void MakeVersion(std::string_view key, size_t size, uint64_t version, char* to);

  const Dataset& dataset_;
  uint64_t version_;
  const std::shared_ptr<const std::vector<char>> pool_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_VALUE_MAKER_H_
