#include "device/error.h"

#include <cerrno>
#include <cstring>
#include <new>

namespace testbed {
namespace {

// The ready-made error is constructed before main, because constructing it needs memory.
const Error no_memory = Error::NoMemory("");

}  // namespace

Error Error::NoMemory(const std::string& use, const std::string& advice) {
  return {kRun, "no memory is left" + (use.empty() ? use : " " + use) + "; " + advice, ENOMEM};
}

Error Error::Of(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return no_memory;
  return {kRun, exception.what()};
}

const char* SentenceOf(const std::exception& exception) {
  return dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ? no_memory.what()
                                                                    : exception.what();
}

Error Error::Io(const std::string& call, const std::string& path, int code) {
  std::string sentence = call + " " + path + ": " + std::strerror(code);
  if (code == EDQUOT) sentence += "; the quota is used up: free space or choose another directory";
  if (code == ENOSPC) sentence += "; the device is full: free space or choose another directory";
  if (code == EFBIG) sentence += "; a file may not be so large: see the limit, ulimit -f";
  if (code == EROFS) sentence += "; choose a directory on a writable file system";
  if (code == EACCES) sentence += "; choose a directory that this user may write to";
  if (code == ENOMEM) sentence = NoMemory("for " + call + " " + path).what();
  Error error(kIo, sentence, code);
  error.of_sync_ = call.find("sync") != std::string::npos;
  return error;
}

std::string Error::Printable(const std::string& sentence) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(sentence.size());
  for (const char c : sentence) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte != 0x7f) {
      text.push_back(c);
    } else {
      text.append("\\x").append({kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return text;
}

bool Error::disk_is_full() const {
  return kind_ == kIo && (code_ == ENOSPC || code_ == EDQUOT) && !of_sync_;
}

}  // namespace testbed
