#include "tools/report/explain/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "device/error.h"
#include "device/lower_case.h"
#include "tools/command/usage_text.h"
#include "tools/output/table.h"
#include "tools/report/explain/command_columns.h"
#include "tools/report/explain/words.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

constexpr char kOperations[] = "Operations";
constexpr char kIntended[] = "Latency from the intended start";
constexpr char kRates[] = "Rates that --find-rate tried";
constexpr char kTasks[] = "Tasks of the run";
constexpr char kReads[] = "Reads per operation, level by level (B = bytes)";
constexpr char kWire[] = "Between client and server, per operation";
constexpr char kAddresses[] = "Addresses of the server";
constexpr char kWrites[] = "Bytes written, by cause";
constexpr char kLog[] = "Log writes, bytes per operation";
constexpr char kMemory[] = "Memory at the end of the phase, and held over it";
constexpr char kDatabase[] = "Database";
constexpr char kTuning[] = "Shares of the memory that --cache-pct auto tried";
constexpr char kRehearsal[] = "Shares of the memory that --cache-pct most rehearsed";
constexpr char kRepeats[] = "Repeats: mean over the loads, and its 95 % confidence interval";
constexpr char kClassic[] = "Insert benchmark: the device's figures divided by the step's rate";
constexpr char kRounds[] = "Insert benchmark: sizes, and when clients finished";
constexpr char kBlocks[] = "Insert benchmark: blocks that each kind of operation caused itself";
constexpr char kCompared[] = "Second against first, by their loads";
constexpr char kAbTwo[] = "Metrics, b against a";
constexpr char kAbMany[] = "Metrics, each side against a";
constexpr char kAbMoved[] = "What moved with it";
constexpr char kAbRest[] = "At rest, between its slices";
constexpr char kWorst[] = "Worst seconds";
constexpr char kMetrics[] = "Metrics of compare, ab and history";

constexpr char kPhase[] =
    "The name of the phase. Behind it stand the operation, when the phase has several kinds; the "
    "client threads (thr); the number of the load (load 2), from the second load on; and the "
    "number of the run on that load (#2), from the second run on.";
constexpr char kPercentile[] =
    "Percentile of the latency, in microseconds, from a histogram. \"-\": fewer than ten "
    "operations took longer, too few to tell.";
constexpr char kIntendedPercentile[] =
    "Percentile of the latency, in microseconds, from a histogram. \"-\": fewer than ten "
    "operations took longer. An operation that was due and had not begun at the end counts with "
    "the time that it had waited, the least that its latency can be.";

