#include "engines/data_file/commit_failure.h"

#include <cerrno>

#include "device/file/durable.h"
#include "engines/data_file/data_file.h"

namespace testbed {

// Notes nothing if a full disk was the cause: such a disk refuses writes before the system has
// taken them, so nothing that was written is lost. Data that are lost for another reason show as
// write-back errors, which `data` reports.
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
    // No memory was left for the sentence, so ThrowIfAny uses a fixed one.
    failed_.store(true, std::memory_order_release);
  }
}

void CommitFailure::DropLost(const std::string& data_file) const noexcept {
  if (!any()) return;
  try {
    MakeDurable(data_file, FileKind::kData);
  } catch (const std::exception&) {
    // This error is dropped, because the next opening will meet the device's error itself.
  }
}

}  // namespace testbed
