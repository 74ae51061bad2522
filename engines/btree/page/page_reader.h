// Where a checker gets its pages from: the file of an open database, or the files of one that is
// not open (image.h). Never the pool: what counts is what a reopened database would see.
#ifndef TESTBED_ENGINES_BTREE_PAGE_PAGE_READER_H_
#define TESTBED_ENGINES_BTREE_PAGE_PAGE_READER_H_

#include <string>

#include "engines/btree/page/page.h"

namespace testbed::btree {

class PageReader {
 public:
  virtual ~PageReader() = default;
  // Reads a page, which may lie behind the end of the file, into `page`. Never throws for what the
  // page holds, nor when it cannot be read: then it is kBroken and *why says more than that.
  virtual PageState Read(PageId id, char* page, std::string* why) = 0;
  // The page will be read soon.
  virtual void Prefetch(PageId id) {}
  // Opening the database writes this page of a long value from the log: it may hold anything now.
  virtual bool Pending(PageId id) const { return false; }
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_PAGE_READER_H_
