#include "engines/data_file/mapped_error.h"

#include <fmt/format.h>

namespace testbed {

Error MappedError(MappedFault fault, const MappedFailure& failure, const MappedSettings& settings) {
  const std::string begin =
      fmt::format("{} failed at {} in {}: ", failure.engine, failure.doing, failure.dir);
  switch (fault) {
    case MappedFault::kMapFull:
      return {Error::kRun,
              begin + fmt::format("the database has grown to all of its {} bytes; give a larger "
                                  "--engine-option map_size",
                                  settings.map_size)};
    case MappedFault::kTablesFull:
      return {Error::kUsage, begin + fmt::format("it has more than {} tables; give a larger "
                                                 "--engine-option max_tables",
                                                 settings.max_tables)};
    case MappedFault::kReadersFull:
      return {Error::kUsage, begin + fmt::format("more than {} sessions and cursors read; give a "
                                                 "larger --engine-option max_readers",
                                                 settings.max_readers)};
    case MappedFault::kTransactionFull:
      return {Error::kRun, begin + "the transaction has changed too many pages; commit sooner"};
    case MappedFault::kFailedBefore:
      return {Error::kRun, begin + "the transaction has failed before, nothing of it is kept"};
    case MappedFault::kStopped:
      return {Error::kRun, fmt::format("{}an error before made {} stop; open the database again",
                                       begin, failure.engine)};
    case MappedFault::kOtherVersion:
      return {Error::kUsage, fmt::format("{}another version of {} wrote it; load it anew", begin,
                                         failure.library)};
    case MappedFault::kDamaged:
      return {Error::kCorruption, begin + failure.text + "; load it anew"};
    case MappedFault::kOther:
      break;
  }
  return {Error::kRun, begin + failure.text};
}

}  // namespace testbed
