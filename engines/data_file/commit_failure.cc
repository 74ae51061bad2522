#include "engines/data_file/commit_failure.h"

#include <cerrno>

#include "device/file/durable.h"
#include "engines/data_file/data_file.h"

namespace testbed {

// Notes nothing if a full disk was the cause: such a disk refuses writes before the system has
// taken them, so nothing that was written is lost. Whether something was lost for another reason,
// `data` tells by the errors of write-backs.
void CommitFailure::NoteCommit(const std::string& doing, const std::string& dir, int code,
                               WriteBackWatch* data) noexcept {
  try {
    if (code == ENOSPC || code == EDQUOT || DeviceIsFull(dir)) {
      data->Check();
    } else {
      Note(Error::Io(doing, dir, code));
    }
  } catch (const Error& error) {
    Note(error);
  } catch (const std::exception&) {
    // There is no memory for the sentence, so Throw uses its own.
    failed_.store(true, std::memory_order_release);
  }
}

void CommitFailure::DropLost(const std::string& data_file) const noexcept {
  if (!any()) return;
  try {
    MakeDurable(data_file, FileKind::kData);
  } catch (const std::exception&) {
    // The next opening gets the device's error itself.
  }
}

}  // namespace testbed
