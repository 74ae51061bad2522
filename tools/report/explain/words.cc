#include "tools/report/explain/words.h"

namespace testbed {
namespace {

constexpr char kInReports[] = "Words of a report";
constexpr char kLevels[] = "Levels and kinds of files";
constexpr char kCauses[] = "What causes reads and writes";
constexpr char kRowsOfWrites[] = "Rows of the table of bytes written";
constexpr char kInComparisons[] = "Words of comparisons";
constexpr char kInExperiments[] = "Words of experiments and sweeps";
constexpr char kSweepFigures[] = "Figures of a sweep";
constexpr char kSpaceParts[] = "Parts of the space of files";

const std::vector<ColumnMeaning> kWords = {
    {kInReports, "ledger",
     "The count of each read and write by the operation that caused it and the kind of file, level "
     "by level: operation, engine, file, kernel, device (docs/accounting.md)."},
    {kInReports, "closure",
     "How far the block requests of all threads, which the kernel counts, are from the device's "
     "own statistics over a phase: 0 when no request is missing and none invented."},
    {kInReports, "at rest",
     "The device had nothing to do when the counts were read at the beginning and the end of a "
     "phase. Where it was not at rest, requests of one phase may be counted in the next."},
    {kInReports, "grade",
     "How exact the account of reads and writes is. A: requests were counted in the kernel, on a "
     "device of the run's own. B: one of the two holds. C: neither does. Behind the grade stand "
     "its reasons, and what is not known."},
    {kInReports, "not known",
     "What this machine, this user or this engine cannot tell about a run, with the option or the "
     "right that would make it known."},
    {kInReports, "not in force",
     "A setting that was asked for and that the machine refused; the run went on without it."},
    {kInReports, "closed loop",
     "Each client begins its next operation when its last one has ended, so that a slow operation "
     "keeps others from coming."},
    {kInReports, "open loop",
     "Operations are due at a rate (--rate, --find-rate), whether or not those before them have "
     "ended."},
    {kInReports, "fell behind",
     "Operations of an open loop were due and had not begun at the end of the phase."},
    {kInReports, "all operations",
     "The phase as a whole, in a row before those of its kinds of operations."},
    {kInReports, "others",
     "What other programs read of the device in the phase. It is in no figure per operation."},
    {kInReports, "other programs",
     "Programs that are not the run. Their requests are known by the kernel account alone, and "
     "their processor time by foreign cpu."},
    {kInReports, "thr", "Client threads. 8 thr x 3 tasks: 8 in each of three processes (--task)."},
    {kInReports, "load",
     "A phase that fills the database. A number behind it counts the loads of --repeat, each with "
     "a seed of its own."},
    {kInReports, "#2", "The second run on the same load (--repeat-runs)."},
    {kInReports, "settle",
     "A step without operations, after a load or where --workload names it. The engine and the "
     "device come to rest in it, so that the next phase does none of the work that was left over."},
    {kInReports, "warm-up",
     "Operations before a measured phase (--warmup), which are in none of its figures."},
    {kInReports, "x ram", "Bytes of keys and values for each byte of --ram."},
    {kInReports, "the run's alone",
     "Said of a device: no other program uses it, as with --scratch. A shared device may have "
     "requests of other programs."},
    {kInReports, "verify",
     "Reads that check answers (--verify). They are outside of the operation and of its latency, "
     "and are background work in the account. An operation that keeps rows for its check counts in "
     "no latency, unless all operations are checked."},
    {kInReports, "release",
     "The version of the engine where it is not the one that is linked in, and how it was built."},
    {kInReports, "label", "The name that the user gave the runs (--label)."},
    {kInReports, "(chosen)", "The share of the memory that the run had, of those that were tried."},
    {kInReports, "note", "A sentence of the run on its surroundings."},
    {kInReports, "PARTIAL", "A run was interrupted: the figures are from what it had done."},
    {kInReports, "!", "The line says what makes the figures doubtful."},
    {kInReports, "-", "The figure is not known, or has no meaning in this row."},
    {kLevels, "operation",
     "Level of the account: what the user asked for, as the runner counts it."},
    {kLevels, "engine",
     "Level of the account: blocks that the engine asked of its own cache, as it counts them "
     "itself."},
    {kLevels, "file",
     "Level of the account: calls that reached files, counted on each call. Engines that call the "
     "system themselves have none."},
    {kLevels, "kernel",
     "Level of the account: block requests that a thread caused, page faults and misses of the "
     "page cache included, counted in the kernel."},
    {kLevels, "device",
     "Level of the account: what the device did by its own statistics, read at the beginning and "
     "the end of a phase."},
    {kLevels, "wire", "Level of the account: what a client exchanged with its server."},
    {kLevels, "data", "Kind of file: the engine's rows."},
    {kLevels, "log",
     "Kind of file: the engine's write-ahead log. As a class of written bytes: that of an engine "
     "that does not count the records in it."},
    {kLevels, "binlog", "Kind of file: a server's log of changes, which replicas read."},
    {kLevels, "doublewrite", "Kind of file: copies of pages, by which torn ones are repaired."},
    {kLevels, "temp", "Kind of file: what the engine spills or needs for a while."},
    {kLevels, "meta",
     "Kind of file: the engine's own catalogue, such as a manifest or a superblock."},
    {kLevels, "other-file",
     "Kind of file: one that did not go through testbed's file layer; of a thread outside of the "
     "run, another program's."},
    {kLevels, "fs-journal", "Kind of file: the journal or log of the file system."},
    {kLevels, "fs-metadata", "Kind of file: the file system's own blocks outside of its journal."},
    {kCauses, "foreground", "Operations that the user asked for."},
    {kCauses, "background",
     "What the engine, the kernel or testbed itself does for these operations."},
    {kCauses, "unscoped",
     "Background: work outside of any operation, such as that of an engine's thread which has no "
     "name."},
    {kCauses, "open", "Background: opening, creating, recovering and closing a database."},
    {kCauses, "flush", "Background: writing a full memtable to a file."},
    {kCauses, "compaction", "Background: merging the files of an LSM tree."},
    {kCauses, "checkpoint",
     "Background: writing changed pages so that the log before them is not needed."},
    {kCauses, "eviction", "Background: writing pages back to make room in the engine's cache."},
    {kCauses, "log-write", "Background: the engine's own log thread."},
    {kCauses, "writeback",
     "Background: dirty pages of the page cache, which are written out when a phase comes to "
     "rest."},
    {kCauses, "kernel threads",
     "Threads of the kernel that write by themselves, such as those of write-back and of the file "
     "system's journal."},
    {kCauses, "preallocate", "Background: mmapv1 makes its next data file ahead of need."},
    {kCauses, "change-buffer-merge",
     "Background: btree moves rows from its change buffer to their leaves."},
    {kCauses, "count-rows", "Background: the rows that an interrupted run left are counted."},
    {kCauses, "look-up", "Background: a workload reads rows to find out what it may write."},
    {kCauses, "record", "Background: operations are written to a trace (--record)."},
    {kCauses, "read-trace", "Background: the trace that is replayed is read."},
    {kCauses, "point-read",
     "Foreground: one row is read by its key. The names of all operations are in "
     "docs/workloads.md."},
    {kCauses, "read-modify-write",
     "Foreground: a row is read and written back changed, as one operation and without a "
     "transaction."},
    {kCauses, "erase", "Foreground: a row is removed."},
    {kCauses, "index-scan",
     "Foreground: rows are read in the order of a secondary index, or to build one."},
    {kCauses, "index-write", "Foreground: entries are written to an index that is built."},
    {kRowsOfWrites, "log records",
     "Bytes of the log's files that carry records, as the engine counts them."},
    {kRowsOfWrites, "log framing, padding and rewrites",
     "The other bytes that were written to the log's files: headers and checksums, bytes that fill "
     "a block, and blocks that were written again."},
    {kRowsOfWrites, "binary log",
     "Bytes of a server's log of changes, which replicas read, kind of file binlog."},
    {kRowsOfWrites, "data by ...",
     "Bytes of data files that this cause wrote, such as a flush, a compaction, a checkpoint, an "
     "eviction, or a commit itself."},
    {kRowsOfWrites, "data by kernel threads",
     "Bytes of data files that the kernel wrote by itself, as from the page cache: no operation "
     "and no work of the engine is known to have sent them."},
    {kRowsOfWrites, "torn-page protection", "Bytes of doublewrite files."},
    {kRowsOfWrites, "engine metadata", "Bytes of the engine's own catalogue, kind of file meta."},
    {kRowsOfWrites, "temporary files",
     "Bytes of what the engine spills or needs for a while, kind of file temp."},
    {kRowsOfWrites, "other files of the run",
     "Bytes that the run wrote to files that did not go through the file layer: those of an engine "
     "that calls the system itself and does not name them, and testbed's own, such as a trace."},
    {kRowsOfWrites, "file system journal",
     "Bytes of the file system's journal or log, which it writes for the run's files."},
    {kRowsOfWrites, "file system metadata",
     "Bytes of the file system's own blocks: inodes, extents, bitmaps."},
    {kRowsOfWrites, "sum of the classes",
     "The rows above it together. It is the row device when the account closes."},
    {kRowsOfWrites, "written by the engine's file calls",
     "Bytes of all write calls, where the kernel's account is not there to tell what became of "
     "them."},
    {kRowsOfWrites, "device, of this run",
     "Bytes that the device wrote less those of other programs."},
    {kRowsOfWrites, "device, of other programs",
     "Bytes of other programs' files, by the kernel account."},
    {kRowsOfWrites, "device, in all", "Bytes that the device wrote by its own statistics."},
    {kRowsOfWrites, "discarded, not written",
     "Bytes that the file system told the device it no longer needs (discard, trim), as of removed "
     "files. Nothing was written for them."},
    {kInComparisons, "side", "One of the settings that `testbed ab` compares: a, b and so on."},
    {kInComparisons, "slice", "A short time in which one side works while the others are at rest."},
    {kInComparisons, "interleave",
     "The sides work in alternating slices, each on its database of a load."},
    {kInComparisons, "duet",
     "The sides work at the same time, each on a share of the processors, which they exchange."},
    {kInComparisons, "rounds",
     "Whole runs, one after the other in random order, each with a database loaded anew. Of an "
     "experiment: all its cells, again."},
    {kInComparisons, "faster",
     "More operations a second, or less time, for sure: the interval of the change has no zero. "
     "slower is the opposite."},
    {kInComparisons, "higher", "A count or a size that is larger for sure; lower is the opposite."},
    {kInComparisons, "same",
     "Two one-sided tests say that the change lies within the margin of --until or --within. They "
     "look at a narrower interval than the one that is printed (90 % for 95 %), which may "
     "therefore reach beyond the margin."},
    {kInComparisons, "cannot be told",
     "The measured loads or rounds leave more than one answer open. The report says how many more "
     "would tell, where that is known."},
    {kInComparisons, "settings 2",
     "Results of the same phase with other settings or on another machine, in rows of their own."},
    {kInExperiments, "cell", "A run of an experiment, or of a sweep: one label of each axis."},
    {kInExperiments, "axis",
     "An option, or several together, whose values an experiment tries; each value has a label."},
    {kInExperiments, "round", "All cells measured once, with loads and a seed of their own."},
    {kInExperiments, "scale",
     "The size of an experiment: tiny, small, full, or a factor of full (--scale). A sweep has "
     "none."},
    {kInExperiments, "block", "Cells that are compared with each other and so run on one host."},
    {kInExperiments, "±", "Half of the 95 % confidence interval of the mean over the rounds."},
    {kInExperiments, "best", "The best figure of the table's first metric."},
    {kInExperiments, "~", "The figure cannot be told from the best one."},
    {kInExperiments, "*",
     "A setting of the cell was not in force; a line below the table names it."},
    {kInExperiments, "published", "The figure of the paper or page that the finding is from."},
    {kInExperiments, "ours", "The figures that were measured for it."},
    {kInExperiments, "false if",
     "What would make the part's statement false; a part that nothing could make false is no "
     "test."},
    {kInExperiments, "holds",
     "The part's statement is true for the measured figures. Beside it stands the share of "
     "resampled rounds in which it is true."},
    {kInExperiments, "does not hold", "It is false for them."},
    {kInExperiments, "cannot be told from these figures",
     "It is true in some of the resampled rounds and false in others."},
    {kInExperiments, "holds in one round",
     "True in the only round, which has no spread to judge by."},
    {kInExperiments, "does not hold in one round", "False in the only round."},
    {kInExperiments, "reproduced", "All parts of the finding hold."},
    {kInExperiments, "in part", "Some parts of the finding hold, and others do not."},
    {kInExperiments, "not reproduced", "No part of the finding holds."},
    {kInExperiments, "no verdict",
     "There is one round, which has no spread to judge by. The line says how many parts hold in "
     "it."},
    {kInExperiments, "untestable", "The claim cannot be checked here; the reason follows."},
    {kInExperiments, "waits for an engine", "The claim is about an engine that this build lacks."},
    {kInExperiments, "withheld",
     "A setting that the claim needs was not in force, or was not the published one for sure."},
    {kInExperiments, "not measured yet", "A cell that the claim names is not finished."},
    {kInExperiments, "figure not known", "A figure that the claim needs is not known."},
    {kInExperiments, "ambiguous",
     "A part names several cells where one is needed, as after --only added some."},
    {kInExperiments, "not measured at this scale", "The scale has no cell that the part names."},
    {kInExperiments, "not judged at this scale", "The scale lacks cells that the claim names."},
    {kInExperiments, "asked at another scale", "The claim is checked at other scales alone."},
    {kInExperiments, "stands in",
     "The part was measured on another system than the published one."},
    {kInExperiments, "memory held",
     "The memory that each engine held in the cells of all parts of the finding."},
    {kInExperiments, "not run", "Cells that are planned and cannot run here, with the reason."},
    {kInExperiments, "Advice",
     "The way of reading, page size and share of the cache that was the fastest for this workload, "
     "from `testbed advise`."},
    {kSweepFigures, "found (/s)", "With --find-rate: the highest rate that met its limit."},
    {kSweepFigures, "ops (/s)",
     "Operations a second of the last workload that measured, or of the load where nothing else "
     "was measured."},
    {kSweepFigures, "held (MiB)",
     "Memory that the run held on the mean of the measured phase that held most, or of the load "
     "where nothing else was measured. It is not known where --ram bounds nothing."},
    {kSweepFigures, "p99_us (us)",
     "99th percentile of the latency of the most frequent operation, in microseconds. Of "
     "operations that are about equally frequent it is the first one in the report. In an open "
     "loop the latency counts from the intended start. Not known where fewer than ten operations "
     "took longer."},
    {kSweepFigures, "device_reads", "Reads of the device per operation, without other programs'."},
    {kSweepFigures, "written (B)",
     "Bytes that the device wrote per operation, other programs' bytes left out. The bytes of a "
     "settle count with the phase before it: of the settle after a load, and of each one that "
     "--workload names."},
    {kSweepFigures, "cpu_us (us)", "CPU time of the run per operation."},
    {kSweepFigures, "data (MiB)", "The database on disk, without its log files."},
    {kSpaceParts, "superblock", "btree: the first page, which says what the file is."},
    {kSpaceParts, "leaf pages", "btree: pages with rows."},
    {kSpaceParts, "inner pages", "btree: pages that lead to leaves."},
    {kSpaceParts, "overflow pages", "btree: pages of long values."},
    {kSpaceParts, "free pages", "btree: pages that later rows may use."},
    {kSpaceParts, "damaged pages", "btree: pages whose checksum or contents are wrong."},
    {kSpaceParts, "not reached pages",
     "btree: pages that are in use by the space map and in no tree."},
    {kSpaceParts, "of other tables pages", "btree: pages of tables that --table left out."},
    {kSpaceParts, "not in the space map pages",
     "btree: space that was allocated ahead, behind the last page of the map."},
    {kSpaceParts, "cut off pages", "btree: a page at the end of the file that is not whole."},
    {kSpaceParts, "doublewrite file", "btree: copies of pages, by which torn ones are repaired."},
    {kSpaceParts, "checkpoint files", "btree: the two last checkpoints, with the space map."},
    {kSpaceParts, "log to be replayed", "btree: what the next opening reads of the log."},
    {kSpaceParts, "log that can be used again", "btree: segments whose records no opening needs."},
    {kSpaceParts, "holes behind compressed pages",
     "btree: blocks that the file system did not need to allocate; they count against the other "
     "parts."},
    {kSpaceParts, "headers",
     "fractal: two copies of the file's header. The newer valid one counts."},
    {kSpaceParts, "translation table", "fractal: the place of each node and block in the file."},
    {kSpaceParts, "leaf nodes", "fractal: nodes with rows."},
    {kSpaceParts, "inner nodes, level ...",
     "fractal: nodes with messages; the leaves are level 0."},
    {kSpaceParts, "damaged nodes", "fractal: nodes whose checksum or contents are wrong."},
    {kSpaceParts, "nodes not reached",
     "fractal: nodes of the translation table to which damage hides the way, or to which an "
     "interrupted command did not come."},
    {kSpaceParts, "nodes of other tables", "fractal: nodes of tables that --table left out."},
    {kSpaceParts, "free", "fractal: space that later nodes may use."},
    {kSpaceParts, "namespace file", "mmapv1: the catalogue of tables and indexes."},
    {kSpaceParts, "file headers", "mmapv1: the first page of each data file."},
    {kSpaceParts, "extents of records", "mmapv1: space of documents."},
    {kSpaceParts, "extents of buckets", "mmapv1: space of indexes."},
    {kSpaceParts, "extents not reached",
     "mmapv1: extents to which damage hides the way, or to which an interrupted command did not "
     "come."},
    {kSpaceParts, "extents of other tables", "mmapv1: extents of tables that --table left out."},
    {kSpaceParts, "journal", "mmapv1: its write-ahead log."},
    {kSpaceParts, "size on disk", "The sum of the parts: what the files take."},
};

}  // namespace

const std::vector<ColumnMeaning>& WordMeanings() { return kWords; }

}  // namespace testbed
