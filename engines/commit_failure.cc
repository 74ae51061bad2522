#include "engines/commit_failure.h"

#include <cerrno>

#include "engines/data_file.h"

namespace testbed {

// A full disk refuses writes before the system has taken them, so that nothing is lost of what was
// written. That nothing of it was lost for another reason, the errors of write-backs tell.
void CommitFailure::NoteCommit(const std::string& doing, const std::string& dir, int code,
                               File* data) noexcept {
  try {
    if (code == ENOSPC || code == EDQUOT || DeviceIsFull(dir)) {
      data->CheckWriteBack();
    } else {
      Note(Error::Io(doing, dir, code));
    }
  } catch (const Error& error) {
    Note(error);
  } catch (const std::exception&) {
    // The sentence found no memory.
    failed_.store(true, std::memory_order_release);
  }
}

}  // namespace testbed
