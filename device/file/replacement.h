// Replaces a file by a new one as a whole. Until the new file is complete and durable the old one
// is there, and from then on the new one, with the old one's owner and mode.
//
//   FileReplacement replacement(FollowLinks(path));  // what a link names is replaced, not the link
//   replacement.Write(text);
//   replacement.TakePlace();
//
// The functions throw Error (kIo) when the system refuses.
#ifndef TESTBED_DEVICE_FILE_REPLACEMENT_H_
#define TESTBED_DEVICE_FILE_REPLACEMENT_H_

#include <string>

namespace testbed {

// Returns the absolute path with the symbolic links in it followed, so that a rename replaces the
// file that a link names, whether that file exists or not. Throws Error (kIo) for a link that
// another user may have put there to have us write elsewhere (IsForeignLink,
// device/os/foreign_directory.h). Does not follow a link for which IsOpenFile is true, as its text
// need not be a path.
std::string FollowLinks(const std::string& path);

// Returns whether the path is a link of proc(5) to an open file other than a directory: the link of
// a descriptor, to which /dev/stdout and /dev/fd/3 lead. FollowLinks must have followed its links
// before.
bool IsOpenFile(const std::string& followed);

// Renames the open file `fd` from `unfinished` to `path`, durably (SyncParent). A file that it
// replaces gives its mode, and also its owner where the system lets us.
void PutInPlace(int fd, const std::string& unfinished, const std::string& path);

// A FileReplacement is a new file beside `path` for a text in memory. The destructor removes it
// unless TakePlace has renamed it to `path`. Not thread-safe: it changes the process's umask for a
// moment.
class FileReplacement {
 public:
  explicit FileReplacement(const std::string& path);
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;
  // Appends the text and makes it durable.
  void Write(const std::string& text) const;
  void TakePlace();

 private:
  const std::string path_;
  std::string unfinished_;
  int fd_ = -1;
  bool done_ = false;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_REPLACEMENT_H_