const std::vector<ColumnMeaning> kMeanings = {
    {kOperations, "phase", kPhase},
    {kOperations, "count", "Operations that the clients completed in the phase."},
    {kOperations, "ops/s",
     "Operations of all clients a second: count / length of the phase, its checks included."},
    {kOperations, "mean us",
     "Mean latency as the client saw it, in microseconds; it includes the commit and the use of "
     "the values. Operations that kept rows for their check (--verify) count in no latency, unless "
     "all operations are checked."},
    {kOperations, "p50 us", kPercentile},
    {kOperations, "p99 us", kPercentile},
    {kOperations, "p99.9 us", kPercentile},
    {kOperations, "max us", "The longest operation, in microseconds."},
    {kOperations, "cpu us/op",
     "Processor time of the run per operation, in microseconds: user and system time of the "
     "clients, the background threads, a server that the run started, and the checks of answers "
     "(--verify)."},
    {kOperations, "prepare ns/op",
     "Time that the clients spent on preparing the operations of this phase, per operation, in "
     "nanoseconds: they chose rows that the database holds, made keys and values, and waited for "
     "each other's choices. The rate (ops/s) includes this time. No latency includes it, except "
     "with --queue-depth, where reads are in flight meanwhile. The report begins with a line "
     "about it when it is a tenth of the clients' time or more."},
    {kOperations, "harness ns/op",
     "What the loop of the harness itself costs per operation, in nanoseconds. testbed measures it "
     "just before the run, with point reads on an engine that does nothing. These reads choose "
     "among all rows of the data set, by the run's distribution: the rows that the database holds "
     "and the work of the phase do not change them. prepare ns/op is measured in the phase."},
    {kOperations, "foreign cpu",
     "Share of all processors that other programs used in user mode while the phase ran."},
    {kOperations, "steady",
     "Whether the rate had settled in the second half of the phase; \"-\": too short to say."},
    {kOperations, "checked", "Answers that were compared with what must be there (--verify)."},
    {kOperations, "wrong", "Checked answers that were wrong."},
    {kIntended, "phase", kPhase},
    {kIntended, "target ops/s",
     "The rate of all operations together that --rate or the phase asked for; the mean rate, when "
     "it changes over the phase."},
    {kIntended, "ops/s", "The rate that the operations of the row reached."},
    {kIntended, "mean us",
     "Mean latency in microseconds from the moment at which the operation should have begun. So it "
     "includes the wait for slow operations before it. Operations that had not begun at the end "
     "count, too."},
    {kIntended, "p50 us", kIntendedPercentile},
    {kIntended, "p99 us", kIntendedPercentile},
    {kIntended, "p99.9 us", kIntendedPercentile},
    {kIntended, "max us",
     "The longest latency, in microseconds; operations that had not begun at the end count, too."},
    {kIntended, "late p50 us",
     "How late the operations of the phase began, all kinds together: the median, in microseconds. "
     "It leaves out the time in which the client itself made keys and values or checked answers."},
    {kIntended, "late p99 us", "How late they began at the 99th percentile, in microseconds."},
    {kIntended, "backlog s",
     "How late the last operation began, or how long the first that had not begun had waited at "
     "the end, in seconds."},
    {kRates, "phase",
     "The workload, the clients and, from the second on, the load (load 2) and the run on it "
     "(#2)."},
    {kRates, "target ops/s",
     "The rate of the step, in an open loop. \"closed loop\": the clients went as fast as they "
     "could."},
    {kRates, "ops/s", "The rate that all kinds of operations reached together."},
    {kRates, "seconds", "Length of the step, its warm-up apart."},
    {kRates, "count", "Operations of the kind that is limited."},
    {kRates, "p50 us",
     "Median of the latency from the intended start, in microseconds. In the closed loop it is the "
     "latency from the actual start, without a wait for earlier operations."},
    {kRates, "p99 us", "99th percentile of this latency."},
    {kRates, "limited us",
     "The percentile that is limited. \"-\", in all three: fewer than ten operations took longer."},
    {kRates, "max us", "The longest latency."},
    {kRates, "slower", "Share of the operations that were not faster than the limit."},
    {kRates, "backlog s",
     "How late the last operation of a thread began, or how long the first that had not begun had "
     "waited at the end, at most, in seconds."},
    {kRates, "meets",
     "Whether the percentile is below the limit. \"no, fell behind\": operations that were due "
     "were not performed. \"found\": the rate that the search found."},
    {kTasks, "phase: task",
     "The phase, and the number of one of the processes that were its clients (--task). The table "
     "of operations has all of them together."},
    {kTasks, "host", "The host that it ran on."},
    {kTasks, "clients", "Its client threads."},
    {kTasks, "count", "Operations that they completed."},
    {kTasks, "ops/s",
     "These operations a second, from the begin of the task's first client to the end of its last "
     "one."},
    {kTasks, "p50 us", kPercentile},
    {kTasks, "p99 us", kPercentile},
    {kTasks, "max us", "Their longest operation, in microseconds."},
    {kTasks, "late us",
     "How long after the common moment of the start this task began, in microseconds. The clock of "
     "task 0 measures it, so it is exact to within error us."},
    {kTasks, "clock us",
     "The time of day on the task's host less the time of day on task 0's host, before the phase, "
     "in microseconds. The times of a phase do not depend on it, because the tasks compare clocks "
     "that nobody sets."},
    {kTasks, "error us", "Bound of the error of this difference: half of a message's round trip."},
    {kTasks, "drift us",
     "By how much the clocks that nobody sets moved against each other during the phase, in "
     "microseconds."},
    {kReads, "phase", kPhase},
    {kReads, "engine asks",
     "Blocks that the engine asked of its own cache, per operation. Where each session counts its "
     "own blocks (btree, fractal, rocksdb, sqlite), the blocks of checks (--verify) are left out; "
     "other engines' figures include them."},
    {kReads, "engine misses",
     "How many of these blocks the cache did not have, per operation; of bf-tree, which does not "
     "count what it asks its cache for, the pages that it read."},
    {kReads, "file reads", "Read calls that reached files, per operation (counted on each call)."},
    {kReads, "file B/read", "Bytes of such a call."},
    {kReads, "kernel reads",
     "Block requests that the operation caused itself, per operation: reads that the page cache "
     "could not serve, charged to the thread that waited."},
    {kReads, "kernel B/read",
     "Bytes of such a request. It is larger than file B/read when the kernel reads ahead, or when "
     "blocks are not aligned to pages."},
    {kReads, "device reads",
     "Reads by the device's own statistics, per operation, background work included. Reads that "
     "other programs are known to have made are subtracted, and have a row of their own (others)."},
    {kReads, "device B/read", "Bytes of such a read."},
    {kReads, "foreground share",
     "Share of the device's read bytes that operations of the user caused; the rest is background "
     "work. \"-\" without the kernel's account, which alone tells them apart."},
    {kWire, "phase", kPhase},
    {kWire, "round trips",
     "How often the client waited for an answer of the server, per operation: it sent something "
     "and then received something. Statements that are sent together make one round trip. Engines "
     "that are libraries have no such table."},
    {kWire, "bytes sent",
     "Bytes that the client's library gave to its socket, protocol and encryption included."},
    {kWire, "bytes received", "Bytes that it took from its socket, likewise."},
    {kAddresses, "phase: address",
     "The phase, and one of the addresses of --connect. \"(lost)\": the connections to it were "
     "lost, and their clients went on at other addresses."},
    {kAddresses, "clients", "Client threads that the phase connected to it."},
    {kAddresses, "count",
     "Operations that these clients completed. Those that they completed at other addresses, after "
     "this one was lost, count here."},
    {kAddresses, "ops/s", "These operations a second."},
    {kAddresses, "p50 us", kPercentile},
    {kAddresses, "p99 us", kPercentile},
    {kAddresses, "max us", "Their longest operation, in microseconds."},
    {kAddresses, "unanswered",
     "Operations that ended without an answer, because the server was lost; they are in no other "
     "figure of the table."},
    {kAddresses, "blocks read",
     "Blocks that the server there read for whatever reason, by its own count; \"-\" when it was "
     "lost."},
    {kAddresses, "blocks written", "Blocks that it wrote, likewise."},
    {kAddresses, "log B", "Bytes that it wrote to its log, likewise."},
    {kWrites, "phase",
     "The phase and the class of the written bytes: log records, the rest of the log, data by the "
     "work that wrote it (flush, compaction, checkpoint, eviction), torn-page protection, the file "
     "system's own. Other programs' writes have a line of their own and no class."},
    {kWrites, "bytes", "Bytes that the device wrote for it in the phase."},
    {kWrites, "share", "Share of all bytes that the device wrote for the run."},
    {kWrites, "per user byte",
     "Bytes written for each byte of keys and values that the user wrote: write amplification. A "
     "settle counts against the phase before it."},
    {kLog, "phase", kPhase},
    {kLog, "operations",
     "Operations of the phase, also those that only read; in a load each is one commit."},
    {kLog, "payload", "Log bytes that carry records, per operation, as the engine counts them."},
    {kLog, "framing",
     "Headers and checksums of the log's format, per operation; \"-\" of an engine that does not "
     "count them apart."},
    {kLog, "padding",
     "Bytes that only fill a block, per operation; \"-\" of an engine that does not count them "
     "apart."},
    {kLog, "rewritten",
     "Bytes of blocks that were written again with more records, per operation; \"-\" of an engine "
     "that does not count them apart."},
    {kLog, "engine says",
     "All log bytes as the engine or its file calls count them, per operation: the sum of the four "
     "columns before it, also where the engine counts only the first of them apart."},
    {kLog, "device all", "All bytes that the device wrote for the run, per operation."},
    {kLog, "device log", "Bytes that the device wrote for log files, per operation."},
    {kLog, "device journal", "Bytes for the file system's journal and metadata, per operation."},
    {kLog, "estimate",
     "Bytes that one would expect the device to write for the log, per operation, when only the "
     "engine's log bytes and its number of syncs are known."},
    {kLog, "at least",
     "The least bytes that the device can have written for the log by these two numbers, per "
     "operation."},
    {kLog, "syncs",
     "Calls that make the log durable, per operation: syncs, and writes with O_DSYNC; below 1 with "
     "group commit, and 0 when the log was not synced."},
    {kLog, "device writes", "Write requests of the device per operation, other programs' apart."},
    {kLog, "flushes", "Flushes of the device's cache per operation, other programs' included."},
    {kMemory, "phase", kPhase},
    {kMemory, "ram", "The budget (--ram), page cache included."},
    {kMemory, "engine cache", "Memory that the engine's cache holds, by the engine's own count."},
    {kMemory, "process other",
     "The process's memory that is not the engine's cache; all of it where the engine has no such "
     "count."},
    {kMemory, "page cache", "Pages of files that the kernel holds for the run."},
    {kMemory, "kernel", "The kernel's own memory for the run."},
    {kMemory, "unused", "The rest of the budget."},
    {kMemory, "unaccounted", "The budget minus the sum of its parts, as a share of it."},
    {kMemory, "peak", "The most memory that the run held at any moment."},
    {kMemory, "held, mean",
     "Mean memory that the run held over the phase, read four times a second; without page cache "
     "where it answers no read of the engine, as with direct IO."},
    {kMemory, "held, most", "The most memory at any such moment."},
    {kDatabase, "phase", kPhase},
    {kDatabase, "seconds", "Length of the phase."},
    {kDatabase, "data",
     "Size of the database's files at the end of the phase, those of its write-ahead log apart."},
    {kDatabase, "log", "Size of the files of its write-ahead log, spare ones included."},
    {kDatabase, "rows", "Rows that the database held then."},
    {kDatabase, "bytes/row", "Bytes of data for each row."},
    {kDatabase, "per user byte",
     "Bytes of data for each byte of keys and values in it, index entries included; \"-\" once "
     "a run on the database stored values of other sizes, or erased rows of several sizes."},
    {kTuning, "cache",
     "The share of --ram that the engine's cache had, the clients and, from the second on, the "
     "load (load 2) and the run on it (#2), and the workload where several had a search."},
    {kTuning, "times", "How often that share was measured."},
    {kTuning, "ops/s", "Mean rate with it."},
    {kTuning, "predicted", "The rate that the model of both caches predicts."},
    {kTuning, "engine misses/op", "Misses of the engine's cache, per operation."},
    {kTuning, "device reads/op",
     "Reads of the device, per operation; known reads of other programs are taken off."},
    {kTuning, "cpu us/op", "CPU time per operation, in microseconds."},
    {kTuning, "neither cache", "Memory of the budget that neither cache could use."},
    {kRehearsal, "cache", "The share of --ram that the engine's cache had."},
    {kRehearsal, "cache held", "The most memory that the cache then held."},
    {kRehearsal, "held without page cache, mean",
     "Memory that the run held, its page cache left out: the mean."},
    {kRehearsal, "most", "The same at the moment at which it was largest."},
    {kRehearsal, "memory needed", "The least memory budget that would suffice for this share."},
    {kRepeats, "phase", "The phase, its operation and the clients."},
    {kRepeats, "loads", "Loads, each with a seed of its own (--repeat)."},
    {kRepeats, "runs", "Runs on all of them (--repeat-runs on each)."},
    {kRepeats, "ops/s", "Mean rate over the loads."},
    {kRepeats, "ops/s +-", "Half of the 95 % confidence interval of that mean (Student's t)."},
    {kRepeats, "p99 us",
     "Mean of the 99th percentiles of latency; \"-\" when in a run fewer than ten operations took "
     "longer."},
    {kRepeats, "p99 us +-", "Half of its 95 % confidence interval."},
    {kRepeats, "device reads/op", "Mean reads of the device per operation, other programs' apart."},
    {kRepeats, "reads/op +-", "Half of its 95 % confidence interval."},
    {kRepeats, "device writes/op", "Mean writes of the device per operation, likewise."},
    {kRepeats, "writes/op +-", "Half of its 95 % confidence interval."},
    {kClassic, "step",
     "The step of the benchmark (docs/workloads.md), the clients and, from the second on, the load "
     "and the run on it."},
    {kClassic, "clients", "Clients of the step."},
    {kClassic, "ips", "Rows inserted a second; in ib.x rows indexed a second."},
    {kClassic, "qps", "Queries a second."},
    {kClassic, "of target", "Share of the target rate that was reached; MISSED below 95 %."},
    {kClassic, "rps", "Reads of the device a second."},
    {kClassic, "rMiB/s", "MiB read a second."},
    {kClassic, "wps", "Writes of the device a second."},
    {kClassic, "wMiB/s", "MiB written a second."},
    {kClassic, "rpq", "Reads of the device per query; per insert in steps without queries."},
    {kClassic, "rKiB/q", "KiB read, likewise."},
    {kClassic, "wpi", "Writes of the device per insert."},
    {kClassic, "wKiB/i", "KiB written per insert."},
    {kClassic, "csps", "Context switches of the machine a second."},
    {kClassic, "cpups", "CPU of the machine, user and system, in percent of all processors."},
    {kClassic, "cspq", "Context switches per query; per insert in steps without queries."},
    {kClassic, "cpupq", "CPU of the machine per query, in microseconds; likewise."},
    {kClassic, "dbgb1", "Size on disk without the log's files, in GB."},
    {kClassic, "dbgb2", "Size on disk with them, in GB."},
    {kClassic, "rss GB", "Memory of the run's process and of a server of its own, at most, in GB."},
    {kClassic, "max op s", "The longest response of the step's main operation, in seconds."},
    {kClassic, "p50", "Rate that was exceeded in half of the seconds."},
    {kClassic, "p99", "Rate that was exceeded in 99 % of the seconds."},
    {kRounds, "step", "The step of the benchmark."},
    {kRounds, "rows", "Rows of the tables at its end."},
    {kRounds, "seconds", "Its length."},
    {kRounds, "data GB", "Size on disk without the log's files, in GB."},
    {kRounds, "log GB", "Size of the log's files, in GB."},
    {kRounds, "bytes/row", "Bytes of data for each row."},
    {kRounds, "GB written", "GB that the device wrote, writes at the step's end included."},
    {kRounds, "MB/s written", "MB that the device wrote a second."},
    {kRounds, "ips", "Rows inserted a second."},
    {kRounds, "first client s", "When the first client had finished."},
    {kRounds, "last client s", "When the last client had finished."},
    {kBlocks, "step: operation",
     "The step, the kind of operation, and what the figures are divided by: operations or rows."},
    {kBlocks, "count", "Operations of that kind."},
    {kBlocks, "reads", "Reads that it caused itself, per operation or row."},
    {kBlocks, "read KiB", "KiB of them."},
    {kBlocks, "writes", "Writes that it caused itself, per operation or row."},
    {kBlocks, "write KiB", "KiB of them."},
    {kBlocks, "level", "The level that counted: kernel (block requests) or file (calls)."},
    {kCompared, "phase",
     "The phase and the clients. A metric of one kind of operation also has the operation here; a "
     "comparison of two directories also has the cell."},
    {kCompared, "metric", "What is compared: one of the metrics below, chosen by --metric."},
    {kCompared, "first",
     "Mean over the loads of the first result: the geometric mean, or the arithmetic mean where "
     "the change is a difference."},
    {kCompared, "second", "The same of the second result."},
    {kCompared, "change (interval)",
     "By how much the second result differs from the first, in percent, with the 95 % confidence "
     "interval of the change. Where a value is 0, it is a difference."},
    {kCompared, "answer",
     "Faster or slower, higher or lower: the 95 % interval does not contain 0. Same: two one-sided "
     "tests at 5 % put the change within --within, which the 90 % interval then lies in. Else "
     "cannot be told. Results of two machines, or with a setting that is in force on one side "
     "alone, are not judged."},
    {kCompared, "loads",
     "The number of loads of the first result and of the second one that the answer is based on."},
    {kCompared, "more loads",
     "Further loads of each side that would answer the question if they are like those seen; "
     "\"-\": a thousand would not."},
    {kAbTwo, "metric",
     "What is compared: one of the metrics below, of all operations or of one kind (update.p99)."},
    {kAbTwo, "a", "Mean of side a over the loads."},
    {kAbTwo, "b", "Mean of side b."},
    {kAbTwo, "change",
     "By how much b differs from a, in percent, with the 95 % confidence interval of the change. "
     "Where a value is 0, it is a difference."},
    {kAbTwo, "answer",
     "Faster or slower, higher or lower: the interval does not contain 0. Same: two one-sided "
     "tests put the change within --until, though the printed interval, which is wider, may reach "
     "beyond it. Else cannot be told."},
    {kAbMany, "metric", "What is compared, as with two sides."},
    {kAbMany, "side", "The side of the row and, beside a, its mean."},
    {kAbMany, "a", "Mean of side a over the loads."},
    {kAbMany, "change",
     "By how much the side of the row differs from a, with the 95 % confidence interval of the "
     "change."},
    {kAbMany, "answer", "As with two sides."},
    {kAbMoved, "counter",
     "What was counted at one of the levels, per operation (docs/results.md, \"A comparison\")."},
    {kAbMoved, "side", "The side that is set against a."},
    {kAbMoved, "a", "Mean of side a, per operation."},
    {kAbMoved, "side's", "Mean of that side, per operation."},
    {kAbMoved, "change",
     "By how much it moved, with its interval. Counters that did not move for sure are left out."},
    {kAbRest, "side", "The side, while other sides had their slices."},
    {kAbRest, "seconds", "How long it was at rest, all together."},
    {kAbRest, "processors",
     "Processors that it used then, on average: background work, such as compaction, goes on."},
    {kAbRest, "file reads/s",
     "Read calls that reached its files a second; \"-\" of an engine that calls the system "
     "itself."},
    {kAbRest, "file writes/s", "Write calls, likewise."},
    {kAbRest, "kernel reads/s",
     "Read requests that its threads caused a second; \"-\" when the kernel's account is not "
     "there."},
    {kAbRest, "kernel writes/s",
     "Write requests, likewise, with those by which kernel threads write back pages of its files."},
    {kWorst, "second",
     "Begin and end of the second, counted from the begin of the phase. It is longer than a second "
     "when the whole process stood still."},
    {kWorst, "ops/s", "Operations of all clients in it, divided by its length."},
    {kWorst, "p99", "99th percentile of the latency of the operations that ended in it."},
    {kWorst, "slowest", "The longest operation that ended in it."},
    {kWorst, "device read", "Bytes that the whole device read in it, other programs included."},
    {kWorst, "written", "Bytes that it wrote, likewise."},
    {kWorst, "reclaims", "How often memory had to be reclaimed in it to stay within --ram."},
    {kWorst, "background", "The background work that moved most bytes in it, and these bytes."},
};

