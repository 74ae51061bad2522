// Numbers the phases that write to a database. The values that a phase writes depend on its number,
// because an engine may leave out a write that changes nothing. The database's record has the
// number of the last one (tools/database/database_dir.h), so that all phases of all runs on the
// database have different numbers.
//
//   WritingPhases phases(last);
//   const uint64_t number = phases.Begin();
//
// Not thread-safe.
#ifndef TESTBED_WORKLOADS_WRITING_PHASES_H_
#define TESTBED_WORKLOADS_WRITING_PHASES_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace testbed {

class WritingPhases {
 public:
  // Goes on behind the phase of number `last`; 0 where no phase has written. Nothing means that the
  // number is not known, as after a run that was killed. The clock then gives one that is greater.
  explicit WritingPhases(std::optional<uint64_t> last) : last_(last ? *last : Microseconds()) {}

  // Begins a phase that writes, and returns its number.
  uint64_t Begin() { return ++last_; }
  // Returns the number of the phase that began last.
  uint64_t last() const { return last_; }

 private:
  static uint64_t Microseconds() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  }

  uint64_t last_;
};

// Begins a phase that writes, and returns its number: 1 where nobody numbers the phases (null).
inline uint64_t BeginWritingPhase(const std::shared_ptr<WritingPhases>& phases) {
  return phases == nullptr ? 1 : phases->Begin();
}

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_WRITING_PHASES_H_
