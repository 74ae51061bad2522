// Tests that advice carries over to the files of servers, and says where it does not.
#include "tools/experiment/verdict/advice_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace testbed {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kMega = 1 << 20;

TEST(AdviceConfigTest, EachServerGetsItsOwnSettings) {
  const std::string my = ConfigurationText({"innodb", "direct", 16384, 192 * kMega, 256 * kMega});
  EXPECT_THAT(my, HasSubstr("innodb_buffer_pool_size = 192M\n"));
  EXPECT_THAT(my, HasSubstr("innodb_flush_method = O_DIRECT\n"));
  EXPECT_THAT(my, HasSubstr("innodb_page_size = 16k "));
  const std::string rocks = ConfigurationText({"rocksdb", "mmap", 4096, 64 * kMega, 256 * kMega});
  EXPECT_THAT(rocks, HasSubstr("use_direct_reads=false\n"));
  EXPECT_THAT(rocks, HasSubstr("allow_mmap_reads=true\n"));
  EXPECT_THAT(rocks, HasSubstr("block_size=4096\n"));
  const std::string mongo =
      ConfigurationText({"wiredtiger", "buffered", 32768, 512 * kMega, 1024 * kMega});
  EXPECT_THAT(mongo, HasSubstr("cacheSizeGB: 0.5\n"));
  EXPECT_THAT(mongo, HasSubstr("leaf_page_max=32kB'"));
  EXPECT_THAT(mongo, Not(HasSubstr("does not carry over")));
}

TEST(AdviceConfigTest, MongodGetsACacheThatItTakes) {
  const auto mongo = [](uint64_t cache) {
    return ConfigurationText({"wiredtiger", "buffered", 32768, cache, 1024 * kMega});
  };
  EXPECT_THAT(mongo(260 * kMega), HasSubstr("cacheSizeGB: 0.2539\n"));
  EXPECT_THAT(mongo(256 * kMega), HasSubstr("cacheSizeGB: 0.25\n"));
  EXPECT_THAT(mongo(128 * kMega),
              HasSubstr("cacheSizeGB: 0.25   # the least that mongod takes; 0.125 was measured: "
                        "give advise the server's --ram\n"));
}

TEST(AdviceConfigTest, AServerWithMyRocksGetsNoSettingOfInnodb) {
  const std::string my = ConfigurationText({kMyRocks, "direct", 8192, 192 * kMega, 256 * kMega});
  EXPECT_THAT(my, HasSubstr("rocksdb_block_cache_size = 192M\n"));
  EXPECT_THAT(my, HasSubstr("rocksdb_block_size = 8192\n"));
  EXPECT_THAT(my, HasSubstr("rocksdb_use_direct_reads = ON\n"));
  EXPECT_THAT(my, Not(HasSubstr("innodb")));
  EXPECT_THAT(ConfigurationText({kMyRocks, "buffered", 8192, kMega, kMega}),
              HasSubstr("rocksdb_use_direct_reads = OFF\n"));
}

// MySQL makes 256M of a pool of 192M, which may be all of the memory.
TEST(AdviceConfigTest, APoolThatServersRoundUpIsSaid) {
  const auto my = [](uint64_t cache) {
    return ConfigurationText({"innodb", "direct", 16384, cache, 1024 * kMega});
  };
  for (const uint64_t whole : {64, 128, 256, 512}) {
    EXPECT_THAT(my(whole * kMega), Not(HasSubstr("round it up"))) << whole;
  }
  EXPECT_THAT(my(192 * kMega), HasSubstr("innodb_buffer_pool_size = 192M\n"
                                         "  # MySQL, and MariaDB before 10.8, round it up"));
}

// From 1G on eight instances of whole chunks make 2G of a pool of 1.5G.
TEST(AdviceConfigTest, APoolOfSeveralInstancesIsRoundedUpFurther) {
  const auto my = [](uint64_t cache) {
    return ConfigurationText({"mysql", "direct", 16384, cache * kMega, 8192 * kMega});
  };
  for (const uint64_t whole : {896, 1024, 2048, 3072}) {
    EXPECT_THAT(my(whole), Not(HasSubstr("round it up"))) << whole;
  }
  EXPECT_THAT(my(1536),
              HasSubstr("innodb_buffer_pool_size = 1536M\n"
                        "  # MySQL up to 8.0, and MariaDB before 10.5, round it up to 2G: a"));
  EXPECT_THAT(my(1536), Not(HasSubstr("multiple of 128M")));
  EXPECT_THAT(my(2049), HasSubstr("round it up to 3G"));
  EXPECT_THAT(my(2049), HasSubstr("10.5 to 10.7, round it up to a multiple of 128M"));
}

// RocksDB's own defaults are two memtables of 64M and no filter.
TEST(AdviceConfigTest, RocksdbGetsTheMemtablesAndTheFilterThatWereMeasured) {
  AdvisedWay way{"rocksdb", "direct", 8192, 128 * kMega, 256 * kMega};
  way.compression = "zstd";
  way.rocksdb_sizes = {{"write_buffer_size", 16 * kMega}, {"max_write_buffer_number", 2}};
  way.rocksdb_filter = "bloomfilter:10:false";
  EXPECT_THAT(ConfigurationText(way), HasSubstr("  [CFOptions \"default\"]\n"
                                                "    compression=kZSTD\n"
                                                "    write_buffer_size=16777216\n"
                                                "    max_write_buffer_number=2\n"
                                                "  [TableOptions/BlockBasedTable \"default\"]\n"
                                                "    block_size=8192\n"
                                                "    filter_policy=bloomfilter:10:false\n"
                                                "    block_cache=128M"));
  way.compression = "lz4hc";
  EXPECT_THAT(ConfigurationText(way), HasSubstr("compression=kLZ4HCCompression\n"));
  way.compression = "another";
  EXPECT_THAT(ConfigurationText(way),
              HasSubstr("no such type\n  [CFOptions \"default\"]\n    write_buffer_size="));
}

