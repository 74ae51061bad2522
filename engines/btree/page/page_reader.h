// A PageReader gives a checker its pages: from the data file of an open database, or from the files
// of a database that is not open (inspect/image.h). Pages never come from the pool, since a check
// is about what a reopened database would read.
#ifndef TESTBED_ENGINES_BTREE_PAGE_PAGE_READER_H_
#define TESTBED_ENGINES_BTREE_PAGE_PAGE_READER_H_

#include <string>

#include "engines/btree/page/page.h"

namespace testbed::btree {

class PageReader {
 public:
  virtual ~PageReader() = default;
  // Reads a page into `page` and returns its state. The page may lie behind the end of the file.
  // Never throws Error: when the page cannot be read, returns kBroken and sets *why.
  virtual PageState Read(PageId id, char* page, std::string* why) = 0;
  // Announces that the page will be read soon.
  virtual void Prefetch(PageId id) {}
  // Returns whether the next open writes this overflow page from the log, so that its present
  // content does not matter.
  virtual bool Pending(PageId id) const { return false; }
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_PAGE_PAGE_READER_H_
