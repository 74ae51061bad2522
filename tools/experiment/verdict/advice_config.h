// Advice as lines for the configuration files of servers that people run: what of a way of reading
// carries over to them, and what does not.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVICE_CONFIG_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVICE_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

// Options of RocksDB that follow from the memory of a run, by RocksDB's names. A run has the values
// that were in force in `engine.effective`.
inline constexpr const char* kRocksdbSizes[] = {"write_buffer_size", "max_write_buffer_number",
                                                "max_bytes_for_level_base",
                                                "target_file_size_base"};

// Variables that decide when InnoDB writes, for which a run has other values than a server by
// itself. `engine.effective` has the values that were in force, of a server whose log is one file
// without innodb_log_files_in_group.
inline constexpr const char* kInnodbWriting[] = {"innodb_log_file_size",
                                                 "innodb_log_files_in_group", "innodb_io_capacity",
                                                 "innodb_flush_neighbors"};

// The bytes of log after which postgres and wiredtiger begin a checkpoint, by its name in
// `engine.effective`.
inline constexpr char kCheckpointLog[] = "checkpoint_log_bytes";

// Returns whether the advice takes this setting from `engine.effective`.
bool IsForAdvice(const std::string& setting);

// The engine of a way whose server, MariaDB, keeps its tables in MyRocks instead of InnoDB.
inline constexpr char kMyRocks[] = "mysql:rocksdb";

struct AdvisedWay {
  std::string engine;        // "innodb"; kMyRocks
  std::string io;            // "direct", "buffered", "mmap"
  uint64_t page_size = 0;    // in bytes
  uint64_t cache_bytes = 0;  // the engine's cache
  uint64_t ram_bytes = 0;    // the whole budget
  // The readahead that the run gave the device. Nothing: the device kept its own, or IO was direct,
  // which has none.
  std::optional<uint64_t> readahead_bytes = {};
  std::string compression = "none";  // compression of pages or blocks, as --compression has it
  std::string durability = {};       // level of the commits; "" when only reads were measured
  // For rocksdb: kRocksdbSizes with the values that were measured, as far as these are known; the
  // filter of its tables in RocksDB's own syntax, or "" when it is not known.
  std::vector<std::pair<std::string, uint64_t>> rocksdb_sizes = {};
  std::string rocksdb_filter = {};
  // How a way that wrote did so: kInnodbWriting with the values that were measured, as far as they
  // are known, and kCheckpointLog, 0 when it is not known.
  std::vector<std::pair<std::string, uint64_t>> innodb_writing = {};
  uint64_t checkpoint_log_bytes = 0;
};

// Returns the lines for my.cnf (innodb, mysql, kMyRocks), postgresql.conf (postgres), RocksDB's
// OPTIONS file (rocksdb) or mongod.conf (wiredtiger), for my.cnf and postgresql.conf as a hint
// (btree); a sentence for engines that no server has. The compression that was measured is among
// them, as some servers compress unless told otherwise; the durability is named, as it is the
// application's choice. Of a way
// that wrote, the lines have the size of the log, too, which decides how often pages are written.
// The last line has the readahead, when it is set: the device has it, and no server's
// configuration.
std::string ConfigurationText(const AdvisedWay& way);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_ADVICE_CONFIG_H_
