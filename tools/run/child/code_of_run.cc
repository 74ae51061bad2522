#include "tools/run/child/code_of_run.h"

#include "device/error.h"
#include "device/machine/resident_code.h"

namespace testbed {

void ReadCodeOfRun(const EngineInfo& info, const EngineOptions& options) {
  if (info.read_code != nullptr) {
    try {
      info.read_code(options);
    } catch (const Error&) {
      // The opening says what is missing.
    }
  }
  ReadOwnCode();
}

}  // namespace testbed