TEST(AdviceConfigTest, WhatDoesNotCarryOverIsSaid) {
  EXPECT_THAT(ConfigurationText({"wiredtiger", "direct", 8192, kMega, kMega}),
              HasSubstr("direct does not carry over"));
  const std::string hint = ConfigurationText({"btree", "direct", 4096, 50 * kMega, 256 * kMega});
  EXPECT_THAT(hint, HasSubstr("As a hint only"));
  EXPECT_THAT(hint, HasSubstr("shared_buffers = 50MB\n"));
  EXPECT_THAT(hint, HasSubstr("direct does not carry over: PostgreSQL"));
  EXPECT_THAT(hint, HasSubstr("pages of 4k do not carry over"));
  EXPECT_THAT(ConfigurationText({"lmdb", "mmap", 4096, 0, kMega}), HasSubstr("No server's"));
}

// mongod and RocksDB compress with Snappy unless they are told what was measured.
TEST(AdviceConfigTest, TheCompressionCarriesOver) {
  AdvisedWay mongo{"wiredtiger", "buffered", 32768, 512 * kMega, 1024 * kMega};
  EXPECT_THAT(ConfigurationText(mongo),
              HasSubstr("      collectionConfig:\n        blockCompressor: none\n"));
  mongo.compression = "zstd";
  EXPECT_THAT(ConfigurationText(mongo), HasSubstr("blockCompressor: zstd\n"));
  mongo.compression = "lz4";
  EXPECT_THAT(ConfigurationText(mongo), HasSubstr("compression lz4 does not carry over"));
  AdvisedWay rocks{"rocksdb", "buffered", 4096, 64 * kMega, 256 * kMega};
  EXPECT_THAT(ConfigurationText(rocks),
              HasSubstr("  [CFOptions \"default\"]\n    compression=kNoCompression\n  [Table"));
  rocks.compression = "zstd";
  EXPECT_THAT(ConfigurationText(rocks), HasSubstr("compression=kZSTD\n"));
  AdvisedWay hint{"btree", "buffered", 8192, 64 * kMega, 256 * kMega};
  EXPECT_THAT(ConfigurationText(hint), Not(HasSubstr("compression")));
  hint.compression = "lz4";
  EXPECT_THAT(ConfigurationText(hint), HasSubstr("each table has its own"));
  EXPECT_THAT(ConfigurationText(hint), HasSubstr("PostgreSQL compresses long values"));
}

TEST(AdviceConfigTest, TheDurabilityOfWhatWasWrittenIsSaid) {
  AdvisedWay way{"innodb", "direct", 16384, 64 * kMega, 256 * kMega};
  EXPECT_THAT(ConfigurationText(way), Not(HasSubstr("--durability")));
  way.durability = "lazy";
  EXPECT_THAT(ConfigurationText(way), HasSubstr("commits were measured with --durability lazy"));
}

// A server's own log may be far smaller or larger than that of the measurement.
TEST(AdviceConfigTest, TheLogOfWhatWasWrittenCarriesOver) {
  AdvisedWay way{"innodb", "direct", 16384, 64 * kMega, 256 * kMega};
  EXPECT_THAT(ConfigurationText(way), Not(HasSubstr("innodb_log_file_size")));
  way.innodb_writing = {{"innodb_log_file_size", 256 * kMega},
                        {"innodb_io_capacity", 2048},
                        {"innodb_flush_neighbors", 0}};
  EXPECT_THAT(ConfigurationText(way),
              HasSubstr("  innodb_log_file_size = 256M   # MySQL from 8.0.30 on: "
                        "innodb_redo_log_capacity\n"
                        "  innodb_io_capacity = 2048\n"
                        "  innodb_flush_neighbors = 0\n"));
  way = {"postgres", "buffered", 8192, 64 * kMega, 256 * kMega};
  EXPECT_THAT(ConfigurationText(way), Not(HasSubstr("max_wal_size")));
  way.checkpoint_log_bytes = 256 * kMega;
  EXPECT_THAT(ConfigurationText(way),
              HasSubstr("  max_wal_size = 486MB   # a checkpoint begins after 256M of log\n"
                        "  checkpoint_completion_target = 0.9\n"));
  way.engine = "wiredtiger";
  EXPECT_THAT(ConfigurationText(way),
              HasSubstr("a checkpoint after each 256M of log does not carry over"));
}

TEST(AdviceConfigTest, TheReadaheadIsTheDevices) {
  const char* line = "\n  # measured with read_ahead_kb = 16: blockdev --setra 32 DEVICE\n";
  for (const char* engine : {"innodb", "postgres", "rocksdb", "wiredtiger", "btree", "lmdb"}) {
    EXPECT_THAT(ConfigurationText({engine, "buffered", 8192, kMega, kMega, 16384}),
                testing::EndsWith(line))
        << engine;
  }
}

}  // namespace
}  // namespace testbed
