#include "device/error.h"

#include <cerrno>
#include <cstring>

namespace testbed {

Error Error::Io(const std::string& call, const std::string& path, int code) {
  std::string sentence = call + " " + path + ": " + std::strerror(code);
  if (code == ENOSPC) sentence += "; the device is full: free space or choose another --dir";
  if (code == EROFS) sentence += "; choose a --dir on a writable file system";
  if (code == EACCES) sentence += "; choose a --dir that this user may write to";
  return Error(kIo, sentence, code);
}

}  // namespace testbed
