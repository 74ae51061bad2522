// ExtraOptions reads typed values from EngineOptions::extra (--engine-option name=value) and from
// the extra options of a workload (--workload-option). It does not look for unknown names:
// CheckEngineOptions (registry.h) has refused those before.
//
//   ExtraOptions extra("rocksdb", options.extra);
//   double bits = extra.Number("bloom_bits", 10, 0, 100);
//   uint64_t bytes = extra.Bytes("write_buffer_size", 64 << 20, 1 << 16, 1ull << 40);
//   bool level = extra.Choice("compaction_style", "level", {"level", "universal"}) == "level";
//   IoMode io = extra.Choice("log_io", IoMode::kBuffered, {IoMode::kDirect, IoMode::kBuffered},
//                            IoModeName);
#ifndef TESTBED_ENGINES_EXTRA_OPTIONS_H_
#define TESTBED_ENGINES_EXTRA_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace testbed {

// Returns the bytes of a size such as 4096, 64k, 1.5G or 2GiB. Units are powers of 1024, in either
// case. Returns nothing for any other text, for a part of a byte, and for 2^64 bytes or more. The
// sizes of the command's own options are parsed by this function, too (tools/option_values.h).
std::optional<uint64_t> ParseBytes(std::string_view text);

// Returns whether an engine that was given the value `given` has another value in force: 10 or -1
// for 8, on for OFF, but not 64k for 65536. Only numbers, sizes and flags are compared. Other texts
// are not, as an engine may write the same value in other words.
bool IsAnotherValue(std::string_view given, std::string_view in_force);

// Each method returns the option's value, or `otherwise` when the option is not given. Each throws
// Error (kUsage), which names the option, its value and the accepted values, when the value is
// malformed, below `min`, above `max` or not among `accepted`. Thread-safe while nothing changes
// the map.
class ExtraOptions {
 public:
  // `owner` is the engine or workload that an error names; `option` is the command-line option that
  // it names. `values` stays owned by the caller and must outlive this object.
  ExtraOptions(std::string owner, const std::map<std::string, std::string>& values,
               std::string option = "--engine-option")
      : owner_(std::move(owner)), values_(values), option_(std::move(option)) {}

  bool Has(const std::string& name) const { return values_.contains(name); }
  // Accepts "1", "true", "on" and "0", "false", "off".
  bool Flag(const std::string& name, bool otherwise) const;
  uint64_t Integer(const std::string& name, uint64_t otherwise, uint64_t min, uint64_t max) const;
  double Number(const std::string& name, double otherwise, double min, double max) const;
  // Accepts the sizes that ParseBytes does. Returns bytes.
  uint64_t Bytes(const std::string& name, uint64_t otherwise, uint64_t min, uint64_t max) const;
  std::string Choice(const std::string& name, const std::string& otherwise,
                     const std::vector<std::string>& accepted) const;
  // Accepts the names that `name_of` gives to the values `accepted`.
  template <typename T>
  T Choice(const std::string& name, T otherwise, const std::vector<T>& accepted,
           const char* (*name_of)(T)) const {
    std::vector<std::string> names;
    for (const T value : accepted) names.emplace_back(name_of(value));
    const std::string given = Choice(name, name_of(otherwise), names);
    for (const T value : accepted) {
      if (given == name_of(value)) return value;
    }
    return otherwise;
  }

 private:
  // `kind` names in an error what is accepted: "numbers", "whole numbers".
  template <typename T>
  T Ranged(const std::string& name, T otherwise, T min, T max, const char* kind) const;
  [[noreturn]] void Refuse(const std::string& name, const std::string& accepted) const;
  const std::string* Find(const std::string& name) const;

  const std::string owner_;
  const std::map<std::string, std::string>& values_;
  const std::string option_;
};

// Returns the option conflict_wait_ms: for how many milliseconds an engine repeats what another
// transaction has kept it from.
uint32_t ConflictWaitOption(const ExtraOptions& extra);
// Returns its name and meaning for Capabilities::extra_options. `what` is what the engine does: "a
// transaction is repeated after deadlocks".
std::pair<std::string, std::string> ConflictWaitMeaning(const std::string& what);

}  // namespace testbed

#endif  // TESTBED_ENGINES_EXTRA_OPTIONS_H_
