#include "tools/report/explain/command_columns.h"

namespace testbed {
namespace {

constexpr char kTreeTables[] = "Tables";
constexpr char kTreeLevels[] = "Levels, the root first";
constexpr char kTreeParts[] = "Bytes per row, by what they are";
constexpr char kTreeDisk[] = "Where the space of the files goes";
constexpr char kTraceKinds[] = "Operations of the trace";
constexpr char kTraceCalls[] = "Calls";
constexpr char kTraceSizes[] = "Sizes";
constexpr char kTraceCache[] =
    "Working set: what a cache of the most recently used keys would answer";
constexpr char kHistoryShown[] = "Results of BRANCH";
constexpr char kHistoryLast[] = "The last results against those before";
constexpr char kHistoryPoints[] = "Change points by Apache Otava";
constexpr char kExperiments[] = "Experiments";
constexpr char kAxes[] = "Axes, the last varying fastest";
constexpr char kScales[] = "Scales";
constexpr char kExperimentMetrics[] = "Metrics";
constexpr char kPlanShared[] = "Options of every cell";
constexpr char kPlanCells[] = "Cells, in the order in which they run";
constexpr char kCells[] = "Cells";
constexpr char kCellBlocks[] = "Blocks, whose cells stay on one host";
constexpr char kChecked[] = "Checked";
constexpr char kBackup[] = "DATABASE: ENGINE, copied to COPY in SECONDS s; bytes on disk";
constexpr char kCompact[] = "DATABASE: ENGINE, compacted in SECONDS s; bytes on disk";
constexpr char kEngines[] = "Engines";
constexpr char kReleases[] = "Other releases of engines, for --engine NAME@RELEASE";
constexpr char kServers[] = "Other servers, for --server NAME@VERSION";
constexpr char kWorkloads[] = "Workloads";
constexpr char kKeySets[] = "Sets of real keys, for --keys NAME";
constexpr char kModes[] = "IO modes";
constexpr char kEngineOptions[] = "--engine-option of ENGINE";
constexpr char kWorkloadOptions[] = "--workload-option of WORKLOAD";

const std::vector<ColumnMeaning> kCommandMeanings = {
    {kTreeTables, "table",
     "The table or index. One in brackets is the engine's own, and so is btree.change_buffer."},
    {kTreeTables, "height", "Levels of its tree, the leaves included."},
    {kTreeTables, "rows",
     "Rows as a scan finds them: of fractal, with the changes that wait above the leaves. Rows "
     "that wait in btree.change_buffer count there."},
    {kTreeTables, "pages", "Pages of the tree, those of long values included."},
    {kTreeTables, "bytes", "Bytes of these pages."},
    {kTreeTables, "bytes/row", "These bytes for each row."},
    {kTreeTables, "per user byte",
     "These bytes for each byte of keys and values as the user gave them."},
    {kTreeTables, "leaf fill", "Share of the room in leaves that rows take."},
    {kTreeTables, "long values", "Values that lie outside of the leaves, on pages of their own."},
    {kTreeLevels, "table", "The table or index."},
    {kTreeLevels, "level",
     "Distance from the leaves, which are 0; overflow: pages of long values."},
    {kTreeLevels, "pages", "Pages of the level."},
    {kTreeLevels, "bytes", "Bytes of these pages."},
    {kTreeLevels, "entries", "Rows of the leaves, and children of the other levels."},
    {kTreeLevels, "entries/page", "Entries of a page, on average."},
    {kTreeLevels, "fill",
     "Share of the room for entries that is taken; of fractal's nodes above the leaves, of the "
     "room for changes."},
    {kTreeParts, "table",
     "The table or index. The other columns split the bytes of its pages, divided by its rows."},
    {kTreeParts, "keys", "btree: keys in leaves, without the part that all keys of a leaf share."},
    {kTreeParts, "values", "btree: values in leaves."},
    {kTreeParts, "slots",
     "btree: the places and lengths of the rows in a leaf, and references to long values."},
    {kTreeParts, "headers and fences",
     "btree: the headers of leaves, and the bounds of their keys."},
    {kTreeParts, "free in leaves", "btree: room for further rows."},
    {kTreeParts, "inner pages", "btree: pages above the leaves, as a whole."},
    {kTreeParts, "long values", "btree: bytes of values on pages of their own."},
    {kTreeParts, "rest of overflow pages",
     "btree: what such values leave free on their last page, and its headers."},
    {kTreeParts, "rows", "fractal: rows in leaves, as they are stored."},
    {kTreeParts, "messages",
     "fractal: changes in the buffers of the nodes above the leaves, as they are stored."},
    {kTreeParts, "node headers", "fractal: headers of nodes, and their directories of parts."},
    {kTreeParts, "padding", "fractal: bytes that fill a block."},
    {kTreeParts, "documents", "mmapv1: bytes of the documents."},
    {kTreeParts, "record headers", "mmapv1: the header of each record."},
    {kTreeParts, "room in records", "mmapv1: room of records behind their documents."},
    {kTreeParts, "deleted records", "mmapv1: records that may be used again."},
    {kTreeParts, "extent headers", "mmapv1: headers of extents, of records and of buckets."},
    {kTreeParts, "keys and key nodes", "mmapv1: keys in the buckets of indexes, and their places."},
    {kTreeParts, "bucket headers", "mmapv1: the header of each bucket."},
    {kTreeParts, "room in buckets", "mmapv1: room for further keys."},
    {kTreeParts, "deleted buckets", "mmapv1: buckets that may be used again."},
    {kTreeParts, "sum", "Bytes of all pages of the table for each row."},
    {kTreeDisk, "part", "What the bytes are; the parts add up to the size on disk."},
    {kTreeDisk, "bytes", "Its bytes."},
    {kTreeDisk, "share", "Its share of the size on disk."},
    {kTraceKinds, "operation", "A kind of operation that was recorded or imported."},
    {kTraceKinds, "count", "How many of it the trace has."},
    {kTraceKinds, "share", "Its share of all operations."},
    {kTraceKinds, "per second",
     "How many there are a second of the trace, from its begin to the last operation's start, or "
     "to the end of the last second where an imported trace has times in whole seconds; \"-\" when "
     "all begin at once."},
    {kTraceCalls, "call", "A call to the engine; an operation may make several."},
    {kTraceCalls, "count", "How many of it the trace has."},
    {kTraceCalls, "per operation", "Of all kinds of operations together."},
    {kTraceSizes, "what",
     "Bytes of a key, of a value that was written or read, or steps that a cursor took at once."},
    {kTraceSizes, "count", "How many there are in the trace."},
    {kTraceSizes, "mean", "Their mean."},
    {kTraceSizes, "p50", "Their median."},
    {kTraceSizes, "p99", "Their 99th percentile."},
    {kTraceSizes, "max", "The largest one."},
    {kTraceCache, "keys cached", "Keys that such a cache holds."},
    {kTraceCache, "share of the keys", "Their share of the different keys of the trace."},
    {kTraceCache, "share of the accesses",
     "Share of all accesses to keys that it would answer; the first access to a key is never among "
     "them."},
    {kHistoryShown, "phase",
     "The engine, the phase, its operation and the clients; results of other settings or machines "
     "are rows of their own (settings 2)."},
    {kHistoryShown, "metric", "What was measured: one of the metrics below."},
    {kHistoryShown, "started", "When the result was made, UTC."},
    {kHistoryShown, "commit", "What was measured: the commit that `history add` was told."},
    {kHistoryShown, "mean", "Mean over the loads of the result."},
    {kHistoryShown, "+-",
     "Half of the 95 % confidence interval of the mean, in percent of it; \"-\" of one load."},
    {kHistoryShown, "loads", "Loads of the result."},
    {kHistoryLast, "phase", "As in the table of results."},
    {kHistoryLast, "metric", "What is compared."},
    {kHistoryLast, "before", "Mean of up to 30 results before the last ones."},
    {kHistoryLast, "last", "Mean of the last results (--last)."},
    {kHistoryLast, "change (interval)",
     "By how much the last ones differ, with the interval that holds the true change with 95 %."},
    {kHistoryLast, "answer",
     "Faster or slower, higher or lower, same, or cannot be told, as of `testbed compare`."},
    {kHistoryLast, "results", "Results before and last that the answer is from."},
    {kHistoryPoints, "phase", "As in the table of results."},
    {kHistoryPoints, "metric", "What changed."},
    {kHistoryPoints, "commit", "The first result after the change."},
    {kHistoryPoints, "before", "Mean before it."},
    {kHistoryPoints, "after", "Mean from it on."},
    {kHistoryPoints, "change", "By how much they differ."},
    {kExperiments, "name", "The experiment, as `testbed experiment NAME` takes it."},
    {kExperiments, "title", "What it measures."},
    {kExperiments, "findings",
     "The numbers of its findings: the published claims that its verdicts judge."},
    {kAxes, "name",
     "What differs from cell to cell: an option, or a name that stands for several."},
    {kAxes, "values",
     "Its values; those behind which (with --only) stands are measured only when --only names "
     "them."},
    {kScales, "name", "The size of the experiment, as --scale takes it."},
    {kScales, "options", "Options of every cell at this scale."},
    {kExperimentMetrics, "name", "A figure of a cell, as tables and findings name it."},
    {kExperimentMetrics, "unit", "Its unit."},
    {kExperimentMetrics, "expression over the figures of a run",
     "How it is computed from the figures of the results of a run."},
    {kPlanShared, "option", "An option that all cells which run have in common."},
    {kPlanShared, "value", "Its value."},
    {kPlanCells, "cell", "The values of the axes that make the cell."},
    {kPlanCells, "database",
     "The database that the cell runs on: its own, one that it shares with other cells, or a copy "
     "of a shared one. The first digits of its key stand for it. \"-\": the cell does not run."},
    {kPlanCells, "its other options, or why it does not run",
     "The options that differ between cells. For a cell that is left out, the reason."},
    {kCells, "cell, for --cell",
     "The key of the cell, by which `testbed experiment run` runs it alone."},
    {kCells, "block", "The block that the cell belongs to."},
    {kCells, "database",
     "The database that the cell runs on: its own, one that it shares with other cells, or a copy "
     "of a shared one. The first digits of its key stand for it."},
    {kCells, "state", "Whether the results directory has the cell: finished, or not finished."},
    {kCellBlocks, "block, for --block",
     "The key of the block, by which `testbed experiment run` runs its cells."},
    {kCellBlocks, "cells", "How many cells it has."},
    {kCellBlocks, "not finished", "How many of them the results directory does not have."},
    {kCellBlocks, "seconds, about", "Forecast of the time that these take, their loads included."},
    {kChecked, "pages", "A type of pages, as the engine tells them apart."},
    {kChecked, "number", "Pages of this type."},
    {kChecked, "bytes", "Bytes of these pages; the types add up to the length of the data file."},
    {kBackup, "file", "A file or directory of the database."},
    {kBackup, "database",
     "Bytes that it has on disk in the database; \"-\" when only the copy has it."},
    {kBackup, "copy",
     "Bytes that it has on disk in the copy; \"-\" when only the database has it."},
    {kCompact, "file", "A file or directory of the database."},
    {kCompact, "before", "Bytes that it had on disk before; \"-\" when it was not there."},
    {kCompact, "after", "Bytes that it has on disk since; \"-\" when it is gone."},
    {kEngines, "name", "The engine, as --engine takes it."},
    {kEngines, "version", "Version of its library, or of the engine itself."},
    {kEngines, "io", "The values of --io that it takes; the table of IO modes says what they do."},
    {kEngines, "page size",
     "The values of --page-size that it takes; \"-\" of an engine without pages of a size to "
     "choose."},
    {kEngines, "durability", "The values of --durability that it takes."},
    {kEngines, "compression", "The values of --compression that it takes."},
    {kEngines, "what it is", "The kind of engine in a few words."},
    {kReleases, "name", "Engine and release, as --engine takes them."},
    {kReleases, "from", "The month in which it was released; \"-\" when that is not known."},
    {kReleases, "installed", "Whether its program is there, so that it can run."},
    {kReleases, "how it was built",
     "How the library was built; of a release that is not installed, the command that builds it."},
    {kServers, "name", "The server, as --server takes it."},
    {kServers, "engine", "The engine that starts it."},
    {kServers, "from", "The month in which it was released."},
    {kServers, "what it is", "What distinguishes it."},
    {kServers, "installed", "Whether its program is there."},
    {kServers, "where, or how to get it",
     "The path of its program; of one that is not there, the command that fetches it."},
    {kWorkloads, "name", "The workload, as --workload takes it."},
    {kWorkloads, "loads", "Whether it loads an empty database, and so comes first."},
    {kWorkloads, "what it does",
     "Its operations in a few words; docs/workloads.md says exactly what they are."},
    {kKeySets, "name", "The set, as --keys takes it."},
    {kKeySets, "keys", "What its keys are."},
    {kKeySets, "here", "Whether this machine has them."},
    {kKeySets, "from where, or how to get it",
     "The file or program that they come from; of a set that is not here, what brings it."},
    {kModes, "name", "The mode, as --io takes it."},
    {kModes, "what it does", "How the engine reads and writes its files then."},
    {kEngineOptions, "name", "A setting of the engine, as --engine-option NAME=VALUE takes it."},
    {kEngineOptions, "meaning", "What it does, with its values and its default."},
    {kWorkloadOptions, "name",
     "A setting of the workload, as --workload-option NAME=VALUE takes it."},
    {kWorkloadOptions, "meaning", "What it does, with its values and its default."},
};

}  // namespace

const std::vector<ColumnMeaning>& CommandColumns() { return kCommandMeanings; }

}  // namespace testbed
