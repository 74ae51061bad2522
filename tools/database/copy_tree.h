// Copies of whole directories: an experiment copies the database that its cells share for a cell
// that writes to it, and a test that damages a database puts it back.
//
//   CopyTree(dir_, saved);
//   ... damage a file of dir_ ...
//   std::filesystem::remove_all(dir_);
//   CopyTree(saved, dir_);
//
// A log segment or a data file that its engine has allocated ahead is mostly a hole to the file
// system. The copy has the same holes, where std::filesystem::copy writes zeros, which would take
// most of the time. Contents, sizes and permissions are the same; the blocks behind a hole
// are not allocated.
#ifndef TESTBED_TOOLS_DATABASE_COPY_TREE_H_
#define TESTBED_TOOLS_DATABASE_COPY_TREE_H_

#include <string>

namespace testbed {

// Copies the regular files and directories below `from` to `to`, which is made when it is missing.
// Where a symbolic link leads to one, such as to a log on another disk, the copy has the file or
// directory itself; a link that leads nowhere is an error. In `to`, files of the same names are
// overwritten, symbolic links of these names are refused, and other files stay. A copy that a
// signal stops (StopRequested) is not whole. Throws Error::kIo.
void CopyTree(const std::string& from, const std::string& to);

// Makes the regular files and directories below `dir` durable, and the name of `dir`. A call that a
// signal stops (StopRequested) promises nothing. Throws Error::kIo.
void SyncTree(const std::string& dir);

// Copies one file. A file `to` is overwritten in place, and keeps its permissions. Throws
// Error::kIo, also when `to` is a symbolic link. A copy that a signal stops (StopRequested) is not
// whole.
void CopyWithHoles(const std::string& from, const std::string& to);

// Copies a database that testbed made to `to`, in place of one that an interrupted experiment has
// left there. The copy's record says that it is loaded only after all files of the copy are
// durable. Throws Error: kUsage when `to` holds files that are not testbed's, or one of the two is
// in use; kIo.
void CopyDatabase(const std::string& from, const std::string& to);

}  // namespace testbed

#endif  // TESTBED_TOOLS_DATABASE_COPY_TREE_H_
