// An InputFile is a file that the user names to be read: results, settings, keys, a trace. Opening
// one never waits, and reading one ends. Everything but a regular file is refused, and so is a file
// of the kernel, which tells no length. A pipe is accepted where the caller says so.
//
//   InputFile file({.path = path, .name = "--keys " + path, .advice = "give a file of keys"});
//   const std::string text = file.ReadAll();
//
// Errors are Error (kUsage), of one sentence: the name, what is wrong, and the advice.
#ifndef TESTBED_DEVICE_FILE_INPUT_FILE_H_
#define TESTBED_DEVICE_FILE_INPUT_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

namespace testbed {

// kMostDocumentBytes is the size of the largest document of JSON that is read into memory.
inline constexpr uint64_t kMostDocumentBytes = 1ull << 30;

struct InputRequest {
  std::string path;
  std::string name;          // what sentences call the file, its path included
  std::string advice;        // what the user may do instead; may be empty
  bool pipes = false;        // a pipe with a writer, and a terminal, are accepted, too
  std::string if_long = {};  // the advice when the file is too long; empty: `advice`
};

// Not thread-safe.
class InputFile {
 public:
  // Throws Error (kUsage) when the file is not there, cannot be opened or is refused.
  explicit InputFile(const InputRequest& request);
  struct Standard {};
  // Reads standard input, of whatever kind it is, from where it stands.
  explicit InputFile(Standard standard);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Reads up to `n` bytes that follow those read before, and returns their number; 0 at the end.
  // The end of a regular file is where it was when the file was opened. A request to stop ends a
  // pipe, too, so the caller asks for one (StopRequested) at the end. Throws Error (kUsage).
  size_t Read(char* buffer, size_t n);
  // Returns the rest of the file. Throws Error (kUsage) when that is more than `most` bytes, and
  // Stopped when a request to stop comes while a pipe is read. `look` is called with each part as
  // it is read, and may throw before the rest is in memory.
  std::string ReadAll(uint64_t most = kMostDocumentBytes,
                      const std::function<void(std::string_view part)>& look = {});

 private:
  void CheckKind();
  void BeginPipe();
  bool AwaitPipe() const;
  [[noreturn]] void Refuse(const std::string& what) const;
  [[noreturn]] void RefuseLength(uint64_t most) const;

  const InputRequest request_;
  const int fd_;
  bool regular_ = false;
  uint64_t left_ = UINT64_MAX;  // bytes of a regular file that were not read yet
  std::string first_;           // bytes read from a pipe at its opening and not returned yet
};

// An InputStream gives an InputFile as a stream, whose reading throws the file's errors. Not
// thread-safe.
class InputStream : public std::istream {
 public:
  // `file` must outlive the object.
  explicit InputStream(InputFile* file);

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(InputFile* file) : file_(file), bytes_(1 << 16) {}

   protected:
    int_type underflow() override;

   private:
    InputFile* const file_;
    std::vector<char> bytes_;
  };
  Buffer buffer_;
};

// Returns the text of standard input, a document. Throws Error (kUsage) when that is more than
// kMostDocumentBytes, and Stopped at a request to stop.
std::string ReadStandardInput();

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_INPUT_FILE_H_
