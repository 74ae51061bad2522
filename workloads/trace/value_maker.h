// Makes the values of a replay, since a trace has only their sizes. Each value can be checked from
// its key: it is that of the data set's row with this key, or of a row whose number is a hash of
// the key (Dataset::SizedValue). Values of fewer than Dataset::kLeastSized bytes cannot, unless
// they have the size that the data set gives the row (Dataset::TellsRow).
#ifndef TESTBED_WORKLOADS_TRACE_VALUE_MAKER_H_
#define TESTBED_WORKLOADS_TRACE_VALUE_MAKER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "workloads/dataset.h"

namespace testbed {

// Not thread-safe: each client has its own.
class ValueMaker {
 public:
  // `version` must differ in each phase that writes to the database, because an engine may leave
  // out a write that changes nothing. `dataset` must outlive the object.
  ValueMaker(const Dataset& dataset, uint64_t version) : dataset_(dataset), version_(version) {}
  // Writes `size` bytes to `to`: a value that no call has made for this key before. A very short
  // value may repeat (Dataset::Value).
  void Make(std::string_view key, size_t size, char* to);
  // Writes the value that a load gives the key.
  void MakeFirst(std::string_view key, size_t size, char* to) const;
  // Returns whether the value may be one that an object for this data set has made for the key.
  bool MayHaveMade(std::string_view key, std::string_view value) const;

 private:
  uint64_t NumberOf(std::string_view key) const;
  void MakeVersion(std::string_view key, size_t size, uint64_t version, char* to) const;

  const Dataset& dataset_;
  uint64_t version_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_TRACE_VALUE_MAKER_H_
