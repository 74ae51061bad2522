#include "tools/trace/trace_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/file/input_file.h"
#include "device/os/random_id.h"
#include "tools/option_values.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "tools/output/table.h"
#include "tools/trace/trace_import.h"
#include "tools/trace/trace_info.h"
#include "workloads/trace/trace_file.h"
#include "workloads/trace/trace_writer.h"

namespace testbed {
namespace {

constexpr char kTraceExamples[] =
    "\nExamples:\n"
    "  testbed --engine btree --workload ycsb-load,ycsb-a --record a.trace\n"
    "      writes each operation of the last phase\n"
    "  testbed trace info a.trace\n"
    "  testbed --engine lmdb --workload ycsb-load,replay:a.trace --speed 1\n"
    "      the same operations at the same times on another engine\n"
    "  zstdcat cluster52.sort.zst | testbed trace import --format twitter --hash-keys - -o "
    "c52.trace\n"
    "  testbed trace scale c52.trace --share 0.1 -o small.trace\n"
    "      a tenth of the keys, with all their operations\n"
    "  testbed --engine rocksdb --workload replay-load:small.trace,replay:small.trace\n";

constexpr char kTraceInfoExamples[] =
    "\nExamples:\n"
    "  testbed trace info a.trace\n"
    "  testbed trace info a.trace --json a.json\n"
    "      the same figures for a program\n";

constexpr char kTraceImportExamples[] =
    "\nExamples:\n"
    "  zstdcat cluster52.sort.zst | testbed trace import --format twitter --hash-keys - -o "
    "c52.trace\n"
    "  testbed trace import --format rocksdb db.trace -o db.testbed-trace\n"
    "      of a file that DB::StartTrace wrote\n"
    "  testbed trace import --format csv requests.csv -o requests.trace --hash-seed 7\n"
    "  testbed trace import --format csv log.csv -o log.trace --time-unit ms\n"
    "      of a file whose column time has milliseconds\n";

constexpr char kTraceScaleExamples[] =
    "\nExamples:\n"
    "  testbed trace scale c52.trace --share 0.1 -o small.trace\n"
    "      a tenth of the keys, with all their operations\n";

struct TraceArguments {
  std::string file, out, json_file, format, hash_seed;
  bool hash_keys = false;
  std::optional<std::string> time_unit;
  std::optional<uint32_t> clients;
  double share = 0;
};

int Info(const TraceArguments& a) {
  nlohmann::json info;
  const std::vector<OutputFile> files = {
      {"--json", a.json_file, [&info] { return JsonText(info, 1) + "\n"; }}};
  CheckOutputFiles(files, {.inputs = {a.file}});
  info = TraceInfo(TraceFile(a.file));
  WriteOutputs(files, TraceInfoText(info));
  return 0;
}

// Throws Error (kUsage) unless the trace can be written, under its own name and under that with
// .new, which it has until it is whole.
void CheckTraceOutput(const TraceArguments& a) {
  const InUse in_use = {.inputs = {a.file}};
  CheckOutputFile("--out", a.out, in_use);
  CheckOutputPlaces({{"--out", UnfinishedTrace(a.out)}}, in_use);
}

int Import(const TraceArguments& a) {
  ImportOptions options{
      .format = ParseName<ImportOptions::Format>("--format", a.format,
                                                 {{"twitter", ImportOptions::kTwitter},
                                                  {"rocksdb", ImportOptions::kRocksdb},
                                                  {"csv", ImportOptions::kCsv}}),
      .from = a.file == "-" ? "standard input" : a.file,
      .clients = a.clients.value_or(16),
      .hash_keys = a.hash_keys || !a.hash_seed.empty()};
  options.hash_seed =
      a.hash_seed.empty() ? RandomId() : ParseCount("--hash-seed", a.hash_seed, 0, UINT64_MAX);
  if (a.clients && options.format == ImportOptions::kRocksdb) {
    throw Error(Error::kUsage,
                "--clients divides the clients of a file, and RocksDB notes none; leave it out");
  }
  if (a.time_unit) {
    options.time_unit = ParseName<double>("--time-unit", *a.time_unit,
                                          {{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}});
    if (options.format != ImportOptions::kCsv) {
      throw Error(Error::kUsage, "--time-unit is of the column time of --format csv; leave it out");
    }
  }
  std::string unused;
  options.unused = &unused;
  CheckTraceOutput(a);
  uint64_t operations = 0;
  if (a.file == "-") {
    InputFile file(InputFile::Standard{});
    InputStream in(&file);
    operations = ImportTrace(in, options, a.out);
  } else {
    InputFile file(
        {.path = a.file, .name = "testbed trace import: " + a.file, .advice = "", .pipes = true});
    InputStream in(&file);
    operations = ImportTrace(in, options, a.out);
  }
  fmt::print("{}: {}\n", a.out, Counted(operations, "operation"));
  if (!unused.empty()) fmt::print("{}", Wrapped(unused, Table::kNarrow));
  return 0;
}

int ScaleFile(const TraceArguments& a) {
  CheckTraceOutput(a);
  const uint64_t operations = ScaleTrace(a.file, a.share, a.out);
  fmt::print("{}: {}\n", a.out, Counted(operations, "operation"));
  return 0;
}

void AddOut(CLI::App* app, const std::shared_ptr<TraceArguments>& a) {
  app->add_option_function<std::string>(
         "-o,--out",
         [a](const std::string& text) {
           if (text.empty() || text == "-") {
             RefuseValue("--out", text, "the name of a file; ./- is a file of that name");
           }
           a->out = text;
         },
         "The trace to write")
      ->required()
      ->type_name("FILE");
}

void AddImport(CLI::App& trace, std::function<int()>* command) {
  auto a = std::make_shared<TraceArguments>();
  CLI::App* import = trace.add_subcommand("import", "Make a trace of another program's file");
  import->footer(kTraceImportExamples);
  import->add_option("FILE", a->file, "The file; - is standard input")->required()->type_name("");
  import
      ->add_option(
          "--format", a->format,
          "twitter (cache traces: timestamp, key, key size, value size, client, operation, "
          "TTL), rocksdb (of DB::StartTrace) or csv (with a header)")
      ->required()
      ->type_name("NAME");
  AddOut(import, a);
  import
      ->add_option(
          "--clients", a->clients,
          "Most clients that the trace gets; the clients of the file are divided among them; not "
          "with rocksdb [16]")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  import->add_flag("--hash-keys", a->hash_keys,
                   "Replace each key by a hash that is as long as the key, and at least 8 bytes "
                   "long; its seed is random");
  import
      ->add_option("--hash-seed", a->hash_seed,
                   "Seed of the hashes, to get the same hashes in several traces; implies "
                   "--hash-keys")
      ->type_name("N");
  import
      ->add_option("--time-unit", a->time_unit,
                   "Unit of the times of a csv file: s, ms, us or ns [s]")
      ->type_name("UNIT");
  import->callback([a, command] { *command = [a] { return Import(*a); }; });
}

}  // namespace

void AddTraceCommand(CLI::App& app, std::function<int()>* command) {
  CLI::App* trace = app.add_subcommand("trace", "Show, import or scale down traces of operations");
  trace->footer(kTraceExamples);
  trace->require_subcommand(1);
  auto a = std::make_shared<TraceArguments>();
  CLI::App* info = trace->add_subcommand(
      "info", "Show a trace's operations, rates, sizes, skew and working set");
  info->footer(kTraceInfoExamples);
  info->add_option("FILE", a->file, "The trace")->required()->type_name("");
  AddFileOption(*info, "--json", &a->json_file,
                "Write the figures to a file; - is standard output");
  info->callback([a, command] { *command = [a] { return Info(*a); }; });
  AddImport(*trace, command);
  auto s = std::make_shared<TraceArguments>();
  CLI::App* scale = trace->add_subcommand(
      "scale", "Make a trace of a share of the keys, with the skew of the whole trace");
  scale->footer(kTraceScaleExamples);
  scale->add_option("FILE", s->file, "The trace")->required()->type_name("");
  scale
      ->add_option_function<std::string>(
          "--share",
          [s](const std::string& text) { s->share = ParseReal("--share", text, 1e-9, 0.999999); },
          "Share of the keys, above 0 and below 1")
      ->required()
      ->type_name("SHARE");
  AddOut(scale, s);
  scale->callback([s, command] { *command = [s] { return ScaleFile(*s); }; });
}

}  // namespace testbed
