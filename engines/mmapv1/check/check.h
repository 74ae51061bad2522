// InspectDatabase verifies a database that is not open and measures its tables. `testbed check` and
// `testbed tree` call it (engines/inspect.h has the contract).
//
//   Inspection result = InspectDatabase(dir, options);
//
// The files are mapped privately and the journal is replayed into these copies, so that the check
// sees what an opening would leave, and nothing in the directory changes. It checks that
// - the extents of all tables lie in the data files one after the other, without gaps;
// - the chains of extents and the lists of records in them agree with their ends and counts;
// - live and deleted records fill each extent exactly, and each deleted one is once in the list of
// its class;
// - each bucket reached from a root is a live record of its index, is sound inside, names its
// parent, and has keys in order over the whole tree;
// - each row's record is a live record of its heap and of no other row, and its document has the
// row's key;
// - all counts are right.
#ifndef TESTBED_ENGINES_MMAPV1_CHECK_CHECK_H_
#define TESTBED_ENGINES_MMAPV1_CHECK_CHECK_H_

#include <string>

#include "engines/inspect.h"

namespace testbed::mmapv1 {

Inspection InspectDatabase(const std::string& dir, const InspectOptions& options);

}  // namespace testbed::mmapv1

#endif  // TESTBED_ENGINES_MMAPV1_CHECK_CHECK_H_