// Returns the columns of all tables, and behind them the metrics.
std::vector<ColumnMeaning> WithMetrics() {
  std::vector<ColumnMeaning> all = kMeanings;
  all.insert(all.end(), CommandColumns().begin(), CommandColumns().end());
  for (const Metric& metric : Metrics()) {
    std::string meaning = metric.meaning + ".";
    meaning[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(meaning[0])));
    all.push_back({kMetrics, metric.name, meaning});
  }
  return all;
}

// Returns the meanings of columns and words for which `take` holds, as text under the titles of
// their tables.
template <typename Take>
std::string Lines(Take take) {
  std::string text, table;
  for (const std::vector<ColumnMeaning>* meanings : {&ColumnMeanings(), &WordMeanings()}) {
    for (const ColumnMeaning& m : *meanings) {
      if (!take(m)) continue;
      if (table != m.table) {
        table = m.table;
        text += (text.empty() ? "" : "\n") + table + "\n";
      }
      text += Wrapped(fmt::format("  {}: {}", m.column, m.meaning), Table::kNarrow);
    }
  }
  return text;
}

// Returns whether a column or a word is what was asked for. A latency may be named without its
// unit: p99 is a column of one table, and "p99 us" of others.
bool IsNamed(const std::string& name, const std::string& asked) {
  constexpr std::string_view kAnyEnd = "...";
  if (name == asked || name == asked + " us") return true;
  return name.ends_with(" ...") && asked.size() > name.size() - kAnyEnd.size() &&
         asked.starts_with(name.substr(0, name.size() - kAnyEnd.size()));
}

// Appends the rows of a Markdown page: a heading and a table for each group of meanings.
void AddMarkdown(const std::vector<ColumnMeaning>& meanings, const char* what, std::string* page) {
  std::string table;
  for (const ColumnMeaning& m : meanings) {
    if (table != m.table) {
      table = m.table;
      *page += fmt::format("\n## {}\n\n| {} | meaning |\n|---|---|\n", table, what);
    }
    *page += fmt::format("| `{}` | {} |\n", m.column, m.meaning);
  }
}

}  // namespace

const std::vector<ColumnMeaning>& ColumnMeanings() {
  static const auto* all = new std::vector<ColumnMeaning>(WithMetrics());
  return *all;
}

std::string ExplainText(const std::string& asked) {
  const std::string word = LowerCase(asked);
  std::string text =
      Lines([&](const ColumnMeaning& m) { return IsNamed(LowerCase(m.column), word); });
  if (!text.empty()) return text;
  text = Lines([&](const ColumnMeaning& m) {
    return LowerCase(m.table).find(word) != std::string::npos ||
           LowerCase(m.column).find(word) != std::string::npos;
  });
  if (!text.empty()) return text;
  std::vector<std::string> names;
  for (const ColumnMeaning& m : ColumnMeanings()) names.push_back(m.column);
  for (const ColumnMeaning& m : WordMeanings()) names.push_back(m.column);
  const std::string guess = NearestName(asked, names);
  throw Error(Error::kUsage,
              fmt::format("no table, column or word is called {}{}; `testbed explain` explains all",
                          asked, guess.empty() ? "" : "; did you mean '" + guess + "'?"));
}

std::string ColumnsPage() {
  std::string text =
      "# The tables of a report, column by column\n\n"
      "`testbed explain --markdown` makes this page, and `testbed explain 'kernel B/read'` prints "
      "a "
      "part of it. Columns\nthat are not in your report come with `--wide`; "
      "[results.md](results.md) "
      "has the figures behind them. Behind the tables of a\nreport follow those of `compare`, "
      "`ab`, `report --series`, `tree`, `trace info`, `history`, `experiment`, `check`, `backup`, "
      "`compact` and `list`, and the metrics;\nthen words: labels of rows, causes, levels, marks, "
      "verdicts, figures of sweeps.\n";
  AddMarkdown(ColumnMeanings(), "column", &text);
  AddMarkdown(WordMeanings(), "word", &text);
  return text;
}

}  // namespace testbed
